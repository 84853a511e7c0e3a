package reduce

import "github.com/tributarydb/tributary/sql/pgerr"

// Node is a place in the tree.
type Node struct{ Level, Index int32 }

// Width is the number of nodes of a level of the tree over leaves leaves.
func Width(leaves, level int) int {
	for range level {
		leaves = (leaves + 1) / 2
	}
	return leaves
}

// Height is the level of the root.
func Height(leaves int) int {
	h := 0
	for leaves > 1 {
		leaves, h = (leaves+1)/2, h+1
	}
	return h
}

// Plan says where every node of a tree is merged. It is immutable.
type Plan struct {
	leaves int
	dest   int     // who wants the root's value
	homes  [][]int // by level and index
	whole  [][]bool
}

// NewPlan makes the plan for leaves with these owners (any numbers), slice 0
// being the only or first slice of the vector.
func NewPlan(owners []int, slice int) *Plan {
	p := &Plan{leaves: len(owners), homes: [][]int{owners}}
	whole := make([]bool, len(owners))
	for i := range whole {
		whole[i] = true
	}
	p.whole = append(p.whole, whole)
	for level := 0; len(p.homes[level]) > 1; level++ {
		below, wb := p.homes[level], p.whole[level]
		n := (len(below) + 1) / 2
		homes, whole := make([]int, n), make([]bool, n)
		for i := range n {
			l := 2 * i
			homes[i], whole[i] = below[l], wb[l]
			if r := l + 1; r < len(below) {
				if below[r] != below[l] && (slice>>(level%30))&1 != 0 {
					homes[i] = below[r]
				}
				whole[i] = wb[l] && wb[r] && below[l] == below[r]
			}
		}
		p.homes, p.whole = append(p.homes, homes), append(p.whole, whole)
	}
	if len(owners) > 0 {
		p.dest = p.Home(p.Root())
	}
	return p
}

// To has the root's value go to a worker, which else stays at the root's home.
func (p *Plan) To(worker int) *Plan {
	p.dest = worker
	return p
}

// Leaves is the number of leaves.
func (p *Plan) Leaves() int { return p.leaves }

// Root is the node whose value is the result.
func (p *Plan) Root() Node { return Node{Level: int32(len(p.homes) - 1)} }

// Home is the worker that merges n.
func (p *Plan) Home(n Node) int { return p.homes[n.Level][n.Index] }

// Valid tells whether n is a node of the tree.
func (p *Plan) Valid(n Node) bool {
	return n.Level >= 0 && int(n.Level) < len(p.homes) && n.Index >= 0 && int(n.Index) < len(p.homes[n.Level])
}

// Tops are the roots of the largest subtrees that worker owns wholly, in leaf
// order: what it can fold without hearing from others.
func (p *Plan) Tops(worker int) []Node {
	var tops []Node
	var walk func(n Node)
	walk = func(n Node) {
		if p.whole[n.Level][n.Index] {
			if p.Home(n) == worker {
				tops = append(tops, n)
			}
			return
		}
		l, r, two := p.children(n)
		walk(l)
		if two {
			walk(r)
		}
	}
	if p.leaves > 0 {
		walk(p.Root())
	}
	return tops
}

// LeavesUnder gives the leaves [from, to) below n.
func (p *Plan) LeavesUnder(n Node) (from, to int) {
	return int(n.Index) << n.Level, min((int(n.Index)+1)<<n.Level, p.leaves)
}

// children gives the one or two nodes that n merges.
func (p *Plan) children(n Node) (l, r Node, two bool) {
	l = Node{n.Level - 1, 2 * n.Index}
	r = Node{n.Level - 1, 2*n.Index + 1}
	return l, r, int(r.Index) < len(p.homes[n.Level-1])
}

func (p *Plan) parent(n Node) Node { return Node{n.Level + 1, n.Index / 2} }

// sibling is the other child of n's parent, if there is one.
func (p *Plan) sibling(n Node) (Node, bool) {
	s := Node{n.Level, n.Index ^ 1}
	return s, int(s.Index) < len(p.homes[n.Level])
}

// Merge gives the merged partial of a left and a right neighbour, which are
// given up to it.
type Merge[T any] func(left, right T) (T, error)

// Shipment is a partial on its way to the home of its parent.
type Shipment[T any] struct {
	To   int
	Node Node
	Data T
}

// Assembler is one worker's share of the merging of one reduction. It is for
// one goroutine at a time.
type Assembler[T any] struct {
	plan    *Plan
	worker  int
	merge   Merge[T]
	waiting map[Node]T
	seen    map[Node]bool
}

// NewAssembler makes the share of a worker.
func NewAssembler[T any](p *Plan, worker int, merge Merge[T]) *Assembler[T] {
	return &Assembler[T]{plan: p, worker: worker, merge: merge, waiting: map[Node]T{}, seen: map[Node]bool{}}
}

// Offer takes the partial of a node that was folded here or shipped here, in
// any order, and merges what can be merged. It returns the shipment that this
// made possible, whose To is this worker where the data are the root's value.
// The same node offered again is ignored: a sender may repeat itself.
func (a *Assembler[T]) Offer(n Node, data T) (ship *Shipment[T], err error) {
	if !a.plan.Valid(n) {
		return nil, pgerr.Internal("node (%d,%d) is not in a reduce tree of %d leaves", n.Level, n.Index, a.plan.leaves)
	}
	if a.seen[n] {
		return nil, nil
	}
	a.seen[n] = true
	for {
		if n == a.plan.Root() {
			return &Shipment[T]{To: a.plan.dest, Node: n, Data: data}, nil
		}
		up := a.plan.parent(n)
		if home := a.plan.Home(up); home != a.worker {
			return &Shipment[T]{To: home, Node: n, Data: data}, nil
		}
		if sib, ok := a.plan.sibling(n); ok {
			other, here := a.waiting[sib]
			if !here {
				a.waiting[n] = data
				return nil, nil
			}
			delete(a.waiting, sib)
			if sib.Index < n.Index {
				data, err = a.merge(other, data)
			} else {
				data, err = a.merge(data, other)
			}
			if err != nil {
				return nil, err
			}
		}
		n = up
		a.seen[n] = true
	}
}

// Fold merges the partials of consecutive leaves under one node in the tree's
// order. It is what a worker does with a subtree of its own, and with all
// leaves the reference that every placement must equal.
func Fold[T any](parts []T, merge Merge[T]) (out T, err error) {
	for len(parts) > 1 {
		next := make([]T, 0, (len(parts)+1)/2)
		for i := 0; i < len(parts); i += 2 {
			if i+1 == len(parts) {
				next = append(next, parts[i])
				continue
			}
			m, err := merge(parts[i], parts[i+1])
			if err != nil {
				return out, err
			}
			next = append(next, m)
		}
		parts = next
	}
	if len(parts) == 0 {
		return out, pgerr.Internal("nothing to fold")
	}
	return parts[0], nil
}

// Ranges gives each of the workers a run of leaves, as equal as can be: the
// placement that leaves the fewest merges between workers.
func Ranges(leaves int, workers []int) []int {
	owners := make([]int, leaves)
	for i := range owners {
		owners[i] = workers[i*len(workers)/leaves]
	}
	return owners
}
