package graph

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/shape"
)

// ensemble is what TreeEnsembleRegressor and TreeEnsembleClassifier hold.
type ensemble struct {
	trees shape.Trees
	last  int    // the last column that trees split by
	how   string // the aggregate function
	after func([]float64)
}

// readEnsemble reads the parallel lists of nodes. leaves is the prefix of the leaves' lists: target or class.
func readEnsemble(a attrs, leaves string, outputs int) (*ensemble, error) {
	ids, nodes, modes := a.ints("nodes_treeids"), a.ints("nodes_nodeids"), a.texts("nodes_modes")
	features, values := a.ints("nodes_featureids"), a.floats("nodes_values")
	yes, no, missing, cover := a.ints("nodes_truenodeids"), a.ints("nodes_falsenodeids"), a.ints("nodes_missing_value_tracks_true"), a.floats("nodes_hitrates")
	n := len(ids)
	if n == 0 || len(nodes) != n || len(modes) != n || len(features) != n || len(values) != n || len(yes) != n || len(no) != n || len(missing) != n && len(missing) != 0 {
		return nil, problem("the lists of its nodes differ in length")
	}
	type place struct{ tree, node int64 }
	at := make(map[place]int, n)
	var roots []int
	seen := map[int64]bool{}
	for i := range n {
		p := place{ids[i], nodes[i]}
		if _, twice := at[p]; twice {
			return nil, problemf("tree %d has two nodes %d", p.tree, p.node)
		}
		at[p] = i
		if !seen[ids[i]] {
			seen[ids[i]] = true
			roots = append(roots, i)
		}
	}
	// The values of leaves: one for each output that they have something for.
	leafTrees, leafNodes, leafOutputs, weights := a.ints(leaves+"_treeids"), a.ints(leaves+"_nodeids"), a.ints(leaves+"_ids"), a.floats(leaves+"_weights")
	if m := len(weights); len(leafTrees) != m || len(leafNodes) != m || len(leafOutputs) != m {
		return nil, problem("the lists of its leaves differ in length")
	}
	e := &ensemble{trees: shape.Trees{Outputs: outputs, Width: outputs, Base: make([]float64, outputs)}, how: a.text("aggregate_function", "SUM")}
	if outputs > 1<<12 || n > (1<<22+64*len(weights))/outputs {
		return nil, problem("it is too large")
	}
	value := map[int][]float64{}
	for i, w := range weights {
		k, ok := at[place{leafTrees[i], leafNodes[i]}]
		if !ok || leafOutputs[i] < 0 || leafOutputs[i] >= int64(outputs) {
			return nil, problem("a leaf is not there")
		}
		if value[k] == nil {
			value[k] = make([]float64, outputs)
		}
		value[k][leafOutputs[i]] += w
	}
	if base := a.floats("base_values"); len(base) == outputs {
		copy(e.trees.Base, base)
	} else if len(base) != 0 {
		return nil, problem("its base values are not as many as its outputs")
	}
	zeros := make([]float64, outputs)
	for _, root := range roots {
		t, ok, err := shape.Grow(root, n, func(i int) (shape.Raw, error) {
			r := shape.Raw{Value: zeros}
			r.Feature = shape.Leaf
			if i < len(cover) {
				r.Cover = cover[i]
			}
			if modes[i] == "LEAF" {
				if v := value[i]; v != nil {
					r.Value = v
				}
				return r, nil
			}
			if features[i] < 0 || features[i] > math.MaxInt32 || values[i] != values[i] {
				return r, problem("a node compares with nothing")
			}
			r.Feature, r.Threshold = int32(features[i]), values[i]
			e.last = max(e.last, int(features[i]))
			miss := len(missing) > 0 && missing[i] != 0
			l, okL := at[place{ids[i], yes[i]}]
			f, okF := at[place{ids[i], no[i]}]
			if !okL || !okF {
				return r, problem("a node has no child")
			}
			switch modes[i] {
			case "BRANCH_LEQ":
			case "BRANCH_LT":
				r.Strict = true
			case "BRANCH_GT": // the other way about
				l, f, miss = f, l, !miss
			case "BRANCH_GTE":
				l, f, miss, r.Strict = f, l, !miss, true
			default:
				return r, problemf("mode %s is not supported", modes[i])
			}
			r.Left, r.Right, r.MissLeft = l, f, miss
			return r, nil
		})
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, problem("its nodes form no trees")
		}
		e.trees.Trees = append(e.trees.Trees, t)
	}
	switch e.how {
	case "SUM", "AVERAGE":
		e.trees.Mean = e.how == "AVERAGE"
	default:
		return nil, problemf("aggregate function %s is not supported", e.how)
	}
	var err error
	e.after, err = post(a)
	return e, err
}

// scores computes the sums of rows.
func (e *ensemble) scores(t *Tensor) ([]float64, int, error) {
	n, width, err := matrix(t)
	if err != nil {
		return nil, 0, err
	}
	if e.last >= width {
		return nil, 0, problemf("it has %d columns, and trees that split by column %d", width, e.last)
	}
	out := make([]float64, n*e.trees.Outputs)
	for i := range n {
		e.trees.Margins(shape.Row{X: t.Num[i*width:][:width]}, out[i*e.trees.Outputs:][:e.trees.Outputs])
	}
	return out, n, nil
}

func treeRegressor(a attrs, _ *Node) (operator, error) {
	outputs := a.integer("n_targets", 1)
	if outputs < 1 || outputs > 1<<12 {
		return nil, problemf("it has %d targets", outputs)
	}
	e, err := readEnsemble(a, "target", int(outputs))
	if err != nil {
		return nil, err
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		z, n, err := e.scores(in[0])
		if err != nil {
			return nil, err
		}
		for i := range n {
			e.after(z[i*int(outputs):][:outputs])
		}
		return (&Tensor{Kind: F32, Dims: []int{n, int(outputs)}, Num: z}).round(), nil
	}), nil
}

// treeClassifier: where all leaves are of one class of two, a score stands for both.
func treeClassifier(a attrs, _ *Node) (operator, error) {
	classes := labels(a)
	if classes == nil || classes.Len() < 1 || classes.Len() > 1<<12 {
		return nil, problem("it has no classes")
	}
	outputs := classes.Len()
	alone := int64(-1)
	if outputs == 2 {
		for i, c := range a.ints("class_ids") {
			if i > 0 && c != alone {
				alone = -1
				break
			}
			alone = c
		}
	}
	name := a.text("post_transform", "NONE")
	if alone >= 0 {
		ids := make([]int64, len(a.ints("class_ids")))
		one := attrs{}
		for k, v := range a {
			one[k] = v
		}
		one["class_ids"] = &Attr{Ints: ids}
		if b := a.floats("base_values"); len(b) == 2 {
			one["base_values"], one["base_values_as_tensor"] = &Attr{Floats: b[alone : alone+1]}, nil
		}
		a, outputs = one, 1
	}
	e, err := readEnsemble(a, "class", outputs)
	if err != nil {
		return nil, err
	}
	positive := true // all weights are: scores are probabilities
	for _, w := range a.floats("class_weights") {
		positive = positive && w >= 0
	}
	return func(in []*Tensor) ([]*Tensor, error) {
		if len(in) < 1 || in[0] == nil {
			return nil, problem("an input is missing")
		}
		z, n, err := e.scores(in[0])
		if err != nil {
			return nil, err
		}
		return classify(classes, F32, n, outputs, z, e.after, func(v float64) ([2]float64, bool) {
			switch {
			case name == "LOGISTIC":
				p := f64.Sigmoid1(v)
				return [2]float64{1 - p, p}, v > 0
			case positive:
				return [2]float64{1 - v, v}, v > 0.5
			}
			return [2]float64{-v, v}, v > 0
		})
	}, nil
}

func init() {
	add(map[string]compiler{ml + "TreeEnsembleRegressor": treeRegressor, ml + "TreeEnsembleClassifier": treeClassifier})
}
