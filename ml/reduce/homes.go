package reduce

import (
	"slices"
	"sync"
)

// homes chooses where the nodes whose leaves belong to several workers are merged,
// slice by slice. A slice gets the homes of least cost, where the cost of a link grows
// with what it has been assigned already: so the links are loaded evenly, and a value
// does not cross a boundary back and forth. Broadcasts are not counted: they are
// complete when the first slice goes up. Every worker computes the same homes.
type homes struct {
	once   sync.Once
	shared []sharedNode // children before parents; the last is the root
	at     [][]int32    // by level and index, the index in shared
	of     [][]int      // by slice, the home of each of shared
	mu     sync.Mutex
	in     []int // by worker, slices assigned to its incoming link so far
	out    []int // and to its outgoing link
}

type sharedNode struct {
	Node
	workers []int // workers that have leaves below
	cost    []int // by worker, if it were the home
}

// period is the number of slices after which homes repeat.
const period = 64

// list collects the shared nodes.
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

// home returns the home of a shared node in a slice.
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

// send returns the cost of sending a slice between two workers.
func (h *homes) send(from, to int) int {
	fifth := func(v int) int { return v * v * v * v * v }
	return fifth(h.out[from]+1) + fifth(h.in[to]+1)
}

// place computes the next slice's homes.
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

// best returns the cheapest home of a node whose value is needed at worker to, and its
// cost.
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
