package feature

import (
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/ml/words"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Transform is a call of one of the encoders in a TRANSFORM clause, most of which are BigQuery ML's
// preprocessing functions, e.g. ML.STANDARD_SCALER(age) OVER ().
type Transform struct {
	Column string        // the query's column that is its argument
	Func   string        // the name without "ml.", in any case
	Args   []types.Datum // after the column
	Names  []string      // of Args, "" for one that its place names
	Pos    int
	// Elements are the names of the columns whose gaps an imputer fills from each other; Column has arrays of them.
	Elements []string
}

// Of functions of texts.
var termParams = []string{"ngram_range", "max_features", "min_df"}

const termUsage = "(x [, ARRAY[1, 2] [, max_features [, min_df]]]), with 1 to 5 words, 1 to 1048576 terms, and a number of rows"

// transforms are the functions that are implemented, with the names of their arguments after the column.
var transforms = []struct {
	name   string
	params []string
	usage  string
	set    func(c *Col, args []types.Datum) bool // false: bad arguments
}{
	{"standard_scaler", nil, "(x)", only(Standard)},
	{"min_max_scaler", nil, "(x)", only(MinMax)},
	{"max_abs_scaler", nil, "(x)", only(MaxAbs)},
	{"robust_scaler", nil, "(x)", only(Robust)},
	{"label_encoder", []string{"top_k", "frequency_threshold"}, "(x [, top_k]), with top_k from 1 to 1000000",
		func(c *Col, a []types.Datum) bool { c.Encoder = Ordinal; return topK(c, a, 0) }},
	{"one_hot_encoder", []string{"drop", "top_k", "frequency_threshold"}, "(x [, 'none' [, top_k]]), with top_k from 1 to 1000000", func(c *Col, a []types.Datum) bool {
		c.Encoder = OneHot
		if len(a) > 0 && a[0] != nil && !strings.EqualFold(text(a[0]), "none") {
			return false
		}
		return topK(c, a, 1)
	}},
	{"imputer", []string{"strategy"}, "(x, 'mean' | 'median' | 'most_frequent'), or (x, 'constant', value)", func(c *Col, a []types.Datum) bool {
		strategy := "mean"
		if len(a) == 1 {
			strategy = strings.ToLower(text(a[0]))
		}
		c.NoIndicator = true
		if c.Encoder == Auto && c.Type.IsNumber() {
			c.Encoder = Plain
		}
		switch strategy {
		case "mean":
			c.Fill = FillMean
		case "median":
			c.Fill = FillMedian
		case "most_frequent":
			c.Fill = FillMostFrequent
		default:
			return false
		}
		return true
	}},
	{"bucketize", []string{"boundaries"}, "(x, ARRAY[…])", func(c *Col, a []types.Datum) bool {
		if len(a) != 1 {
			return false
		}
		arr, ok := a[0].(types.Array)
		if !ok {
			return false
		}
		for _, e := range arr.Elems {
			v, ok := types.Float(e)
			if !ok {
				return false
			}
			c.Boundaries = append(c.Boundaries, v)
		}
		c.Encoder = Bucketize
		return true
	}},
	{"quantile_bucketize", []string{"buckets"}, "(x, buckets)", func(c *Col, a []types.Datum) bool {
		c.Encoder = QuantileBucketize
		return whole(a, 0, math.MinInt32, math.MaxInt32, &c.Buckets)
	}},
	{"target_encode", []string{"smooth"}, "(x [, smooth]), with a number from 0, or 'auto'", func(c *Col, a []types.Datum) bool {
		c.Encoder = TargetEncode
		if len(a) == 0 || a[0] == nil || strings.EqualFold(text(a[0]), "auto") {
			return true
		}
		v, ok := types.Float(a[0])
		c.Boundaries = []float64{v}
		return ok && v >= 0 && v <= math.MaxFloat32
	}},
	{"hash_bucketize", []string{"buckets"}, "(x, buckets), with 1 to 1000000 buckets", func(c *Col, a []types.Datum) bool {
		c.Encoder = Hashed
		return whole(a, 0, 1, 1000000, &c.Buckets)
	}},
	{"spline", []string{"n_knots", "degree"}, "(x [, n_knots [, degree]]), with 2 to 100 knots and a degree from 0 to 5", func(c *Col, a []types.Datum) bool {
		degree := 3
		c.Encoder, c.Buckets = Spline, 5
		ok := whole(a, 0, 2, maxKnots, &c.Buckets) && whole(a, 1, 0, maxDegree, &degree)
		c.Boundaries = []float64{float64(degree)}
		return ok
	}},
	{"ngrams", termParams, termUsage, setTerms(0)},
	{"tf_idf", termParams, termUsage, setTerms(1)},
	{impute.KNN.Name, impute.KNN.Params, impute.KNN.Usage, setImputed(NearestRows)},
	{impute.Rounds.Name, impute.Rounds.Params, impute.Rounds.Usage, setImputed(Regressions)},
}

// Expansions are the functions that stand for expressions: the statement computes these, and encoders see
// no more of them.
var Expansions = []string{"cyclic", "feature_cross", "polynomial_expand"}

// setTerms reads the arguments of the functions of texts: the range of words, how many terms at most, and how many rows a term needs.
func setTerms(idf float64) func(c *Col, a []types.Datum) bool {
	return func(c *Col, a []types.Datum) bool {
		g, least := []int{1, 1}, 1
		if len(a) > 0 && a[0] != nil {
			list := []types.Datum{a[0], a[0]}
			if arr, ok := a[0].(types.Array); ok {
				list = arr.Elems
			}
			if len(list) != 2 {
				return false
			}
			for i, d := range list {
				v, ok := types.Float(d)
				if g[i] = int(v); !ok || float64(g[i]) != v {
					return false
				}
			}
		}
		c.Encoder = Terms
		ok := (len(a) < 2 || a[1] == nil || whole(a, 1, 1, maxTerms, &c.Buckets)) && whole(a, 2, 1, math.MaxInt32, &least) && words.Grams{Least: g[0], Most: g[1]}.Valid()
		c.Boundaries = []float64{float64(g[0]), float64(g[1]), float64(least), idf}
		return ok
	}
}

// Transforms are the names of the functions of ml that may stand in TRANSFORM.
func Transforms() (names []string) {
	for _, t := range transforms {
		names = append(names, t.name)
	}
	return append(names, Expansions...)
}

// knownTransforms are functions of BigQuery ML, and what other systems have beside them, that are not implemented:
// they are 0A000, other names are undefined functions. Some have a hint.
var knownTransforms = map[string]string{"bag_of_words": "", "convert_color_space": "", "convert_image_type": "", "decode_image": "", "multi_hot_encoder": "",
	"normalizer": "", "resize_image": "",
	"lag": "TRANSFORM sees one row at a time: write lag(…) OVER (PARTITION BY … ORDER BY …) in the query."}

// whole reads argument i, an integer within bounds; what is left out must have a value already.
func whole(a []types.Datum, i, least, most int, to *int) bool {
	if i >= len(a) || a[i] == nil {
		return *to > 0
	}
	n, ok := a[i].(int64)
	*to = int(n)
	return ok && n >= int64(least) && n <= int64(most)
}

func only(e Encoder) func(*Col, []types.Datum) bool {
	return func(c *Col, a []types.Datum) bool { c.Encoder = e; return len(a) == 0 }
}

// topK reads top_k and frequency_threshold, the arguments from i on.
func topK(c *Col, a []types.Datum, i int) bool {
	if len(a) > i+1 && a[i+1] != nil {
		if n, ok := a[i+1].(int64); !ok || n > 0 {
			return false // a frequency threshold
		}
	}
	if len(a) > i+2 {
		return false
	}
	if len(a) > i && a[i] != nil {
		n, ok := a[i].(int64)
		if !ok || n < 1 || n > 1000000 {
			return false
		}
		c.MaxCategories = int(n)
	}
	return true
}

func text(d types.Datum) string { s, _ := d.(string); return s }

// Apply sets the encoder of the column that is the call's argument.
func (t *Transform) Apply(s *Spec) error {
	name := strings.ToLower(t.Func)
	at := -1
	for i := range s.Cols {
		if s.Cols[i].Name == t.Column {
			at = i
		}
	}
	if at < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query", t.Column).At(t.Pos)
	}
	for _, f := range transforms {
		if f.name != name {
			continue
		}
		args, err := t.placed(f.params)
		if err != nil {
			return err
		}
		c := &s.Cols[at]
		if c.Encoder.imputes() {
			return t.onImputed(c, name)
		}
		if err := impute.Refused(name, f.params, args); err != nil {
			return err.At(t.Pos)
		}
		c.Elements = t.Elements
		if args == nil && len(t.Args) > 0 || !f.set(c, args) {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid arguments for ml.%s of column %q", name, t.Column).At(t.Pos).WithHint("Write ml.%s%s.", name, f.usage)
		}
		if c.Encoder == TargetEncode {
			if err := checkTarget(s); err != nil {
				return pgerr.From(err).At(t.Pos)
			}
		}
		return nil
	}
	if hint, ok := knownTransforms[name]; ok {
		err := pgerr.Unsupported("ml.%s is not supported", name).At(t.Pos)
		if hint != "" {
			err = err.WithHint("%s", hint)
		}
		return err
	}
	var names []string
	for _, n := range Transforms() {
		names = append(names, "ml."+n)
	}
	return pgerr.New(pgerr.UndefinedFunction, "function ml.%s does not exist", name).At(t.Pos).
		WithHint("Preprocessing functions are %s.", strings.Join(names, ", "))
}

// placed returns the arguments in the order of params, nil for those that are left out; none if there are too
// many.
func (t *Transform) placed(params []string) ([]types.Datum, error) {
	var out []types.Datum
	for i, d := range t.Args {
		at := i
		if n := t.Names; i < len(n) && n[i] != "" {
			if at = slices.IndexFunc(params, func(p string) bool { return strings.EqualFold(p, n[i]) }); at < 0 {
				return nil, pgerr.New(pgerr.UndefinedFunction, "ml.%s has no argument %q", strings.ToLower(t.Func), n[i]).At(t.Pos)
			}
		}
		if at >= len(params) {
			return nil, nil
		}
		for len(out) <= at {
			out = append(out, nil)
		}
		out[at] = d
	}
	return out, nil
}

// IsExpansion reports whether a function's name, without "ml.", is one of Expansions.
func IsExpansion(name string) bool { return slices.Contains(Expansions, name) }

// IsTransform reports whether a function's name, without "ml.", is one of those of TRANSFORM.
func IsTransform(name string) bool {
	name = strings.ToLower(name)
	_, known := knownTransforms[name]
	return known || slices.Contains(Transforms(), name)
}
