package tree

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Options of both families.
var (
	optMaxBin = &family.Option{Names: []string{"max_bin", "max_bins"}, Type: "integer", Default: "255",
		Doc: "The most intervals into which the values of a number column are put. Missing values have an interval of their own.", Read: family.Integer(2, maxBins)}
	optMinGain = &family.Option{Names: []string{"min_split_loss", "gamma", "min_gain_to_split"}, Type: "number", Default: "0",
		Doc: "A split must lower the loss by more than this.", Read: family.NotNegative}
)

var boostedOptions = append([]*family.Option{
	{Names: []string{"n_estimators", "max_iterations", "max_iter", "num_iterations", "num_boost_round", "num_round", "nrounds"}, Type: "integer", Default: "100",
		Doc: "The rounds of boosting; a round grows one tree, or with more than two classes one for each class.", Read: family.Integer(1, 100000)},
	{Names: []string{"max_depth", "max_tree_depth"}, Type: "integer", Default: "6, no limit if max_leaves is given",
		Doc: "The greatest number of splits between the root and a leaf; 0 for no limit.", Read: family.Integer(0, deepest)},
	{Names: []string{"max_leaves", "num_leaves", "max_leaf_nodes"}, Type: "integer", Default: "no limit",
		Doc: "The most leaves of a tree. With it trees grow by the split that gains most, without it level by level.", Read: family.Integer(2, 1<<16)},
	family.LearnRate("0.1", "How much of each tree is added."),
	optMaxBin,
	{Names: []string{"subsample", "bagging_fraction"}, Type: "number", Default: "1",
		Doc: "The share of rows that each tree sees, drawn again for each round.", Read: family.Fraction},
	{Names: []string{"colsample_bytree", "feature_fraction"}, Type: "number", Default: "1",
		Doc: "The share of columns that each tree sees.", Read: family.Fraction},
	{Names: []string{"min_child_weight", "min_tree_child_weight", "min_sum_hessian_in_leaf"}, Type: "number", Default: "1",
		Doc: "The least sum of second derivatives in a leaf: of a regression, the weight of its rows.", Read: family.NotNegative},
	{Names: []string{"l1", "l1_reg", "reg_alpha", "alpha", "lambda_l1"}, Type: "number", Default: "0",
		Doc: "The penalty on the sum of losses: l1 times the absolute value of each leaf.", Read: family.NotNegative},
	{Names: []string{"l2", "l2_reg", "reg_lambda", "lambda", "lambda_l2", "l2_regularization"}, Type: "number", Default: "1",
		Doc: "The penalty on the sum of losses: l2/2 times the square of the value of each leaf.", Read: family.NotNegative},
	optMinGain,
	{Names: []string{"early_stopping_rounds", "early_stopping_round", "n_iter_no_change"}, Type: "integer", Default: "none",
		Doc: "End after as many rounds in which the loss of the held out rows did not improve. The best round is kept. It needs held out rows.", Read: family.Integer(1, 100000)},
	{Names: []string{"monotone_constraints", "monotonic_cst"}, Type: "list of integers, or of columns with one each", Default: "none",
		Doc: "For each feature of the query in its order 1 if predictions must not fall where it grows, -1 if they must not rise, 0 for neither; or for those that are named: `'{\"income\": 1, \"age\": -1}'` or `[('income', 1), ('age', -1)]`.", Read: family.IntegersByName(-1, 1)},
	{Names: []string{"tree_method"}, Type: "text", Doc: "Not supported: histograms are all there is."},
	family.Offset, family.WarmStart,
}, slices.Concat(columnOptions, lossOptions, rankOptions, dartOptions)...)

var forestOptions = []*family.Option{
	{Names: []string{"n_estimators", "num_parallel_tree", "num_trees", "ntree"}, Type: "integer", Default: "100", Doc: "The trees.", Read: family.Integer(1, 100000)},
	{Names: []string{"max_depth", "max_tree_depth"}, Type: "integer", Default: "16",
		Doc: "The greatest number of splits between the root and a leaf; 0 for no limit.", Read: family.Integer(0, deepest)},
	{Names: []string{"max_features", "mtry"}, Type: "number or text", Default: "`sqrt` for classes, all for numbers",
		Doc: "How many columns are drawn for each split: a number of them, a share below 1, `sqrt`, `log2` or `all`.", Read: readFeatures},
	{Names: []string{"bootstrap"}, Type: "boolean", Default: "true", Doc: "Each tree is grown on rows drawn with replacement, as many as there are.", Read: family.Boolean},
	{Names: []string{"min_samples_leaf", "min_child_weight", "min_tree_child_weight", "min_data_in_leaf", "nodesize"}, Type: "number", Default: "1",
		Doc: "The least weight of rows in a leaf.", Read: family.NotNegative},
	optMaxBin,
	optMinGain,
}

// readFeatures reads max_features: a share is kept as a negative number, words such as sqrt as they
// are.
func readFeatures(v family.Value) (any, error) {
	if _, ok := v.Value.(string); ok {
		w, err := family.Word("sqrt|auto", "log2", "all")(v)
		if err != nil {
			return nil, v.Bad("a number of columns, a share of them, sqrt, log2 or all")
		}
		return w, nil
	}
	f, err := family.Number("a number of columns, a share of them, sqrt, log2 or all", 0, 1<<20,
		func(f float64) bool { return f > 0 && f < 1 || f >= 1 && (f == math.Trunc(f)) })(v)
	if err != nil {
		return nil, err
	}
	if d, ok := v.Value.(number.Decimal); ok && f.(float64) == 1 && d.String() != "1" {
		return "all", nil // 1.0 is the whole share
	}
	return f, nil
}

// Limits.
const (
	maxBins = 255 // of values; missing ones have one more
	deepest = 64
)

// Defaults of the options that both the manual and the code name.
const (
	defaultTrees       = 100
	defaultDepth       = 6
	defaultForestDepth = 16
	defaultRate        = 0.1
)

// params are a statement's options, with defaults.
type params struct {
	forest              bool
	trees, depth        int
	leaves              int // 0: level by level
	rate                float64
	maxBin              int
	subsample, bycols   float64
	bylevel, bynode     float64
	minChild            float64
	l1, l2, minGain     float64
	patience            int             // 0: none
	monotone            []int8          // by input column
	monotoneOf          map[string]int8 // by its name
	features            string          // of a forest: a word, or
	featureNum          float64         // a number or a share
	bootstrap, classify bool
	dart                *dart // nil: no trees are left out
}

func newParams(o *family.Values, forest, classify bool) *params {
	p := &params{forest: forest, classify: classify, trees: o.Int("n_estimators", defaultTrees), maxBin: o.Int("max_bin", maxBins),
		minGain: o.Float("min_split_loss", 0), subsample: 1, bycols: 1, bylevel: 1, bynode: 1, rate: 1}
	if forest {
		p.depth = o.Int("max_depth", defaultForestDepth)
		p.minChild = o.Float("min_samples_leaf", 1)
		p.bootstrap = o.Bool("bootstrap", true)
		p.features, p.featureNum = o.Text("max_features", ""), o.Float("max_features", 0)
	} else {
		p.leaves = o.Int("max_leaves", 0)
		def := defaultDepth
		if p.leaves > 0 {
			def = 0
		}
		p.depth = o.Int("max_depth", def)
		p.rate = o.Float("learn_rate", defaultRate)
		p.subsample, p.bycols = o.Float("subsample", 1), o.Float("colsample_bytree", 1)
		p.bylevel, p.bynode = o.Float("colsample_bylevel", 1), o.Float("colsample_bynode", 1)
		p.minChild = o.Float("min_child_weight", 1)
		p.l1, p.l2 = o.Float("l1", 0), o.Float("l2", 1)
		p.dart = newDart(o)
		p.patience = o.Int("early_stopping_rounds", 0)
		for _, c := range o.Floats("monotone_constraints", nil) {
			p.monotone = append(p.monotone, int8(c))
		}
		p.monotoneOf = map[string]int8{}
		for name, c := range namedConstraints(o) {
			p.monotoneOf[name] = c
		}
	}
	if p.depth == 0 {
		p.depth = deepest
	}
	return p
}

// maxFeatures is how many of n columns a forest's split may use.
func (p *params) maxFeatures(n int) int {
	k := n
	switch {
	case p.featureNum >= 1:
		k = int(p.featureNum)
	case p.featureNum > 0:
		k = int(p.featureNum * float64(n))
	case p.features == "sqrt", p.features == "" && p.classify:
		k = int(math.Sqrt(float64(n)))
	case p.features == "log2":
		k = int(math.Log2(float64(n)))
	}
	return min(max(k, 1), n)
}

const monotoneOption = "monotone_constraints"

// namedConstraints returns the constraints in the statement by column.
func namedConstraints(o *family.Values) iter.Seq2[string, int8] {
	return func(yield func(string, int8) bool) {
		for list := o.Texts(monotoneOption, nil); len(list) >= 2; list = list[2:] {
			c, _ := strconv.ParseInt(list[1], 10, 8) // as IntegersByName wrote it
			if !yield(list[0], int8(c)) {
				return
			}
		}
	}
}

// constraint returns the monotone constraint of the query's column k, which has this name.
func (p *params) constraint(k int, name string) int8 {
	if k < len(p.monotone) {
		return p.monotone[k]
	}
	return p.monotoneOf[name]
}

// checkMonotone checks the constraints against the features.
func checkMonotone(r *family.Request) error {
	const name = monotoneOption
	if !r.Options.Given(name) {
		return nil
	}
	for column, c := range namedConstraints(r.Options) {
		k := slices.IndexFunc(r.Columns, func(x record.Column) bool { return x.Name == column })
		switch {
		case k < 0:
			return pgerr.New(pgerr.UndefinedColumn, "option %q constrains column %q, which is not a feature", name, column).At(r.Options.Pos(name))
		case c != 0 && !isOrdered(r.Columns[k].Type):
			return pgerr.New(pgerr.InvalidParameterValue, "option %q constrains column %q, which is not a number", name, column).At(r.Options.Pos(name))
		}
	}
	list := r.Options.Floats(name, nil)
	if list == nil {
		return nil
	}
	if len(list) != len(r.Columns) {
		return pgerr.New(pgerr.InvalidParameterValue, "option %q has %d members, but there are %d features", name, len(list), len(r.Columns)).At(r.Options.Pos(name))
	}
	for i, c := range r.Columns {
		if list[i] != 0 && !isOrdered(c.Type) {
			return pgerr.New(pgerr.InvalidParameterValue, "option %q constrains column %q, which is not a number", name, c.Name).At(r.Options.Pos(name))
		}
	}
	return nil
}

func isOrdered(t types.Type) bool { return t.IsNumber() }
