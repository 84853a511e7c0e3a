package reduce

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Node is a place in the tree.
type Node struct{ Level, Index int32 }

// Height returns the level of the root.
func Height(leaves int) int {
	h := 0
	for leaves > 1 {
		leaves, h = (leaves+1)/2, h+1
	}
	return h
}

// Plan determines where every node of a tree is merged. It is immutable.
type Plan struct {
	leaves int
	owns   [][]int // by level and index: the owner of all leaves below, or shared
	dest   int     // destination of the root's value
	slice  int
	mixed  mixed
	homes  *homes
}

// mixed is how a plan chooses the home of a node whose leaves belong to several
// workers.
type mixed uint8

const (
	atOwner mixed = iota // a worker that has leaves below, chosen by slice
	atDest               // the destination of the root's value
	nowhere
)

const (
	shared = -1
	// Nobody is the home of what is not merged, in a Local plan.
	Nobody = -2
)

// NewPlan returns the plan for leaves with these owners, which are not negative, and
// the only or the first slice of a vector.
func NewPlan(owners []int) *Plan {
	p := &Plan{leaves: len(owners), owns: [][]int{owners}}
	for level := 0; len(p.owns[level]) > 1; level++ {
		below := p.owns[level]
		owns := make([]int, (len(below)+1)/2)
		for i := range owns {
			owns[i] = below[2*i]
			if r := 2*i + 1; r < len(below) && below[r] != below[2*i] {
				owns[i] = shared
			}
		}
		p.owns = append(p.owns, owns)
	}
	if len(owners) > 0 {
		p.dest, p.homes = owners[0], &homes{}
	}
	return p
}

// To sends the root's value to a worker; by default it stays at the root's home.
func (p *Plan) To(worker int) *Plan {
	q := *p
	q.dest, q.homes = worker, &homes{}
	return &q
}

// Slice returns the plan of a slice of the vector: the same tree with other homes.
func (p *Plan) Slice(n int) *Plan {
	q := *p
	q.slice = n
	return &q
}

// Gather returns the plan in which one worker receives every leaf and merges them all.
func (p *Plan) Gather(worker int) *Plan {
	q := *p
	q.dest, q.mixed = worker, atDest
	q.owns = [][]int{p.owns[0]}
	for _, level := range p.owns[1:] {
		q.owns = append(q.owns, slices.Repeat([]int{shared}, len(level)))
	}
	return &q
}

// Local returns the plan of what a worker merges without input from others: everything
// else is shipped to Nobody.
func (p *Plan) Local() *Plan {
	q := *p
	q.mixed = nowhere
	return &q
}

// Leaves returns the number of leaves.
func (p *Plan) Leaves() int { return p.leaves }

// Root returns the node whose value is the result.
func (p *Plan) Root() Node { return Node{Level: int32(len(p.owns) - 1)} }

// Home returns the worker that merges n: the owner of all leaves below, or one of the
// owners of some, as is best for the slice (homes).
func (p *Plan) Home(n Node) int {
	if of := p.owns[n.Level][n.Index]; of != shared {
		return of
	}
	switch p.mixed {
	case atDest:
		return p.dest
	case nowhere:
		return Nobody
	}
	return p.homes.home(p, n)
}

// Valid reports whether n is a node of the tree.
func (p *Plan) Valid(n Node) bool {
	return n.Level >= 0 && int(n.Level) < len(p.owns) && n.Index >= 0 && int(n.Index) < len(p.owns[n.Level])
}

// children returns the one or two nodes that n merges.
func (p *Plan) children(n Node) (l, r Node, two bool) {
	l = Node{n.Level - 1, 2 * n.Index}
	r = Node{n.Level - 1, 2*n.Index + 1}
	return l, r, int(r.Index) < len(p.owns[n.Level-1])
}

func (p *Plan) parent(n Node) Node { return Node{n.Level + 1, n.Index / 2} }

// sibling returns the other child of n's parent, if there is one.
func (p *Plan) sibling(n Node) (Node, bool) {
	s := Node{n.Level, n.Index ^ 1}
	return s, int(s.Index) < len(p.owns[n.Level])
}

// Merge returns the merged partial of a left and a right neighbour, of which it takes
// ownership.
type Merge[T any] func(left, right T) (T, error)

// Shipment is a partial to be sent to the home of its parent.
type Shipment[T any] struct {
	To   int
	Node Node
	Data T
}

// Assembler does one worker's part of the merging in one reduction. It is for one
// goroutine at a time.
type Assembler[T any] struct {
	plan    *Plan
	worker  int
	merge   Merge[T]
	waiting map[Node]T
	seen    map[Node]bool
}

// NewAssembler makes the Assembler of a worker.
func NewAssembler[T any](p *Plan, worker int, merge Merge[T]) *Assembler[T] {
	return &Assembler[T]{plan: p, worker: worker, merge: merge, waiting: map[Node]T{}, seen: map[Node]bool{}}
}

// Offer adds the partial of a node that was folded here or shipped here, in any order,
// and merges what can be merged. It returns the resulting shipment, if any, whose To is
// this worker where the data are the root's value. The same node offered again is
// ignored: a sender may repeat itself.
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

// Fold merges the partials of consecutive leaves under one node in the tree's order. A
// worker does this with its own subtrees; over all leaves it is the reference that
// every placement must equal.
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
