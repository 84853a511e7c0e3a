package reduce

import (
	"fmt"
	"slices"
	"testing"
)

// links counts what is sent over the network links between nodes, in vectors.
type links struct {
	in, out []float64
	depth   int // the length of the longest chain of messages
}

func (l *links) send(from, to int, vectors float64) {
	l.out[from] += vectors
	l.in[to] += vectors
}

func (l *links) busiest() (most float64) {
	for i := range l.in {
		most = max(most, l.in[i], l.out[i])
	}
	return most
}

// since returns the difference to an earlier count.
func (l *links) since(before *links) *links {
	d := &links{in: slices.Clone(l.in), out: slices.Clone(l.out)}
	for i := range d.in {
		d.in[i] -= before.in[i]
		d.out[i] -= before.out[i]
	}
	return d
}

// load is a partial that counts the messages it was made of.
type load struct{ depth int }

// iteration simulates one iteration: parameters are broadcast to n nodes, which own these leaves,
// and partials are reduced in so many slices. It returns all traffic, and that of the reduction
// alone.
func iteration(t *testing.T, n int, owners []int, parts int, gather bool) (all, rise *links) {
	t.Helper()
	l := &links{in: make([]float64, n), out: make([]float64, n)}
	stripes := Stripes
	if gather {
		stripes = 1
	}
	down := 0
	for s := range stripes {
		reached := make([]int, n)
		var visit func(at, depth int)
		visit = func(at, depth int) {
			reached[at]++
			down = max(down, depth)
			children := Children(n, s, at)
			if gather {
				children = Star(n, at)
			}
			for _, c := range children {
				l.send(at, c, 1/float64(stripes))
				visit(c, depth+1)
			}
		}
		visit(0, 0)
		for at, times := range reached {
			if times != 1 {
				t.Fatalf("%d nodes: stripe %d comes %d times to %d", n, s, times, at)
			}
		}
	}
	base := NewPlan(owners).To(0)
	if gather {
		base = base.Gather(0)
	}
	up, before := 0, &links{in: slices.Clone(l.in), out: slices.Clone(l.out)}
	for s := range parts {
		p := base.Slice(s)
		merge := func(a, b *load) (*load, error) { return &load{max(a.depth, b.depth)}, nil }
		asm := make([]*Assembler[*load], n)
		var inbox []Shipment[*load]
		for w := range n {
			asm[w] = NewAssembler(p, w, merge)
			for _, top := range p.Tops(w) {
				inbox = append(inbox, Shipment[*load]{w, top, &load{}})
			}
		}
		ended := false
		for len(inbox) > 0 {
			m := inbox[0]
			inbox = inbox[1:]
			ship, err := asm[m.To].Offer(m.Node, m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if ship == nil {
				continue
			}
			if ship.Node == p.Root() && m.To == 0 {
				ended, up = true, max(up, ship.Data.depth)
				continue
			}
			l.send(m.To, ship.To, 1/float64(parts))
			ship.Data.depth++
			inbox = append(inbox, *ship)
		}
		if !ended {
			t.Fatalf("%d nodes: slice %d has no sum", n, s)
		}
	}
	l.depth = down + up
	return l, l.since(before)
}

func nodes(n int) []int { return numbers(0, n-1) }

func numbers(from, to int) (out []int) {
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

// TestLinks: in an iteration a long vector is sent over each link at most three times, in either
// direction, however many nodes there are, and a message takes as many hops as the trees are high.
// In the reduction (which begins after the broadcast) sums are sent over a link at most twice, and
// little more than once where each node owns one subtree. Gathering instead sends as many vectors
// as there are nodes, or leaves.
func TestLinks(t *testing.T) {
	for _, n := range numbers(2, 64) {
		high := 2
		for 1<<(high-2) < n {
			high++
		}
		for _, c := range []struct {
			what   string
			owners []int
		}{
			{"nodes", nodes(n)},
			{"leaves", Place(256, nodes(n))},
			{"few leaves", Place(64, nodes(n))},
			{"many leaves", Place(4096, nodes(n))},
		} {
			t.Run(fmt.Sprint(n, c.what), func(t *testing.T) {
				tree, up := iteration(t, n, c.owners, 64, false)
				gather, _ := iteration(t, n, c.owners, 1, true)
				t.Logf("busiest link: tree %.2f vectors, %.2f up, gather %.2f; driver %.2f in, %.2f out; depth %d", tree.busiest(), up.busiest(), gather.busiest(), tree.in[0], tree.out[0], tree.depth)
				most := 2.0
				if len(c.owners) == n {
					most = 1.2
				}
				if up.busiest() > most {
					t.Errorf("a link carries %.2f vectors one way while sums go up", up.busiest())
				}
				if tree.busiest() > 3 {
					t.Errorf("a link carries %.2f vectors one way", tree.busiest())
				}
				if tree.depth > 2*high {
					t.Errorf("a chain of %d messages", tree.depth)
				}
				if want := float64(len(c.owners) - len(c.owners)/n); gather.in[0] < 0.9*want || gather.out[0] != float64(n-1) {
					t.Errorf("gathering, the driver is sent %.2f vectors and sends %.2f", gather.in[0], gather.out[0])
				}
			})
		}
	}
}

// TestPlace: each worker owns at most two subtrees, at most a third more leaves than its share (or
// the share rounded up), and at least half of it.
func TestPlace(t *testing.T) {
	for leaves := 1; leaves <= 4096; leaves *= 2 {
		for n := 1; n <= 70; n++ {
			owners := Place(leaves, nodes(n))
			counts := make([]int, n)
			for _, w := range owners {
				counts[w]++
			}
			p := NewPlan(owners)
			for w, c := range counts {
				if c > max((leaves+n-1)/n, leaves*4/(3*n)) || c < leaves/(2*n) {
					t.Fatalf("%d leaves on %d: worker %d has %d", leaves, n, w, c)
				}
				if tops := len(p.Tops(w)); tops > 2 {
					t.Fatalf("%d leaves on %d: worker %d has %d subtrees", leaves, n, w, tops)
				}
			}
		}
	}
}

// Tops returns the roots of the largest subtrees that worker owns completely, in leaf
// order: what it can fold without input from others.
func (p *Plan) Tops(worker int) []Node {
	var tops []Node
	var walk func(n Node)
	walk = func(n Node) {
		if of := p.owns[n.Level][n.Index]; of != shared {
			if of == worker {
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
