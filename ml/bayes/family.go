package bayes

import (
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// bayes is the family.
type bayes struct{}

// kind says which distributions a model has. The numbers are part of models' bytes.
type kind uint8

// The kinds.
const (
	mixed       kind = iota // numbers are Gaussian, categories categorical
	multinomial             // counts, and categories as counts of 1
	bernoulli               // whether a number is above 0, and whether a category is there
	numKinds
)

var (
	model = &family.Option{Names: []string{"model"}, Type: "text", Default: "by the columns' types: numbers `gaussian`, categories `categorical`",
		Doc:  "The distributions of the features: `gaussian` (numbers only), `categorical` (categories only), `multinomial` (counts, such as those of words), or `bernoulli` (whether a number is above 0).",
		Read: family.Word("gaussian", "categorical", "multinomial", "bernoulli")}
	alpha = &family.Option{Names: []string{"alpha", "smoothing"}, Type: "number", Default: "1",
		Doc: "What is added to the weight of each category, or to each sum of counts, so that none has a probability of 0.", Read: family.Positive}
	varSmoothing = &family.Option{Names: []string{"var_smoothing"}, Type: "number", Default: "1e-9",
		Doc: "The share of the greatest variance of a column that is added to all variances.", Read: family.NotNegative}
)

// Info implements family.Family.
func (bayes) Info() family.Info {
	return family.Info{Name: "naive_bayes", Synonyms: []string{"naive_bayes_classifier", "gaussian_nb", "categorical_nb"}, Task: family.Classification,
		Doc:     "Classes by Bayes' rule, of features that are independent within a class.",
		Sparse:  "naive_bayes with model = 'multinomial' or 'bernoulli'",
		Instead: map[string]string{"multinomial_nb": "naive_bayes … WITH (model = 'multinomial')", "bernoulli_nb": "naive_bayes … WITH (model = 'bernoulli')"}}
}

// Options implements family.Family.
func (bayes) Options() []*family.Option { return []*family.Option{model, alpha, varSmoothing} }

// Plan implements family.Family.
func (bayes) Plan(r *family.Request) (*family.Plan, error) {
	if r.Task == family.Regression {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "naive_bayes predicts classes")
	}
	m := r.Options.Text("model", "")
	if err := r.Options.Fit(
		family.Unfit{Option: "alpha", Why: "It is for counts and categories.", If: m == "gaussian"},
		family.Unfit{Option: "var_smoothing", Why: "It is for the variances of numbers.", If: m != "" && m != "gaussian"}); err != nil {
		return nil, err
	}
	// A missing count is imputed like that of other families, so that the model is linear in the features.
	return family.Classify(r, family.Plan{Scope: family.ByNode, KeepMissing: m != "multinomial", MaxIterations: 1, Sparse: m == "multinomial" || m == "bernoulli"})
}

// kindOf is the kind of a training's model. Its errors are of a model that does not take the features.
func kindOf(s *family.Setup) (kind, error) {
	f := s.Fitted
	wrong := func(what, hint string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "the model %q takes no %s", s.Options.Text("model", ""), what).At(s.Options.Pos("model")).WithHint("%s", hint)
	}
	switch s.Options.Text("model", "") {
	case "gaussian":
		if f.Codes > 0 {
			return 0, wrong("categories", "Leave the option out: numbers are Gaussian and categories categorical then.")
		}
	case "categorical":
		if f.Dense > 0 {
			return 0, wrong("numbers", "Cast numbers that stand for categories to text, or leave the option out.")
		}
	case "multinomial":
		return multinomial, nil
	case "bernoulli":
		return bernoulli, nil
	}
	return mixed, nil
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{bayes{}} }
