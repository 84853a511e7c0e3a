package reduce

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

func someSums(r *rand.Rand, n int) *Sums {
	s := &Sums{Rows: int64(r.IntN(100)), Weight: r.Float64() * 1e6, Loss: r.NormFloat64(), Vec: make([]float64, n)}
	for i := range s.Vec {
		s.Vec[i] = r.NormFloat64() * []float64{1e-9, 1, 1e9}[r.IntN(3)]
	}
	return s
}

// clones copies partials, since a merge changes them.
func clones(sums []*Sums) []*Sums {
	out := make([]*Sums, len(sums))
	for i, s := range sums {
		c := *s
		c.Vec = slices.Clone(s.Vec)
		out[i] = &c
	}
	return out
}

func encoded(s *Sums) []byte {
	var e canon.E
	s.Encode(&e)
	return e.B
}

// reduceOver simulates a reduction whose partials arrive in random order, some of them twice.
func reduceOver(t *testing.T, r *rand.Rand, leaves []*Sums, owners []int, slice int) *Sums {
	t.Helper()
	p := NewPlan(owners).Slice(slice)
	dest := p.Home(NewPlan(owners).Root())
	switch slice % 3 {
	case 0:
		p = p.To(dest)
	case 1:
		dest = owners[r.IntN(len(owners))]
		p = p.Gather(dest)
	case 2:
		dest = owners[r.IntN(len(owners))]
		p = p.To(dest)
	}
	asm := map[int]*Assembler[*Sums]{}
	var inbox []Shipment[*Sums]
	for _, w := range owners {
		if asm[w] == nil {
			asm[w] = NewAssembler(p, w, MergeSums)
			own := NewAssembler(p.Local(), w, MergeSums)
			for i, s := range clones(leaves) {
				if owners[i] != w {
					continue
				}
				ship, err := own.Offer(Node{Index: int32(i)}, s)
				if err != nil {
					t.Fatal(err)
				}
				if ship != nil {
					inbox = append(inbox, Shipment[*Sums]{w, ship.Node, ship.Data})
				}
			}
		}
	}
	var root *Sums
	for len(inbox) > 0 {
		i := r.IntN(len(inbox))
		s := inbox[i]
		if r.IntN(4) > 0 { // otherwise it arrives a second time
			inbox[i] = inbox[len(inbox)-1]
			inbox = inbox[:len(inbox)-1]
		}
		ship, err := asm[s.To].Offer(s.Node, s.Data)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case ship == nil:
		case ship.Node == p.Root() && ship.To == s.To:
			if s.To != dest || root != nil {
				t.Fatalf("the root came out at worker %d", s.To)
			}
			root = ship.Data
		case ship.To == s.To:
			t.Fatalf("worker %d ships node %v to itself", s.To, ship.Node)
		default:
			inbox = append(inbox, *ship)
		}
	}
	for w, a := range asm {
		if len(a.waiting) > 0 {
			t.Fatalf("worker %d still waits: %v", w, a.waiting)
		}
	}
	return root
}

func TestAnyPlacementAndArrivalGiveTheSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64} {
		leaves := make([]*Sums, n)
		for i := range leaves {
			leaves[i] = someSums(r, 9)
		}
		want, err := Fold(clones(leaves), MergeSums)
		if err != nil {
			t.Fatal(err)
		}
		for nodes := 1; nodes <= 7; nodes++ {
			for trial := range 6 {
				owners := make([]int, n)
				for i := range owners {
					if owners[i] = 100 + r.IntN(nodes); trial%2 == 0 {
						owners[i] = 100 + i*nodes/n // a range of leaves each, as the scheduler places them
					}
				}
				if got := reduceOver(t, r, leaves, owners, trial); !bytes.Equal(encoded(got), encoded(want)) {
					t.Fatalf("%d leaves on %v: other bytes", n, owners)
				}
			}
		}
	}
}

// TestTreeOfFiveLeaves: the tree over five leaves and two workers is the one drawn in doc.go.
func TestTreeOfFiveLeaves(t *testing.T) {
	p := NewPlan([]int{'a', 'a', 'a', 'b', 'b'}).To('a')
	if got := fmt.Sprint(p.Root(), Height(5), p.Tops('a'), p.Tops('b'), p.Home(p.Root()) == 'a', p.Home(Node{2, 1}) == 'b'); got !=
		"{3 0} 3 [{1 0} {0 2}] [{0 3} {2 1}] true true" {
		t.Error(got)
	}
	concat := func(l, r []byte) ([]byte, error) { return []byte("(" + string(l) + string(r) + ")"), nil }
	got, err := Fold([][]byte{{'0'}, {'1'}, {'2'}, {'3'}, {'4'}}, concat)
	if err != nil || string(got) != "(((01)(23))4)" {
		t.Errorf("%s %v", got, err)
	}
	// The roots of slices are divided among the workers.
	roots := map[int]int{}
	for i := range 64 {
		q := p.Slice(i)
		roots[q.Home(q.Root())]++
	}
	if roots['a'] < 16 || roots['b'] < 16 {
		t.Errorf("roots of slices: %v", roots)
	}
}
