package recommend

import (
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// factorization is the family.
type factorization struct{}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{factorization{}} }

// Names of options.
const (
	factorsOption  = "num_factors"
	feedbackOption = "feedback_type"
	alphaOption    = "wals_alpha"
	explicit       = "explicit"
	implicit       = "implicit"
)

const (
	defaultFactors    = 16
	mostFactors       = 1024
	defaultIterations = 20
	defaultTolerance  = 0.01
	defaultL2         = 1
	defaultAlpha      = 40
)

var options = []*family.Option{
	family.UserColumn,
	family.ItemColumn,
	{Names: []string{factorsOption, "rank", "factors", "n_factors"}, Type: "integer", Default: "16", Doc: "The length of the vectors of users and items.", Read: family.Integer(1, mostFactors)},
	{Names: []string{feedbackOption}, Type: "text", Default: "`explicit`", Fixed: true,
		Doc: "What the target is: `explicit`, a rating, which is predicted; `implicit`, how often or how long, which says that a user likes an item.", Read: family.Word(explicit, implicit)},
	{Names: []string{"implicit_prefs"}, Type: "boolean", Default: "false", Fixed: true, Doc: "Spark's name of `feedback_type = 'implicit'`.", Read: family.Boolean},
	{Names: []string{"l2_reg", "l2", "reg_param", "regularization"}, Type: "number", Default: "1",
		Doc: "The penalty l2_reg·(‖user vectors‖² + ‖item vectors‖²) on the sum of squared errors, as in BigQuery ML. It is not multiplied by the number of ratings, as Spark does.", Read: family.NotNegative},
	{Names: []string{alphaOption, "alpha"}, Type: "number", Default: "40", Doc: "Of implicit feedback: a pair of target r counts 1 + wals_alpha·r times.", Read: family.NotNegative},
	family.MaxIterations("20", "The maximum number of iterations. In each the users' vectors are computed, then the items'."),
	family.Tolerance("0.01", "End when an iteration changes the loss by less than this fraction of it."),
}

// Info implements family.Family.
func (factorization) Info() family.Info {
	return family.Info{Name: "matrix_factorization", Synonyms: []string{"als", "alternating_least_squares"}, Task: family.Recommendation,
		Doc: "What users think of items, from what they thought of others: vectors of both, by alternating least squares."}
}

// Options implements family.Family.
func (factorization) Options() []*family.Option { return options }

// isImplicit reports whether feedback is implicit.
func isImplicit(o *family.Values) bool {
	return o.Text(feedbackOption, "") == implicit || o.Bool("implicit_prefs", false)
}

// Plan implements family.Family.
func (factorization) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	if o.Given(feedbackOption) && o.Given("implicit_prefs") {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "only one of the options %s and implicit_prefs can be given", feedbackOption).At(o.Pos("implicit_prefs"))
	}
	names := make([]string, 2)
	for i, d := range []*family.Option{family.UserColumn, family.ItemColumn} {
		if names[i] = o.Text(d.Names[0], ""); names[i] == "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "the option %q is missing", d.Names[0]).
				WithHint("Name the columns of users and items: user_col = 'user_id', item_col = 'item_id'.")
		}
		if r.Target != nil && strings.EqualFold(names[i], r.Target.Name) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both target and %s", r.Target.Name, d.Names[0]).At(o.Pos(d.Names[0]))
		}
	}
	if strings.EqualFold(names[0], names[1]) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both %s and %s", names[0], family.UserColumn.Names[0], family.ItemColumn.Names[0]).
			At(o.Pos(family.ItemColumn.Names[0]))
	}
	const why = "Users and items are told apart by their values, all of them."
	var unfit []family.Unfit
	for _, name := range []string{"standardize", "max_categories", "precision", "nan_as_null"} {
		unfit = append(unfit, family.Unfit{Option: name, Why: why, If: true})
	}
	unfit = append(unfit, family.Unfit{Option: alphaOption, Why: "Explicit ratings all count alike.", If: !isImplicit(o)},
		family.Unfit{Option: "cross_validation", Why: "What is measured of implicit feedback is how items are ranked: ml.evaluate does.", If: isImplicit(o)})
	if err := o.Fit(unfit...); err != nil {
		return nil, err
	}
	p, err := family.Regress(r, family.Plan{Scope: family.ByNode, Pair: names, MaxIterations: o.Int("max_iterations", defaultIterations)})
	if err != nil {
		return nil, err
	}
	if p.Task = family.Recommendation; isImplicit(o) {
		p.Ranks, p.Outputs = true, []family.Output{{Name: "predicted_" + r.Target.Name + "_confidence", Type: types.Float8}}
	}
	return p, nil
}

// sides says what the columns of a training are.
type sides struct {
	user, item   int // of the features
	users, items int // how many there are
	factors      int
	implicit     bool
}

// width is the length of a vector: its factors and, of explicit feedback, its intercept.
func (s *sides) width() int {
	if s.implicit {
		return s.factors
	}
	return s.factors + 1
}

// fits reports whether vectors are those of all users and items.
func (s *sides) fits(users, items []float32) bool {
	return len(users) == s.users*s.width() && len(items) == s.items*s.width()
}

// sidesOf are the sides of a training.
func sidesOf(s *family.Setup) (*sides, error) {
	f := s.Fitted
	out := &sides{user: -1, item: -1, factors: s.Options.Int(factorsOption, defaultFactors), implicit: isImplicit(s.Options)}
	for i := range f.Cols {
		c := &f.Cols[i]
		switch name := c.Name; {
		case strings.EqualFold(name, s.Plan.Pair[0]):
			out.user, out.users = i, len(c.Cats)
		case strings.EqualFold(name, s.Plan.Pair[1]):
			out.item, out.items = i, len(c.Cats)
		}
		if c.NullSlot {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "column %q contains NULL", c.Name).OnColumn(c.Name).
				WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		}
	}
	if out.user < 0 || out.item < 0 || f.Codes != 2 || f.Dense != 0 || out.user+out.item != 1 {
		return nil, pgerr.Internal("the columns of a factorization are %d numbers and %d codes", f.Dense, f.Codes)
	}
	return out, nil
}

// codes returns the numbers of the user and of the item of codes of a block; -1 for one that is not known.
func (s *sides) codes(first, second int32) (user, item int32) {
	n := s.users
	if s.item == 0 {
		first, second, n = second, first, s.items
		if first >= 0 {
			first -= int32(n)
		}
		return first, second
	}
	if second >= 0 {
		second -= int32(n)
	}
	return first, second
}

// DecodeStep implements family.Family.
func (factorization) DecodeStep(op uint8, d *canon.D) family.Message {
	if op == opCollect { // it has no body
		d.Fail()
		return &solveStep{}
	}
	return canon.Get[solveStep](d)
}

// DecodePartial implements family.Family.
func (factorization) DecodePartial(op uint8, d *canon.D) family.Message {
	if op == opCollect {
		p := canon.Get[pairs](d)
		if n := len(p.User); len(p.Item) != n || len(p.Value) != n || len(p.Weight) != n && len(p.Weight) != 0 {
			d.Fail()
			return &pairs{}
		}
		return p
	}
	return canon.Get[solved](d)
}

// Merge implements family.Family.
func (factorization) Merge(op uint8, left, right family.Message) (family.Message, error) {
	if op == opCollect {
		a, ok := left.(*pairs)
		b, ok2 := right.(*pairs)
		if ok && ok2 {
			return a.merge(b)
		}
	} else {
		a, ok := left.(*solved)
		b, ok2 := right.(*solved)
		if ok && ok2 {
			a.Parts, a.Tokens = append(a.Parts, b.Parts...), append(a.Tokens, b.Tokens...)
			return a, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
}
