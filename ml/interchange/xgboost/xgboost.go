package xgboost

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is the format.
var Format = &interchange.Format{Name: "xgboost_json", Doc: "trees, with missing values and categories; numbers are rounded to float32, as XGBoost does", Is: is, Write: write, Read: read}

const format = "xgboost_json"

func is(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && (bytes.Contains(b[:min(len(b), 1<<12)], []byte(`"learner"`)) || bytes.Contains(b[max(0, len(b)-1<<12):], []byte(`"learner_model_param"`)))
}

// links are the objectives whose predictions are known, by name.
var links = map[string]shape.Link{"reg:squarederror": shape.Identity, "reg:linear": shape.Identity, "reg:squaredlogerror": shape.Identity,
	"reg:absoluteerror": shape.Identity, "reg:pseudohubererror": shape.Identity, "reg:quantileerror": shape.Identity, "binary:logitraw": shape.Identity,
	"rank:pairwise": shape.Identity, "rank:ndcg": shape.Identity, "rank:map": shape.Identity,
	"count:poisson": shape.Exp, "reg:gamma": shape.Exp, "reg:tweedie": shape.Exp, "survival:cox": shape.Exp, "survival:aft": shape.Exp,
	"binary:logistic": shape.Logistic, "multi:softprob": shape.Softmax, "multi:softmax": shape.Softmax}

// text is a number, which the file has as a string.
type text string

func (t text) integer() int {
	n, err := strconv.Atoi(string(t))
	if err != nil {
		return 0
	}
	return n
}

// real is a float32, which XGBoost knows from integers by its exponent.
type real float64

// MarshalJSON implements json.Marshaler.
func (r real) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(float32(r)), 'E', -1, 32), nil
}

type file struct {
	Learner learner `json:"learner"`
	Version []int   `json:"version"`
}

type learner struct {
	Attributes   map[string]string `json:"attributes"`
	FeatureNames []string          `json:"feature_names"`
	FeatureTypes []string          `json:"feature_types"`
	Booster      booster           `json:"gradient_booster"`
	Param        learnerParam      `json:"learner_model_param"`
	Objective    objective         `json:"objective"`
}

type learnerParam struct {
	BaseScore text `json:"base_score"`
	Boost     text `json:"boost_from_average"`
	Classes   text `json:"num_class"`
	Features  text `json:"num_feature"`
	Targets   text `json:"num_target"`
}

type objective struct {
	Name    string            `json:"name"`
	Reg     map[string]string `json:"reg_loss_param,omitempty"`
	Softmax map[string]string `json:"softmax_multiclass_param,omitempty"`
	Poisson map[string]string `json:"poisson_regression_param,omitempty"`
}

type booster struct {
	Model  *trees    `json:"model,omitempty"`
	Gbtree *booster  `json:"gbtree,omitempty"` // of dart
	Drop   []float64 `json:"weight_drop,omitempty"`
	Name   string    `json:"name"`
}

type trees struct {
	Cats  *cats `json:"cats,omitempty"`
	Param struct {
		Parallel text `json:"num_parallel_tree"`
		Trees    text `json:"num_trees"`
	} `json:"gbtree_model_param"`
	Iterations []int  `json:"iteration_indptr"`
	Info       []int  `json:"tree_info"`
	Trees      []tree `json:"trees"`
}

type cats struct {
	Enc      []category `json:"enc"`
	Segments []int      `json:"feature_segments"`
	Sorted   []int      `json:"sorted_idx"`
}

// category has a feature's categories: texts one after the other, or numbers.
type category struct {
	Offsets []int             `json:"offsets"`
	Values  []json.RawMessage `json:"values"`
	Type    *int              `json:"type,omitempty"`
}

type tree struct {
	BaseWeights []real    `json:"base_weights"`
	Categories  []int     `json:"categories"`
	CatNodes    []int     `json:"categories_nodes"`
	CatSegments []int     `json:"categories_segments"`
	CatSizes    []int     `json:"categories_sizes"`
	DefaultLeft []int     `json:"default_left"`
	ID          int       `json:"id"`
	Left        []int     `json:"left_children"`
	Gain        []real    `json:"loss_changes"`
	Parents     []int     `json:"parents"`
	Right       []int     `json:"right_children"`
	Conditions  []real    `json:"split_conditions"`
	Indices     []int     `json:"split_indices"`
	Types       []int     `json:"split_type"`
	Cover       []real    `json:"sum_hessian"`
	Param       treeParam `json:"tree_param"`
}

type treeParam struct {
	Deleted  text `json:"num_deleted"`
	Features text `json:"num_feature"`
	Nodes    text `json:"num_nodes"`
	Vector   text `json:"size_leaf_vector"`
}

func bad(why string, args ...any) error { return interchange.Damaged(format, why, args...) }

func read(b []byte, o *interchange.Options) (*interchange.File, error) {
	var in file
	if err := interchange.JSON(format, b, &in); err != nil {
		return nil, err
	}
	l := &in.Learner
	link, ok := links[l.Objective.Name]
	model, drop := l.Booster.Model, l.Booster.Drop
	if l.Booster.Gbtree != nil {
		model = l.Booster.Gbtree.Model
	}
	var missing []string
	if !ok {
		missing = append(missing, "objective "+l.Objective.Name)
	}
	if model == nil {
		missing = append(missing, "booster "+l.Booster.Name)
	}
	if l.Param.Targets.integer() > 1 {
		missing = append(missing, "several targets")
	}
	if missing != nil {
		return nil, interchange.Missing(format, missing)
	}
	outputs := max(1, l.Param.Classes.integer())
	if link == shape.Softmax && outputs < 2 || link != shape.Softmax && outputs > 1 || outputs > 1<<12 {
		return nil, bad("%d classes do not fit objective %s", outputs, l.Objective.Name)
	}
	if len(model.Info) != len(model.Trees) || drop != nil && len(drop) != len(model.Trees) {
		return nil, bad("its lists of trees differ in length")
	}
	cols, err := l.columns(model, o)
	if err != nil {
		return nil, err
	}
	s := &shape.Trees{Outputs: outputs, Width: 1, Link: link}
	if s.Base, err = l.base(link, outputs); err != nil {
		return nil, err
	}
	for i := range model.Trees {
		t, err := model.Trees[i].shape(cols)
		if err != nil {
			return nil, err
		}
		if t.Output = model.Info[i]; t.Output < 0 || t.Output >= outputs {
			return nil, bad("tree %d is of class %d", i, t.Output)
		}
		if drop != nil {
			for k := range t.Values {
				t.Values[k] *= drop[i]
			}
		}
		s.Trees = append(s.Trees, t)
	}
	classes := 0
	switch link {
	case shape.Logistic:
		classes = 2
	case shape.Softmax:
		classes = outputs
	}
	f, err := cols.Fitted(o, classes, true)
	if err != nil {
		return nil, err
	}
	return interchange.Foreign(f, s)
}

// base returns the margins that trees are added to. The file has predictions; a list of them since 3.1.
func (l *learner) base(link shape.Link, outputs int) ([]float64, error) {
	fields := strings.Split(strings.Trim(string(l.Param.BaseScore), "[]"), ",")
	if len(fields) != 1 && len(fields) != outputs {
		return nil, bad("base_score has %d numbers", len(fields))
	}
	out := make([]float64, outputs)
	for k := range out {
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[k%len(fields)]), 64)
		if err != nil || v-v != 0 {
			return nil, bad("base_score is no number")
		}
		switch link {
		case shape.Logistic:
			v = -math.Log(1/v - 1)
		case shape.Exp:
			v = math.Log(v)
		}
		if out[k] = v; v-v != 0 {
			return nil, bad("base_score is not possible")
		}
	}
	return out, nil
}

// columns returns the features.
func (l *learner) columns(m *trees, o *interchange.Options) (*interchange.Columns, error) {
	n := l.Param.Features.integer()
	if n < 1 || n > 1<<16 && len(l.FeatureNames) != n || len(l.FeatureNames) != 0 && len(l.FeatureNames) != n || len(l.FeatureTypes) != 0 && len(l.FeatureTypes) != n {
		return nil, bad("it has %d features, %d names of them and %d types", n, len(l.FeatureNames), len(l.FeatureTypes))
	}
	if err := o.CheckFeatures(n); err != nil {
		return nil, err
	}
	most := m.mostCategories(n)
	cols := &interchange.Columns{}
	for i := range n {
		name := "f" + strconv.Itoa(i)
		if l.FeatureNames != nil {
			name = l.FeatureNames[i]
		}
		name = o.Name(i, name)
		if (l.FeatureTypes == nil || l.FeatureTypes[i] != "c") && most[i] == 0 {
			cols.Number(name)
			continue
		}
		var c *category
		if m.Cats != nil && i < len(m.Cats.Enc) && len(m.Cats.Enc[i].Values) > 0 {
			c = &m.Cats.Enc[i]
		}
		if c == nil {
			if err := cols.Counted(name, most[i]); err != nil {
				return nil, err
			}
			continue
		}
		texts, numbers, err := c.names()
		switch {
		case err != nil:
			return nil, err
		case numbers != nil:
			cols.Integers(name, numbers)
		default:
			cols.Texts(name, texts)
		}
	}
	return cols, nil
}

// mostCategories returns, by feature, how many categories its splits need.
func (m *trees) mostCategories(features int) []int {
	out := make([]int, features)
	for i := range m.Trees {
		t := &m.Trees[i]
		for k, node := range t.CatNodes {
			if node < 0 || node >= len(t.Indices) || t.Indices[node] < 0 || t.Indices[node] >= features {
				continue // shape refuses it
			}
			out[t.Indices[node]] = max(out[t.Indices[node]], 1)
			for _, c := range t.categories(k) {
				out[t.Indices[node]] = max(out[t.Indices[node]], min(c, mostCategories)+1)
			}
		}
	}
	return out
}

const mostCategories = 1 << 20

// categories returns list k of categories; nil where it is not there.
func (t *tree) categories(k int) []int {
	if k >= len(t.CatSegments) || k >= len(t.CatSizes) {
		return nil
	}
	from, n := t.CatSegments[k], t.CatSizes[k]
	if from < 0 || n < 0 || from > len(t.Categories)-n {
		return nil
	}
	return t.Categories[from:][:n]
}

// names returns a feature's categories.
func (c *category) names() (texts []string, numbers []int64, err error) {
	if len(c.Offsets) == 0 {
		for _, raw := range c.Values {
			v, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				return nil, nil, interchange.Missing(format, []string{"categories that are neither texts nor integers"})
			}
			numbers = append(numbers, v)
		}
		return nil, numbers, nil
	}
	all := make([]byte, len(c.Values))
	for i, raw := range c.Values {
		v, err := strconv.ParseInt(string(raw), 10, 16)
		if err != nil || v < -128 || v > 255 {
			return nil, nil, bad("a category is no text")
		}
		all[i] = byte(v)
	}
	for i := range c.Offsets[1:] {
		from, to := c.Offsets[i], c.Offsets[i+1]
		if from < 0 || to < from || to > len(all) {
			return nil, nil, bad("a category is no text")
		}
		texts = append(texts, strings.ToValidUTF8(string(all[from:to]), "?"))
	}
	return texts, nil, nil
}

// shape returns a tree over the columns.
func (t *tree) shape(cols *interchange.Columns) (shape.Tree, error) {
	n := len(t.Left)
	if n == 0 || len(t.Right) != n || len(t.Conditions) != n || len(t.Indices) != n || len(t.DefaultLeft) != n || len(t.Types) != n && len(t.Types) != 0 {
		return shape.Tree{}, bad("the lists of a tree's nodes differ in length")
	}
	if v := t.Param.Vector.integer(); v > 1 {
		return shape.Tree{}, interchange.Missing(format, []string{"leaves of several outputs"})
	}
	sets := map[int]int{}
	for k, node := range t.CatNodes {
		sets[node] = k
	}
	at := func(list []real, id int) float64 {
		if id < len(list) {
			return float64(list[id])
		}
		return 0
	}
	out, ok, err := shape.Grow(0, n, func(id int) (shape.Raw, error) {
		if id < 0 || id >= n {
			return shape.Raw{}, bad("a node has a child that is not there")
		}
		r := shape.Raw{Left: t.Left[id], Right: t.Right[id], Value: []float64{0}}
		r.Feature, r.Cover = shape.Leaf, at(t.Cover, id)
		if t.Left[id] == -1 {
			r.Value[0] = float64(float32(t.Conditions[id]))
			return r, nil
		}
		i := t.Indices[id]
		if i < 0 || !cols.Has(i) {
			return r, bad("a node splits by feature %d", i)
		}
		var categories int
		r.Feature, categories = cols.Place(i)
		r.Gain, r.MissLeft = at(t.Gain, id), t.DefaultLeft[id] != 0
		category := len(t.Types) > 0 && t.Types[id] == 1
		if category != cols.Category(i) {
			return r, bad("a node splits feature %d as what it is not", i)
		}
		if !category {
			r.Threshold, r.Strict = float64(float32(t.Conditions[id])), true
			return r, nil
		}
		k, ok := sets[id]
		list := t.categories(k)
		if !ok || list == nil && t.CatSizes[k] != 0 {
			return r, bad("a node has no categories")
		}
		// Those of the list go right.
		if err := cols.Take(categories/64 + 1); err != nil {
			return r, err
		}
		r.Set = make([]uint64, categories/64+1)
		for c := range categories {
			r.Set[c>>6] |= 1 << (c & 63)
		}
		for _, c := range list {
			if c < 0 || c >= categories {
				return r, bad("a node has category %d of %d", c, categories)
			}
			r.Set[c>>6] &^= 1 << (c & 63)
		}
		if r.MissLeft { // NULL's slot
			r.Set[categories>>6] |= 1 << (categories & 63)
		}
		return r, nil
	})
	if err == nil && !ok {
		err = bad("the nodes of a tree form none")
	}
	return out, err
}

func write(f *interchange.File) ([]byte, error) {
	s, err := interchange.TreesOf(f, format)
	if err != nil {
		return nil, err
	}
	cols, err := interchange.RawColumns(f.Model.Fitted, format)
	if err != nil {
		return nil, err
	}
	name, base := "", "[0E0]" // the prediction whose margin is 0
	switch {
	case s.Link == shape.Identity && s.Outputs == 1:
		name = "reg:squarederror"
	case s.Link == shape.Exp:
		name, base = "count:poisson", "[1E0]"
	case s.Link == shape.Logistic:
		name, base = "binary:logistic", "[5E-1]"
	case s.Link == shape.Softmax:
		name, base = "multi:softprob", "["+strings.TrimSuffix(strings.Repeat("0E0,", s.Outputs), ",")+"]"
	default:
		return nil, pgerr.Unsupported("XGBoost has no objective that predicts the shares of a forest's trees").WithHint("The formats onnx and lightgbm_text have them.")
	}
	classes := "0"
	out := file{Version: []int{3, 0, 0}}
	l := &out.Learner
	l.Attributes = map[string]string{}
	l.Objective.Name = name
	switch s.Link {
	case shape.Softmax:
		classes = strconv.Itoa(s.Outputs)
		l.Objective.Softmax = map[string]string{"num_class": classes}
	case shape.Exp:
		l.Objective.Poisson = map[string]string{"max_delta_step": "0.7"}
	default:
		l.Objective.Reg = map[string]string{"scale_pos_weight": "1"}
	}
	l.Param = learnerParam{text(base), "0", text(classes), text(strconv.Itoa(len(cols))), "1"}
	m := &trees{Cats: &cats{Enc: []category{}, Segments: []int{0}, Sorted: []int{}}}
	some := false
	for _, c := range cols {
		l.FeatureNames = append(l.FeatureNames, c.Name)
		enc := category{Offsets: []int{}, Values: []json.RawMessage{}}
		if c.Categories == nil {
			l.FeatureTypes = append(l.FeatureTypes, "float")
		} else {
			some = true
			l.FeatureTypes = append(l.FeatureTypes, "c")
			enc = encode(c.Categories)
		}
		m.Cats.Enc = append(m.Cats.Enc, enc)
		n := m.Cats.Segments[len(m.Cats.Segments)-1]
		m.Cats.Segments = append(m.Cats.Segments, n+len(c.Categories))
		m.Cats.Sorted = append(m.Cats.Sorted, order(c.Categories)...)
	}
	if !some {
		m.Cats = nil
	}
	by := make(map[int32]*interchange.Raw)
	of := make(map[int32]int)
	for i := range cols {
		by[cols[i].At], of[cols[i].At] = &cols[i], i
	}
	add := make([]float64, s.Outputs)
	copy(add, s.Base)
	share := 1.0
	if s.Mean {
		share = 1 / float64(len(s.Trees))
	}
	for i := range s.Trees {
		t := &s.Trees[i]
		for k := range t.Nodes {
			if _, ok := t.Nodes[k].Defaults(); !ok {
				return nil, pgerr.Unsupported("XGBoost has no trees in which 0 is missing")
			}
		}
		for offset := range s.Width {
			output := t.Output + offset
			m.Info = append(m.Info, output)
			m.Trees = append(m.Trees, written(t, i*s.Width+offset, s.Width, offset, share, add[output], by, of, len(cols)))
			add[output] = 0
		}
	}
	parallel := 1
	if s.Mean {
		parallel = len(s.Trees)
	}
	m.Param.Parallel, m.Param.Trees = text(strconv.Itoa(parallel)), text(strconv.Itoa(len(m.Trees)))
	for i := 0; i <= len(m.Trees); i += parallel * s.Outputs {
		m.Iterations = append(m.Iterations, i)
	}
	l.Booster = booster{Model: m, Name: "gbtree"}
	return json.Marshal(&out)
}

// written is a tree of the file; add is added to its leaves.
func written(t *shape.Tree, id, width, offset int, share, add float64, by map[int32]*interchange.Raw, of map[int32]int, features int) tree {
	n := len(t.Nodes)
	ints := func() []int { return make([]int, n) }
	out := tree{BaseWeights: make([]real, n), Categories: []int{}, CatNodes: []int{}, CatSegments: []int{}, CatSizes: []int{}, DefaultLeft: ints(), ID: id, Left: ints(),
		Gain: make([]real, n), Parents: ints(), Right: ints(), Conditions: make([]real, n), Indices: ints(), Types: ints(), Cover: make([]real, n),
		Param: treeParam{"0", text(strconv.Itoa(features)), text(strconv.Itoa(n)), "1"}}
	out.Parents[0] = math.MaxInt32
	for k := range t.Nodes {
		node := &t.Nodes[k]
		out.Cover[k] = real(node.Cover)
		if node.Feature == shape.Leaf {
			v := real(t.Values[k*width+offset]*share + add)
			out.Left[k], out.Right[k], out.Conditions[k], out.BaseWeights[k] = -1, -1, v, v
			continue
		}
		out.Left[k], out.Right[k], out.Gain[k], out.Indices[k] = int(node.Left), int(node.Right), real(node.Gain), of[node.Feature]
		out.Parents[node.Left], out.Parents[node.Right] = k, k
		miss, _ := node.Defaults()
		if node.Set == nil {
			out.Conditions[k] = real(below(node))
		} else {
			c := by[node.Feature]
			miss = c.NullGoesLeft(node)
			out.Types[k] = 1
			out.CatNodes, out.CatSegments = append(out.CatNodes, k), append(out.CatSegments, len(out.Categories))
			from := len(out.Categories)
			list := func(left bool) {
				for slot := range c.Categories {
					if node.Has(slot) == left {
						out.Categories = append(out.Categories, slot)
					}
				}
			}
			if list(false); len(out.Categories) == from { // of which there must be some: the sides change
				list(true)
				out.Left[k], out.Right[k], miss = out.Right[k], out.Left[k], !miss
			}
			out.CatSizes = append(out.CatSizes, len(out.Categories)-from)
		}
		if miss {
			out.DefaultLeft[k] = 1
		}
	}
	return out
}

// below returns the float32 below which a float32 goes left.
func below(n *shape.Node) float32 {
	v := n.Greatest32()
	if !(float64(v) < math.MaxFloat32) {
		return math.MaxFloat32
	}
	return math.Nextafter32(v, float32(math.Inf(1)))
}

// encode writes categories as the file has them.
func encode(names []string) category {
	c := category{Offsets: []int{0}, Values: []json.RawMessage{}}
	for _, n := range names {
		for i := range len(n) {
			c.Values = append(c.Values, json.RawMessage(strconv.Itoa(int(int8(n[i])))))
		}
		c.Offsets = append(c.Offsets, len(c.Values))
	}
	return c
}

// order returns the order of categories by their bytes, which are signed in XGBoost.
func order(names []string) []int {
	out := make([]int, len(names))
	for i := range out {
		out[i] = i
	}
	signed := make([][]int8, len(names))
	for i, n := range names {
		for k := range len(n) {
			signed[i] = append(signed[i], int8(n[k]))
		}
	}
	slices.SortStableFunc(out, func(i, j int) int { return slices.Compare(signed[i], signed[j]) })
	return out
}
