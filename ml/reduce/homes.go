package reduce

import (
	"slices"
	"sync"
)

// homes are where the nodes whose leaves are of several workers are merged, slice by
// slice. Of all homes that a slice may have they cost least, where a link costs more
// the more it has carried: so no link has much to do while others have little, and
// what one boundary cuts does not cross it to and fro. Parameters on their way down do
// not count: they have all come when the first slice goes up, so what they left idle
// (the driver's way in) would be no sooner done with more to carry. Every worker finds
// the same ones.
type homes struct {
	once   sync.Once
	shared []sharedNode // children before their parents; the last is the root
	at     [][]int32    // by level and index, which of shared
	of     [][]int      // by slice, of each of shared
	mu     sync.Mutex
	in     []int // by worker, what has come over its link so far
	out    []int // and gone
}

type sharedNode struct {
	Node
	workers []int // that have leaves below
	cost    []int // by worker, as the home
}

// period is the slices after which homes repeat.
const period = 64

// list lists the shared nodes.
func (h *homes) list(p *Plan) {
	n := slices.Max(p.owns[0]) + 1
	h.in, h.out = make([]int, n), make([]int, n)
	for level, owns := range p.owns {
		at := make([]int32, len(owns))
		for i, of := range owns {
			if of != shared {
				continue
			}
			at[i] = int32(len(h.shared))
			n := Node{int32(level), int32(i)}
			var workers []int
			l, r, two := p.children(n)
			for _, c := range []Node{l, r} {
				if c == r && !two {
					continue
				}
				if of := p.owns[c.Level][c.Index]; of != shared {
					workers = append(workers, of)
				} else {
					workers = append(workers, h.shared[h.at[c.Level][c.Index]].workers...)
				}
			}
			slices.Sort(workers)
			workers = slices.Compact(workers)
			h.shared = append(h.shared, sharedNode{n, workers, make([]int, len(workers))})
		}
		h.at = append(h.at, at)
	}
}

// home returns that of a shared node in a slice.
func (h *homes) home(p *Plan, n Node) int {
	h.once.Do(func() { h.list(p) })
	slice := p.slice % period
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.of) <= slice {
		h.of = append(h.of, h.place(p))
	}
	return h.of[slice][h.at[n.Level][n.Index]]
}

// send is the cost of a slice on its way between two workers.
func (h *homes) send(from, to int) int {
	fifth := func(v int) int { return v * v * v * v * v }
	return fifth(h.out[from]+1) + fifth(h.in[to]+1)
}

// place finds the next slice's homes.
func (h *homes) place(p *Plan) []int {
	for k := range h.shared {
		s := &h.shared[k]
		for i, w := range s.workers {
			s.cost[i] = 0
			for _, c := range h.children(p, s.Node) {
				_, cost := h.best(p, c, w)
				s.cost[i] += cost
			}
		}
	}
	out := make([]int, len(h.shared))
	var walk func(n Node, to int)
	walk = func(n Node, to int) {
		from, _ := h.best(p, n, to)
		if from != to {
			h.out[from]++
			h.in[to]++
		}
		if p.owns[n.Level][n.Index] != shared {
			return
		}
		out[h.at[n.Level][n.Index]] = from
		for _, c := range h.children(p, n) {
			walk(c, from)
		}
	}
	walk(p.Root(), p.dest)
	return out
}

func (h *homes) children(p *Plan, n Node) []Node {
	l, r, two := p.children(n)
	if two {
		return []Node{l, r}
	}
	return []Node{l}
}

// best returns the home of a node whose value is wanted at a worker, and what that
// costs.
func (h *homes) best(p *Plan, n Node, to int) (home, cost int) {
	if of := p.owns[n.Level][n.Index]; of != shared {
		if of == to {
			return of, 0
		}
		return of, h.send(of, to)
	}
	s := &h.shared[h.at[n.Level][n.Index]]
	for i, w := range s.workers {
		c := s.cost[i]
		if w != to {
			c += h.send(w, to)
		}
		if i == 0 || c < cost {
			home, cost = w, c
		}
	}
	return home, cost
}
