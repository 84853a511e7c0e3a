package shape

// The elements of TreeSHAP (Lundberg et al., "From local explanations to global understanding with
// explainable AI for trees", 2020, algorithm 2), for whatever holds trees.

// Met is an element of the algorithm's path: a player, the share of rows that follow the path if it is
// unknown (zero fraction), whether this row does if it is known (one fraction), and the weight of the
// subsets of this size.
type Met struct {
	Player            int
	Zero, One, weight float64
}

// Extend is EXTEND: it adds a step to a path.
func Extend(path []Met, by Met) []Met {
	d := len(path)
	by.weight = 0
	if d == 0 {
		by.weight = 1
	}
	path = append(path, by)
	for i := d - 1; i >= 0; i-- {
		path[i+1].weight += by.One * path[i].weight * float64(i+1) / float64(d+1)
		path[i].weight = by.Zero * path[i].weight * float64(d-i) / float64(d+1)
	}
	return path
}

// Unwind is UNWIND: it removes step k of a path.
func Unwind(path []Met, k int) []Met {
	d := len(path) - 1
	zero, one := path[k].Zero, path[k].One
	next := path[d].weight
	for i := d - 1; i >= 0; i-- {
		if one != 0 {
			w := path[i].weight
			path[i].weight = next * float64(d+1) / (float64(i+1) * one)
			next = w - path[i].weight*zero*float64(d-i)/float64(d+1)
		} else {
			path[i].weight = path[i].weight * float64(d+1) / (zero * float64(d-i))
		}
	}
	for i := k; i < d; i++ {
		path[i].Player, path[i].Zero, path[i].One = path[i+1].Player, path[i+1].Zero, path[i+1].One
	}
	return path[:d]
}

// Unwound is the sum of a path's weights without step k.
func Unwound(path []Met, k int) float64 {
	d := len(path) - 1
	zero, one := path[k].Zero, path[k].One
	next, total := path[d].weight, 0.0
	for i := d - 1; i >= 0; i-- {
		if one != 0 {
			w := next * float64(d+1) / (float64(i+1) * one)
			total += w
			next = path[i].weight - w*zero*float64(d-i)/float64(d+1)
		} else {
			total += path[i].weight * float64(d+1) / (zero * float64(d-i))
		}
	}
	return total
}

// Shapley adds to phi the Shapley values of the players of[feature] in a tree's value with this offset
// (of Width), for a row. Covers say what share of rows goes each way; where there are none, half.
func (t *Tree) Shapley(r Row, width, offset int, of []int, phi []float64) {
	g := &explained{t: t, r: r, width: width, offset: offset, of: of, phi: phi}
	g.walk(0, nil, Met{Player: -1, Zero: 1, One: 1})
}

type explained struct {
	t             *Tree
	r             Row
	width, offset int
	of            []int
	phi           []float64
}

// walk is RECURSE: it visits all leaves below a node, by being the step that led to it.
func (g *explained) walk(at int32, path []Met, by Met) {
	path = Extend(path, by)
	n := &g.t.Nodes[at]
	if n.Feature == Leaf {
		v := g.t.Values[int(at)*g.width+g.offset]
		for i := 1; i < len(path); i++ {
			g.phi[path[i].Player] += Unwound(path, i) * (path[i].One - path[i].Zero) * v
		}
		return
	}
	hot, cold := n.Left, n.Right
	if !n.left(g.r) {
		hot, cold = cold, hot
	}
	next := Met{Player: g.of[n.Feature], Zero: 1, One: 1}
	for i := 1; i < len(path); i++ {
		if path[i].Player == next.Player {
			next = path[i]
			path = Unwind(path, i)
			break
		}
	}
	zero, one := next.Zero, next.One
	for _, child := range [2]int32{hot, cold} {
		next.Zero, next.One = zero*g.t.share(n, child), one
		if child == cold {
			next.One = 0
		}
		g.walk(child, append([]Met(nil), path...), next)
	}
}

// share is the part of a node's rows that went to a child.
func (t *Tree) share(n *Node, child int32) float64 {
	a, b := t.Nodes[n.Left].Cover, t.Nodes[n.Right].Cover
	if !(a+b > 0) {
		return 0.5
	}
	return t.Nodes[child].Cover / (a + b)
}

// Expected is the mean of a tree's values over the rows that covers count.
func (t *Tree) Expected(width, offset int) float64 {
	share := make([]float64, len(t.Nodes))
	share[0] = 1
	sum := 0.0
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Feature == Leaf {
			sum += share[i] * t.Values[i*width+offset]
			continue
		}
		for _, c := range [2]int32{n.Left, n.Right} {
			share[c] = share[i] * t.share(n, c)
		}
	}
	return sum
}
