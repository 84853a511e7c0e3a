package node

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// modelRows gives the rows of ml.weights and ml.feature_importance.
func modelRows(relation string, m *model.Model) ([][]types.Datum, error) {
	var out [][]types.Datum
	switch relation {
	case "weights":
		for _, w := range m.Weights() {
			var class types.Datum
			if w.Class != "" {
				class = w.Class
			}
			out = append(out, []types.Datum{class, w.Name, w.Value})
		}
		return out, nil
	case "feature_importance":
		// Of a linear model: the sum over a column's slots of the absolute
		// scaled weights.
		sum := map[string]float64{}
		var names []string
		for _, w := range m.Weights() {
			if w.Intercept {
				continue
			}
			if _, ok := sum[w.Feature]; !ok {
				names = append(names, w.Feature)
			}
			sum[w.Feature] += math.Abs(w.Value)
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sum[b], sum[a]) })
		for _, n := range names {
			out = append(out, []types.Datum{n, sum[n], nil, nil})
		}
		return out, nil
	}
	return nil, pgerr.Unsupported("ml.%s is not supported", relation)
}
