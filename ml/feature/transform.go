package feature

import (
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Transform is a call of one of BigQuery ML's preprocessing functions in a
// TRANSFORM clause, e.g. ML.STANDARD_SCALER(age) OVER ().
type Transform struct {
	Column string        // the query's column that is its argument
	Func   string        // the name without "ml.", in any case
	Args   []types.Datum // after the column
	Pos    int
}

// transforms are the functions that are implemented.
var transforms = []struct {
	name string
	set  func(c *Col, args []types.Datum) bool // false: bad arguments
}{
	{"standard_scaler", only(Standard)},
	{"min_max_scaler", only(MinMax)},
	{"max_abs_scaler", only(MaxAbs)},
	{"robust_scaler", only(Robust)},
	{"label_encoder", func(c *Col, a []types.Datum) bool { c.Encoder = Ordinal; return topK(c, a, 0) }},
	{"one_hot_encoder", func(c *Col, a []types.Datum) bool {
		c.Encoder = OneHot
		if len(a) > 0 && a[0] != nil && !strings.EqualFold(text(a[0]), "none") {
			return false
		}
		return topK(c, a, 1)
	}},
	{"imputer", func(c *Col, a []types.Datum) bool {
		if len(a) > 1 {
			return false
		}
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
	{"bucketize", func(c *Col, a []types.Datum) bool {
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
	{"quantile_bucketize", func(c *Col, a []types.Datum) bool {
		if len(a) != 1 {
			return false
		}
		n, ok := a[0].(int64)
		c.Encoder, c.Buckets = QuantileBucketize, int(n)
		return ok
	}},
}

// Transforms are the names of the functions of ml that stand for encoders.
func Transforms() (names []string) {
	for _, t := range transforms {
		names = append(names, t.name)
	}
	return names
}

// knownTransforms are functions of BigQuery ML that are not implemented: they are 0A000,
// other names are undefined functions.
var knownTransforms = []string{"bag_of_words", "convert_color_space", "convert_image_type", "decode_image", "feature_cross", "hash_bucketize",
	"multi_hot_encoder", "ngrams", "normalizer", "polynomial_expand", "resize_image", "tf_idf"}

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
		if !f.set(&s.Cols[at], t.Args) {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid arguments for ml.%s of column %q", name, t.Column).At(t.Pos)
		}
		return nil
	}
	for _, k := range knownTransforms {
		if k == name {
			return pgerr.Unsupported("ml.%s is not supported", name).At(t.Pos)
		}
	}
	var names []string
	for _, f := range transforms {
		names = append(names, "ml."+f.name)
	}
	return pgerr.New(pgerr.UndefinedFunction, "function ml.%s does not exist", name).At(t.Pos).
		WithHint("Preprocessing functions are %s.", strings.Join(names, ", "))
}

// IsTransform reports whether a function's name, without "ml.", is one of
// BigQuery ML's preprocessing functions.
func IsTransform(name string) bool {
	name = strings.ToLower(name)
	for _, f := range transforms {
		if f.name == name {
			return true
		}
	}
	for _, k := range knownTransforms {
		if k == name {
			return true
		}
	}
	return false
}
