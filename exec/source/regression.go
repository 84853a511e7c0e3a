package source

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// newRegression is scikit-learn's make_regression: normal features, some of which determine the
// target by a random linear model.
func newRegression(_ *Sources, a *args) (table, error) {
	if !a.names("n_samples", "n_features", "n_informative", "n_targets", "bias", "effective_rank", "tail_strength", "noise", "shuffle",
		"random_state", "dtype") {
		return nil, a.err
	}
	n, features := a.int("n_samples", 100, 0, maxRows), int(a.int("n_features", 100, 1, maxColumns-1))
	inf := min(features, int(a.int("n_informative", 10, 0, maxColumns-1)))
	bias, noise, seed, t := a.float("bias", 0), a.float("noise", 0), a.seed("random_state"), a.dtype()
	shuffle := a.bool("shuffle", true)
	if a.err == nil && a.int("n_targets", 1, 1, 1000) != 1 {
		a.err = pgerr.Unsupported("make_regression with more than one target is not supported")
	}
	for _, name := range []string{"effective_rank", "tail_strength"} {
		if _, given := a.get(name); given && a.err == nil {
			a.err = pgerr.Unsupported("argument %q of make_regression is not supported", name)
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	s := newStream(seed, forParameters, 0)
	coef := make([]float64, features)
	for j := range inf {
		coef[j] = float64(100 * s.uniform())
	}
	if shuffle {
		place := shuffled(features, newStream(seed, forFeatures, 0))
		old := append([]float64(nil), coef...)
		for j, p := range place {
			coef[p] = old[j]
		}
	}
	make := func(b, from int64, n int, want []bool) []arrow.Array {
		out := make([]arrow.Array, features+1)
		y := make([]float64, n)
		for i := range y {
			y[i] = bias
		}
		for j := range features {
			use := want[features] && coef[j] != 0
			if !use && !want[j] {
				continue
			}
			x := normals(seed, uint64(j), b, n)
			if use {
				for i, v := range x {
					y[i] += float64(v * coef[j])
				}
			}
			if want[j] {
				out[j] = floats(t, x)
			}
		}
		if want[features] {
			if noise != 0 {
				for i, v := range normals(seed, forNoise, b, n) {
					y[i] += float64(v * noise)
				}
			}
			out[features] = floats(types.Float8, y)
		}
		return out
	}
	cols := append(featureColumns(features, t), plan.Column{Name: "y", Type: types.Float8})
	return &generator{cols: cols, n: n, make: make}, nil
}

// newBlobs is scikit-learn's make_blobs: round normal clusters. centers is how
// many, or their coordinates one after the other.
func newBlobs(_ *Sources, a *args) (table, error) {
	if !a.names("n_samples", "n_features", "centers", "cluster_std", "center_box", "shuffle", "random_state", "dtype") {
		return nil, a.err
	}
	n, features := a.int("n_samples", 100, 0, maxRows), int(a.int("n_features", 2, 1, maxColumns-1))
	seed, t, shuffle := a.seed("random_state"), a.dtype(), a.bool("shuffle", true)
	lo, hi := -10.0, 10.0
	if box := a.floats("center_box"); box != nil {
		if len(box) != 2 {
			a.bad("center_box", "must have two numbers")
		} else {
			lo, hi = min(box[0], box[1]), max(box[0], box[1])
		}
	}
	k, at := 3, []float64(nil)
	switch d, _ := a.get("centers"); d.(type) {
	case nil:
	case types.Array:
		if at = a.floats("centers"); len(at) == 0 || len(at)%features != 0 {
			a.bad("centers", "must have n_features numbers a center")
		}
		k = len(at) / features
	default:
		k = int(a.int("centers", 3, 1, 100000))
	}
	std := a.floats("cluster_std")
	if std == nil {
		std = []float64{1}
	}
	if a.err == nil && len(std) != 1 && len(std) != k {
		a.bad("cluster_std", "must have one number, or one a center")
	}
	if a.err != nil {
		return nil, a.err
	}
	if at == nil {
		s := newStream(seed, forParameters, 0)
		for range k * features {
			at = append(at, s.between(lo, hi))
		}
	}
	ord := newOrder(n, newStream(seed, forOrder, 0))
	// The first n mod k clusters have one row more.
	size, more := n/int64(k), n%int64(k)
	center := func(i int64) int64 {
		if shuffle {
			i = ord.at(i)
		}
		if i < more*(size+1) {
			return i / (size + 1)
		}
		return more + (i-more*(size+1))/size
	}
	make := func(b, from int64, n int, want []bool) []arrow.Array {
		out := make([]arrow.Array, features+1)
		y := make([]int64, n)
		for i := range y {
			y[i] = center(from + int64(i))
		}
		for j := range features {
			if !want[j] {
				continue
			}
			x := normals(seed, uint64(j), b, n)
			for i := range x {
				sd := std[0]
				if len(std) > 1 {
					sd = std[y[i]]
				}
				x[i] = at[int(y[i])*features+j] + float64(x[i]*sd)
			}
			out[j] = floats(t, x)
		}
		out[features] = ints(y)
		return out
	}
	cols := append(featureColumns(features, t), plan.Column{Name: "y", Type: types.Int8})
	return &generator{cols: cols, n: n, make: make}, nil
}
