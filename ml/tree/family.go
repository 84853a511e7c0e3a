package tree

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// boosted and forest are the families.
var (
	boosted family.Family = &kind{forest: false}
	forest  family.Family = &kind{forest: true}
)

// Families are the families of this package.
func Families() []family.Family { return []family.Family{boosted, forest} }

// kind is one of the two families: they differ in the options, the gradients
// and the values of leaves.
type kind struct{ forest bool }

// single is a forest of one tree of all rows and columns.
const single = "random_forest … WITH (n_estimators = 1, bootstrap = false, max_features = 1.0)"

// Info implements family.Family.
func (k *kind) Info() family.Info {
	if k.forest {
		return family.Info{Name: "random_forest", Classifiers: []string{"random_forest_classifier"}, Regressors: []string{"random_forest_regressor"},
			Doc:     "A mean of trees, each grown on rows drawn with replacement and splitting on columns drawn for each split.",
			Instead: map[string]string{"decision_tree_classifier": single, "decision_tree_regressor": single}}
	}
	return family.Info{Name: "gradient_boosted_trees", Synonyms: []string{"boosted_trees", "xgboost", "lightgbm"},
		Classifiers: []string{"boosted_tree_classifier", "gradient_boosting_classifier", "hist_gradient_boosting_classifier", "xgb_classifier", "lgbm_classifier"},
		Regressors:  []string{"boosted_tree_regressor", "gradient_boosting_regressor", "hist_gradient_boosting_regressor", "xgb_regressor", "lgbm_regressor"},
		Doc:         "A sum of trees, each fitted to the gradient of the loss that the trees before it leave."}
}

// Options implements family.Family.
func (k *kind) Options() []*family.Option {
	if k.forest {
		return forestOptions
	}
	return boostedOptions
}

// Plan implements family.Family.
func (k *kind) Plan(r *family.Request) (*family.Plan, error) {
	if err := checkMonotone(r); err != nil {
		return nil, err
	}
	var names []string
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	if _, err := listsOf(r.Options, names); err != nil {
		return nil, err
	}
	if err := planBooster(r.Options); err != nil {
		return nil, err
	}
	task, more, err := planLoss(r)
	if err != nil {
		return nil, err
	}
	asked := *r
	asked.Task = task
	p, err := family.ByTarget(&asked, family.Plan{Scope: family.ByNode, KeepMissing: true, Categories: 1 << 16, MaxIterations: r.Options.Int("n_estimators", defaultTrees)})
	if err != nil {
		return nil, err
	}
	p.Outputs = append(p.Outputs, more...)
	if r.Options.Text(objectiveOption, "") == lambdarank {
		p.Task = family.Ranking
		if p.Windows, err = r.Queries(); err != nil {
			return nil, err
		}
	}
	return p, family.PlanOffset(r, p)
}

// NewDriver implements family.Family.
func (k *kind) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	p := newProblem(s, k.forest)
	d := newDriver(p, n)
	if p.offset > 0 && p.classes > 2 {
		return nil, pgerr.Unsupported("an offset of more than two classes is not supported").At(s.Options.Pos("offset")).WithDetail("It would be added to the margins of all classes alike.")
	}
	var err error
	d.from, err = startFrom(p, s.Start, s.Options.Pos("warm_start"))
	return d, err
}

// NewWorker implements family.Family.
func (k *kind) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return newWorker(newProblem(s, k.forest), n), nil
}

// DecodeStep implements family.Family.
func (k *kind) DecodeStep(op uint8, d *canon.D) family.Message {
	if op == opMeans {
		return scale(d.F64())
	}
	return decodeStep(op, d)
}

// DecodePartial implements family.Family.
func (k *kind) DecodePartial(op uint8, d *canon.D) family.Message {
	switch op {
	case opSketch, opSketchAll:
		return decodeSketch(d)
	case opMeans:
		return means(d.I64s())
	case opBin:
		return canon.Get[labels](d)
	case opRound, opGrow, opRenew:
		return canon.Get[grown](d)
	}
	d.Fail()
	return nil
}

// Merge implements family.Family.
func (k *kind) Merge(op uint8, left, right family.Message) (family.Message, error) {
	switch l := left.(type) {
	case *sketch:
		return l, l.merge(right.(*sketch))
	case means:
		return l, l.merge(right.(means))
	case *labels:
		return l, l.merge(right.(*labels))
	}
	return left, left.(*grown).merge(right.(*grown))
}

// Decode implements family.Family.
func (k *kind) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	return decodeModel(f, k.forest, d)
}
