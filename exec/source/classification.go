package source

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// classification is scikit-learn's make_classification: normal clusters around
// vertices of a hypercube, each with its own linear mix of the informative
// features; redundant features are combinations of those, repeated ones copies
// and the rest noise.
type classification struct {
	seed                             uint64
	features, inf, red, rep, classes int
	flip                             float64
	shift, scale                     []float64
	centers                          [][]float64 // by cluster
	mixes                            [][]float64 // by cluster: inf columns of inf numbers
	redundant                        []float64   // red columns of inf numbers
	repeated                         []int
	place                            []int   // of each made feature, which column it becomes
	ends                             []int64 // by cluster: its last row, exclusive
	order                            order
	shuffle                          bool
	t                                types.Type
}

func newClassification(_ *Sources, a *args) (table, error) {
	if !a.names("n_samples", "n_features", "n_informative", "n_redundant", "n_repeated", "n_classes", "n_clusters_per_class", "weights",
		"flip_y", "class_sep", "hypercube", "shift", "scale", "shuffle", "random_state", "dtype") {
		return nil, a.err
	}
	n := a.int("n_samples", 100, 0, maxRows)
	c := &classification{
		seed: a.seed("random_state"), features: int(a.int("n_features", 20, 1, maxColumns-1)), inf: int(a.int("n_informative", 2, 1, maxColumns-1)),
		red: int(a.int("n_redundant", 2, 0, maxColumns-1)), rep: int(a.int("n_repeated", 0, 0, maxColumns-1)),
		classes: int(a.int("n_classes", 2, 1, 10000)), flip: a.float("flip_y", 0.01), shuffle: a.bool("shuffle", true), t: a.dtype(),
	}
	per := int(a.int("n_clusters_per_class", 2, 1, 1000))
	sep, cube := a.float("class_sep", 1), a.bool("hypercube", true)
	weights := a.floats("weights")
	if a.err != nil {
		return nil, a.err
	}
	clusters := c.classes * per
	switch {
	case c.inf+c.red+c.rep > c.features:
		a.bad("n_features", "must not be less than the sum of the informative, redundant and repeated features")
	case c.inf < 31 && clusters > 1<<c.inf:
		a.bad("n_classes", "times n_clusters_per_class must be smaller or equal 2**n_informative = %d", 1<<c.inf)
	case weights != nil && len(weights) != c.classes && len(weights) != c.classes-1:
		a.bad("weights", "must have one number a class")
	case c.flip < 0 || c.flip > 1:
		a.bad("flip_y", "must be between 0 and 1")
	}
	if a.err != nil {
		return nil, a.err
	}
	c.sizes(n, per, weights)
	s := newStream(c.seed, forParameters, 0)
	c.parameters(s, clusters, sep, cube)
	c.shift, c.scale = perFeature(a, "shift", 0, c.features, func() float64 { return float64((float64(2*s.uniform()) - 1) * sep) }),
		perFeature(a, "scale", 1, c.features, func() float64 { return 1 + float64(100*s.uniform()) })
	c.place = make([]int, c.features)
	for i := range c.place {
		c.place[i] = i
	}
	if c.shuffle {
		c.place = shuffled(c.features, newStream(c.seed, forFeatures, 0))
	}
	c.order = newOrder(n, newStream(c.seed, forOrder, 0))
	cols := append(featureColumns(c.features, c.t), plan.Column{Name: "y", Type: types.Int8})
	return &generator{cols: cols, n: n, make: c.make}, a.err
}

// perFeature reads shift or scale: a number for all features, one for each, or
// NULL for random ones.
func perFeature(a *args, name string, def float64, n int, random func() float64) []float64 {
	out := make([]float64, n)
	given := a.floats(name)
	null := false
	for _, p := range a.list {
		null = null || p.Name == name && p.Val == nil
	}
	for i := range out {
		switch {
		case null:
			out[i] = random()
		case given == nil:
			out[i] = def
		case len(given) == 1:
			out[i] = given[0]
		case len(given) == n:
			out[i] = given[i]
		default:
			a.bad(name, "must have one number, or one a feature")
		}
	}
	return out
}

// sizes divides the rows among the clusters as scikit-learn does.
func (c *classification) sizes(n int64, per int, weights []float64) {
	if weights == nil {
		for range c.classes {
			weights = append(weights, 1/float64(c.classes))
		}
	}
	if len(weights) == c.classes-1 {
		rest := 1.0
		for _, w := range weights {
			rest -= w
		}
		weights = append(append([]float64(nil), weights...), rest)
	}
	clusters := c.classes * per
	size := make([]int64, clusters)
	left := n
	for k := range size {
		size[k] = min(left, max(0, int64(float64(float64(n)*weights[k%c.classes])/float64(per))))
		left -= size[k]
	}
	end := int64(0)
	for k := range size {
		size[k] += left / int64(clusters)
		if int64(k) < left%int64(clusters) {
			size[k]++
		}
		end += size[k]
		c.ends = append(c.ends, end)
	}
}

func (c *classification) parameters(s *stream, clusters int, sep float64, cube bool) {
	vertices := newOrder(1<<min(c.inf, 40), s)
	for k := range clusters {
		v := vertices.at(int64(k))
		center := make([]float64, c.inf)
		for j := range center {
			center[j] = -sep
			bit := v >> min(j, 62) & 1
			if j >= 40 {
				bit = s.below(2)
			}
			if bit == 1 {
				center[j] = sep
			}
		}
		if !cube {
			f := s.uniform()
			for j := range center {
				center[j] *= f
			}
		}
		c.centers = append(c.centers, center)
	}
	if !cube {
		for j := range c.inf {
			f := s.uniform()
			for k := range c.centers {
				c.centers[k][j] *= f
			}
		}
	}
	matrix := func(n int) []float64 {
		m := make([]float64, n)
		for i := range m {
			m[i] = float64(2*s.uniform()) - 1
		}
		return m
	}
	for range clusters {
		c.mixes = append(c.mixes, matrix(c.inf*c.inf))
	}
	c.redundant = matrix(c.red * c.inf)
	for range c.rep {
		c.repeated = append(c.repeated, int(s.below(int64(c.inf+c.red))))
	}
}

// cluster finds the cluster of row i.
func (c *classification) cluster(i int64) int {
	if c.shuffle {
		i = c.order.at(i)
	}
	k := 0
	for k < len(c.ends)-1 && i >= c.ends[k] {
		k++
	}
	return k
}

func (c *classification) make(b, from int64, n int, want []bool) []arrow.Array {
	out := make([]arrow.Array, c.features+1)
	cluster := make([]int, n)
	for i := range cluster {
		cluster[i] = c.cluster(from + int64(i))
	}
	if want[c.features] {
		y := make([]int64, n)
		s := newStream(c.seed, forLabels, uint64(b))
		for i := range y {
			y[i] = int64(cluster[i] % c.classes)
			flip, other := s.uniform() < c.flip, s.below(int64(c.classes))
			if flip {
				y[i] = other
			}
		}
		out[c.features] = ints(y)
	}
	// made[j] is feature j before the columns are shuffled.
	needed := func(j int) bool { return want[c.place[j]] }
	made := make([][]float64, c.features)
	deep := false
	for j := 0; j < c.inf+c.red+c.rep; j++ {
		deep = deep || needed(j)
	}
	if deep {
		raw := make([][]float64, c.inf)
		for j := range raw {
			raw[j] = normals(c.seed, uint64(j), b, n)
			made[j] = make([]float64, n)
		}
		row, mixed := make([]float64, c.inf), make([]float64, c.inf)
		for j := range c.red {
			made[c.inf+j] = make([]float64, n)
		}
		for i := range n {
			for j := range raw {
				row[j] = raw[j][i]
			}
			k := cluster[i]
			for j := range c.inf {
				mixed[j] = dot(row, c.mixes[k][j*c.inf:(j+1)*c.inf]) + c.centers[k][j]
				made[j][i] = mixed[j]
			}
			for j := range c.red {
				made[c.inf+j][i] = dot(mixed, c.redundant[j*c.inf:(j+1)*c.inf])
			}
		}
		for j, of := range c.repeated {
			made[c.inf+c.red+j] = made[of]
		}
	}
	for j := range made {
		if !needed(j) {
			continue
		}
		if j >= c.inf+c.red+c.rep {
			made[j] = normals(c.seed, uint64(j), b, n)
		}
		col, shift, scale := make([]float64, n), c.shift[j], c.scale[j]
		for i, v := range made[j] {
			col[i] = float64((v + shift) * scale)
		}
		out[c.place[j]] = floats(c.t, col)
	}
	return out
}
