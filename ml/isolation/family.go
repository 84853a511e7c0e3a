package isolation

import (
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// forest is the family.
type forest struct{}

// readSamples reads a number of rows, or a share of them below 1.
func readSamples(v family.Value) (any, error) {
	if v.Word() == "auto" {
		return nil, nil
	}
	if f, err := family.Interval("(0, 1)")(v); err == nil {
		return f, nil
	}
	f, err := family.Integer(2, mostSamples)(v)
	if err != nil {
		return nil, v.Bad("auto, an integer from 2 to 65536, or a share of the rows below 1")
	}
	return f, nil
}

// mostSamples bounds the rows of a tree.
const mostSamples = 1 << 16

func readContamination(v family.Value) (any, error) {
	if v.Word() == "auto" {
		return nil, nil
	}
	f, err := family.Interval("(0, 0.5]")(v)
	if err != nil {
		return nil, v.Bad("auto, or a number above 0 and at most 0.5")
	}
	return f, nil
}

var options = []*family.Option{
	{Names: []string{"n_estimators", "num_trees"}, Type: "integer", Default: "100", Doc: "The number of trees.", Read: family.Integer(1, 1e4)},
	{Names: []string{"max_samples"}, Type: "integer or number", Default: "`auto`: 256", Doc: "The rows that each tree divides, at most all, or their share below 1.", Read: readSamples},
	{Names: []string{"contamination"}, Type: "number", Default: "`auto`: scores above 0.5",
		Doc: "The share of the training rows that are anomalies: those with the greatest scores.", Read: readContamination},
}

// Info implements family.Family.
func (forest) Info() family.Info {
	return family.Info{Name: "isolation_forest", Task: family.AnomalyDetection, Doc: "Anomalies: rows that few random splits part from all others."}
}

// Options implements family.Family.
func (forest) Options() []*family.Option { return options }

// Plan implements family.Family.
func (forest) Plan(*family.Request) (*family.Plan, error) {
	return &family.Plan{Task: family.AnomalyDetection, Target: family.NoTarget, Scope: family.ByNode, MaxIterations: 1,
		Outputs: []family.Output{{Name: "anomaly", Type: types.Bool}, {Name: "score", Type: types.Float8}}}, nil
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{forest{}} }
