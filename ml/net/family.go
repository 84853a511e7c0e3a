package net

import (
	"slices"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// nets is a family of nets.
type nets struct {
	info family.Info
	own  []*family.Option
	// self says that the target is the row itself.
	self bool
	// windows says that samples are sequences of rows.
	windows bool
}

// Families are the families of this package.
func Families() []family.Family {
	return []family.Family{mlp, autoencoder, lstmFamily, lstmAutoencoder, survival{}}
}

var mlp = &nets{
	info: family.Info{Name: "mlp", Synonyms: []string{"neural_network"}, Classifiers: []string{"dnn_classifier", "mlp_classifier"}, Regressors: []string{"dnn_regressor", "mlp_regressor"},
		Doc: "A feed-forward neural network: layers of units, each an activation of a weighted sum. A float or numeric target is a regression, any other a classification."},
	own: hiddenOptions("`[64, 32]`", "The units of each hidden layer."),
}

var autoencoder = &nets{
	info: family.Info{Name: "autoencoder", Synonyms: []string{"auto_encoder"}, Task: family.Decomposition,
		Doc: "A neural network that learns to reproduce its input through a narrow layer. Rows that it reproduces badly are unlike those from which it has learnt: anomalies."},
	own:  hiddenOptions("`[32, 8, 32]`", "The units of each hidden layer, those of the decoder too; the narrowest is the code."),
	self: true,
}

// Info implements family.Family.
func (f *nets) Info() family.Info { return f.info }

// Options implements family.Family.
func (f *nets) Options() []*family.Option {
	out := append([]*family.Option{}, f.own...)
	for _, o := range options {
		if !f.windows || !slices.Contains(ofRows, o.Names[0]) {
			out = append(out, o)
		}
	}
	return out
}

// Plan implements family.Family.
func (f *nets) Plan(r *family.Request) (*family.Plan, error) {
	p := family.Plan{Scope: family.ByLeaf, Standardize: true, Narrow: true, Grain: microRows, Silence: !f.self, MaxIterations: r.Options.Int("max_iterations", defaultEpochs)}
	if !f.self { // whose outputs they would be
		p.Categories = 1 << 14
	}
	if f.windows {
		var err error
		if p.Windows, err = r.Windows(); err != nil {
			return nil, err
		}
		p.Grain = grainOf(f.recurrentOf(r.Options, &p))
	}
	if f.self {
		vector, _ := types.ArrayOf(types.Float8)
		p.Task, p.Target = f.info.Task, family.NoTarget
		p.Outputs = []family.Output{{Name: "reconstruction", Type: vector}, {Name: "reconstruction_error", Type: types.Float8}}
		return &p, check(r.Options, &p)
	}
	plan, err := family.ByTarget(r, p)
	if err != nil {
		return nil, err
	}
	return plan, check(r.Options, plan)
}
