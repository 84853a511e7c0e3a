package lightgbm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
)

// Format is the format.
var Format = &interchange.Format{Name: "lightgbm_text", Doc: "trees, with missing values and categories, to the bit of LightGBM's float64", Is: is, Write: write, Read: read}

const format = "lightgbm_text"

func is(b []byte) bool {
	return bytes.HasPrefix(b, []byte("tree\n")) || bytes.HasPrefix(b, []byte("tree\r\n"))
}

func bad(why string, args ...any) error { return interchange.Damaged(format, why, args...) }

// section is a part of the file: lines key=value, and lines of a word alone.
type section map[string]string

// split returns the header, the trees, and pandas' categories.
func split(b []byte) (head section, trees []section, pandas string) {
	head = section{}
	at := head
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, _ := strings.Cut(line, "=")
		switch {
		case key == "Tree":
			at = section{}
			trees = append(trees, at)
		case line == "end of trees":
			at = section{} // importances and parameters of the training, which predict nothing
		case strings.HasPrefix(line, "pandas_categorical:"):
			pandas = strings.TrimPrefix(line, "pandas_categorical:")
		case line != "":
			at[key] = value
		}
	}
	return head, trees, pandas
}

// numbers returns a list of a section. The first mistake is kept in err.
func (s section) numbers(key string, err *error) []float64 {
	fields := strings.Fields(s[key])
	out := make([]float64, len(fields))
	for i, f := range fields {
		v, e := strconv.ParseFloat(f, 64)
		if e != nil && !math.IsInf(v, 0) && *err == nil {
			*err = bad("%s has %q, which is no number", key, f)
		}
		out[i] = v
	}
	return out
}

func (s section) integers(key string, err *error) []int {
	fields := strings.Fields(s[key])
	out := make([]int, len(fields))
	for i, f := range fields {
		v, e := strconv.ParseInt(f, 10, 64)
		if e != nil && *err == nil {
			*err = bad("%s has %q, which is no integer", key, f)
		}
		out[i] = int(v)
	}
	return out
}

func (s section) integer(key string, def int) int {
	if v, err := strconv.Atoi(s[key]); err == nil {
		return v
	}
	return def
}

// links are the objectives whose predictions are known, by name.
var links = map[string]shape.Link{"regression": shape.Identity, "regression_l2": shape.Identity, "regression_l1": shape.Identity, "huber": shape.Identity, "fair": shape.Identity,
	"quantile": shape.Identity, "mape": shape.Identity, "lambdarank": shape.Identity, "rank_xendcg": shape.Identity, "custom": shape.Identity, "none": shape.Identity,
	"poisson": shape.Exp, "gamma": shape.Exp, "tweedie": shape.Exp, "binary": shape.Logistic, "multiclass": shape.Softmax, "multiclassova": shape.Separate}

// The bits of a node's decision_type.
const (
	byCategory  = 1
	defaultLeft = 2
	missingBits = 2 // to the left of which the way of missing values is
)

func read(b []byte, o *interchange.Options) (*interchange.File, error) {
	head, list, pandas := split(b)
	s, classes, missing, err := objective(head)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if t["is_linear"] == "1" {
			missing = append(missing, "linear trees")
		}
	}
	if missing != nil {
		return nil, interchange.Missing(format, missing)
	}
	cols, err := columns(head, list, pandas, o)
	if err != nil {
		return nil, err
	}
	per := head.integer("num_tree_per_iteration", s.Outputs)
	if per != s.Outputs || len(list)%per != 0 {
		return nil, bad("%d trees an iteration do not fit %d outputs and %d trees", per, s.Outputs, len(list))
	}
	scale := sigmoid(head)
	_, average := head["average_output"]
	if average && len(list) > 0 {
		scale /= float64(len(list) / per)
	}
	for i, t := range list {
		out, err := tree(t, cols)
		if err != nil {
			return nil, err
		}
		out.Output = i % per
		for k := range out.Values {
			if scale != 1 {
				out.Values[k] *= scale
			}
		}
		s.Trees = append(s.Trees, out)
	}
	f, err := cols.Fitted(o, classes, false)
	if err != nil {
		return nil, err
	}
	return interchange.Foreign(f, s)
}

// sigmoid is by what margins are multiplied before the sigmoid.
func sigmoid(head section) float64 {
	for _, f := range strings.Fields(head["objective"])[min(1, len(strings.Fields(head["objective"]))):] {
		if v, ok := strings.CutPrefix(f, "sigmoid:"); ok {
			if x, err := strconv.ParseFloat(v, 64); err == nil && x > 0 {
				return x
			}
		}
	}
	return 1
}

// objective returns the shape without its trees, and the number of classes.
func objective(head section) (s *shape.Trees, classes int, missing []string, err error) {
	words := strings.Fields(head["objective"])
	name := "none"
	if len(words) > 0 {
		name = words[0]
	}
	link, ok := links[name]
	if !ok {
		missing = append(missing, "objective "+name)
	}
	for _, w := range words[min(1, len(words)):] {
		switch key, _, _ := strings.Cut(w, ":"); key {
		case "sigmoid", "num_class":
		case "sqrt":
			missing = append(missing, "reg_sqrt")
		}
	}
	outputs := head.integer("num_class", 1)
	if outputs < 1 || outputs > 1<<12 {
		return nil, 0, nil, bad("it has %d classes", outputs)
	}
	switch link {
	case shape.Logistic:
		classes = 2
	case shape.Softmax, shape.Separate:
		classes = outputs
	case shape.Identity:
		if name == "none" && outputs > 1 { // probabilities, as exports of forests have them
			link, classes = shape.Share, outputs
		}
	}
	if classes <= 2 && outputs > 1 && classes != outputs {
		return nil, 0, nil, bad("%d outputs do not fit objective %s", outputs, name)
	}
	return &shape.Trees{Outputs: outputs, Width: 1, Base: make([]float64, outputs), Link: link}, classes, missing, nil
}

// columns returns the features: those of categories are told by their infos, or by a split.
func columns(head section, list []section, pandas string, o *interchange.Options) (*interchange.Columns, error) {
	names, infos := strings.Fields(head["feature_names"]), strings.Fields(head["feature_infos"])
	n := head.integer("max_feature_idx", -1) + 1
	if n < 1 || n > 1<<20 || len(names) != n || len(infos) != n && len(infos) != 0 {
		return nil, bad("it has %d features, %d names of them and %d infos", n, len(names), len(infos))
	}
	if err := o.CheckFeatures(n); err != nil {
		return nil, err
	}
	most, err := mostCategories(list, infos, n)
	if err != nil {
		return nil, err
	}
	var lists [][]json.RawMessage
	if pandas != "" && pandas != "null" {
		if err := interchange.JSON(format, []byte(pandas), &lists); err != nil {
			return nil, err
		}
	}
	some := 0
	for _, k := range most {
		if k > 0 {
			some++
		}
	}
	if len(lists) > 0 && len(lists) != some {
		return nil, bad("it has %d features of categories, and lists of the categories of %d", some, len(lists))
	}
	cols := &interchange.Columns{}
	for i := range n {
		name := o.Name(i, names[i])
		switch {
		case most[i] == 0:
			cols.Number(name)
		case len(lists) == 0:
			if err := cols.Counted(name, most[i]); err != nil {
				return nil, err
			}
		default:
			if err := category(cols, name, lists[0]); err != nil {
				return nil, err
			}
			lists = lists[1:]
		}
	}
	return cols, nil
}

// category adds a feature with pandas' categories.
func category(cols *interchange.Columns, name string, list []json.RawMessage) error {
	var texts []string
	var numbers []int64
	for _, raw := range list {
		var t string
		if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			numbers = append(numbers, v)
		} else if json.Unmarshal(raw, &t) == nil && len(raw) > 0 && raw[0] == '"' {
			texts = append(texts, t)
		}
	}
	switch len(list) {
	case len(texts):
		cols.Texts(name, texts)
	case len(numbers):
		cols.Integers(name, numbers)
	default:
		return interchange.Missing(format, []string{"categories that are neither texts nor integers"})
	}
	return nil
}

// mostCategories returns, by feature, how many categories it has at least, 0 for a number.
func mostCategories(list []section, infos []string, n int) (out []int, err error) {
	out = make([]int, n)
	see := func(i, category int) {
		if i >= 0 && i < n && category < 1<<20 {
			out[i] = max(out[i], category+1)
		}
	}
	for i, info := range infos {
		if info == "none" || strings.HasPrefix(info, "[") {
			continue
		}
		for _, f := range strings.Split(info, ":") {
			v, e := strconv.Atoi(f)
			if e != nil {
				return nil, bad("feature_infos has %q", info)
			}
			see(i, v)
		}
	}
	for _, t := range list {
		split, decisions, at := t.integers("split_feature", &err), t.integers("decision_type", &err), t.numbers("threshold", &err)
		bounds, words := t.integers("cat_boundaries", &err), t.integers("cat_threshold", &err)
		for k, d := range decisions {
			if d&byCategory == 0 || k >= len(split) || k >= len(at) {
				continue
			}
			if set, ok := categories(bounds, words, at[k]); ok {
				see(split[k], 0)
				for w := len(set) - 1; w >= 0; w-- {
					if set[w] != 0 {
						see(split[k], 32*w+31-leading(set[w]))
						break
					}
				}
			}
		}
	}
	return out, err
}

func leading(w uint32) (n int) {
	for ; w>>31 == 0; w <<= 1 {
		n++
	}
	return n
}

// categories returns the set of a node, whose threshold is its number.
func categories(bounds, words []int, threshold float64) ([]uint32, bool) {
	k := int(threshold)
	if !(threshold >= 0) || threshold > 1<<30 || k+1 >= len(bounds) {
		return nil, false
	}
	from, to := bounds[k], bounds[k+1]
	if from < 0 || to < from || to > len(words) {
		return nil, false
	}
	out := make([]uint32, to-from)
	for i, w := range words[from:to] {
		out[i] = uint32(w)
	}
	return out, true
}

// tree reads a tree over the columns. Inner nodes are counted from 0, leaves from -1 down.
func tree(t section, cols *interchange.Columns) (out shape.Tree, err error) {
	leaves := t.integer("num_leaves", 0)
	value, cover := t.numbers("leaf_value", &err), t.numbers("leaf_count", &err)
	split, decisions, at := t.integers("split_feature", &err), t.integers("decision_type", &err), t.numbers("threshold", &err)
	left, right := t.integers("left_child", &err), t.integers("right_child", &err)
	gain, inner := t.numbers("split_gain", &err), t.numbers("internal_count", &err)
	bounds, words := t.integers("cat_boundaries", &err), t.integers("cat_threshold", &err)
	if err != nil {
		return out, err
	}
	n := leaves - 1
	if leaves < 1 || len(value) != leaves || len(split) != n || len(decisions) != n || len(at) != n || len(left) != n || len(right) != n {
		return out, bad("the lists of a tree of %d leaves differ in length", leaves)
	}
	of := func(list []float64, i int) float64 {
		if i < len(list) {
			return list[i]
		}
		return 0
	}
	root := 0
	if n == 0 {
		root = -1
	}
	out, ok, err := shape.Grow(root, leaves+n, func(id int) (shape.Raw, error) {
		r := shape.Raw{Value: []float64{0}}
		if id < 0 {
			r.Feature = shape.Leaf
			if id = -id - 1; id >= leaves || value[id]-value[id] != 0 {
				return r, bad("a tree has no leaf %d", id)
			}
			r.Value[0], r.Cover = value[id], of(cover, id)
			return r, nil
		}
		if id >= n || !cols.Has(split[id]) {
			return r, bad("a tree has no node %d", id)
		}
		r.Left, r.Right, r.Gain, r.Cover = left[id], right[id], of(gain, id), of(inner, id)
		var many int
		r.Feature, many = cols.Place(split[id])
		d := decisions[id]
		if category := d&byCategory != 0; category != cols.Category(split[id]) {
			return r, bad("a node splits feature %d as what it is not", split[id])
		} else if category {
			set, ok := categories(bounds, words, at[id])
			if !ok {
				return r, bad("a node has no categories")
			}
			// Those of the set go left, all others and NULL right.
			if err := cols.Take(many/64 + 1); err != nil {
				return r, err
			}
			r.Set = make([]uint64, many/64+1)
			for k := range many {
				if k>>5 < len(set) && set[k>>5]>>(k&31)&1 != 0 {
					r.Set[k>>6] |= 1 << (k & 63)
				}
			}
			return r, nil
		}
		if at[id] != at[id] {
			return r, bad("a threshold is no number")
		}
		r.Threshold, r.MissLeft = at[id], d&defaultLeft != 0
		switch d >> missingBits & 3 {
		case 0:
			r.Missing = shape.NaNIsZero
		case 1:
			r.Missing = shape.ZeroMissing
		case 2:
			r.Missing = shape.NaNMissing
		default:
			return r, bad("decision_type %d", d)
		}
		return r, nil
	})
	if err == nil && !ok {
		err = bad("the nodes of a tree form none")
	}
	return out, err
}
