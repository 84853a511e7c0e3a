package family

import (
	"strconv"

	"github.com/tributarydb/tributary/sql/types"
)

// Options that say what becomes of the scores of what was learnt (package calibration).
const (
	Calibration        = "calibration"
	CostMatrix         = "cost_matrix"
	PredictionInterval = "prediction_interval"
)

// The methods of Calibration.
const (
	Sigmoid  = "sigmoid"
	Isotonic = "isotonic"
)

// readCosts reads true classes, predicted ones and costs in turn; a predicted class is "" for any other than the true one.
func readCosts(v Value) (any, error) {
	bad := func() (any, error) {
		return nil, v.Bad("what mistakes cost, 0 or more, by true and predicted class: '{\"fraud\": {\"fine\": 50}, \"fine\": {\"fraud\": 1}}', or by true class: '{\"fraud\": 50}' or [('fraud', 50)]")
	}
	var out []string
	put := func(truth, predicted string, cost any) bool {
		f, ok := types.Float(cost)
		out = append(out, truth, predicted, strconv.FormatFloat(f, 'g', -1, 64))
		return ok && f-f == 0 && f >= 0
	}
	var costs any = v.Value
	if x, ok := costs.(string); ok {
		var err error
		if costs, err = readObject(x); err != nil {
			return bad()
		}
	}
	seen := map[string]bool{}
	if !v.eachWeight(costs, func(truth string, cost any) bool {
		if seen[truth] {
			return false
		}
		seen[truth] = true
		if row, ok := cost.([]pair); ok {
			return v.eachWeight(row, func(predicted string, cost any) bool { return predicted != "" && put(truth, predicted, cost) })
		}
		return put(truth, "", cost)
	}) {
		return bad()
	}
	return out, nil
}
