package tree

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestNarrowSketch: the sample has the same rows whether threads drop those of high hashes from the
// start or not, and where rows occur so often that too few are left, all are looked at once more.
func TestNarrowSketch(t *testing.T) {
	const n, dense = 17000, 257 // so many columns that a sample has 4096 rows
	for name, c := range map[string]struct {
		different int
		again     bool
	}{"different": {n, false}, "twice": {n * 5 / 8, false}, "often": {n / 3, true}, "few": {3000, true}} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(61, 1))
			d := &familytest.Data{Classes: 2, Code: make([][]int32, n)}
			for i := range n {
				if i >= c.different {
					d.X, d.Y = append(d.X, d.X[i-c.different]), append(d.Y, d.Y[i-c.different])
					continue
				}
				x := make([]float64, dense)
				for j := range x {
					x[j] = float64(r.IntN(1000))
				}
				d.X, d.Y = append(d.X, x), append(d.Y, float64(i%2))
			}
			o, err := familytest.Options(boosted)
			if err != nil {
				t.Fatal(err)
			}
			set := &family.Setup{Options: o, Plan: &family.Plan{}, Fitted: d.Fitted(false), Rows: n, Weight: n}
			p := newProblem(set, false)
			if p.narrow == math.MaxUint64 {
				t.Fatal("the sketch is not narrow")
			}
			whole := newSketch(dense, 0, 0)
			if err := whole.add(p, d.All(false)); err != nil {
				t.Fatal(err)
			}
			whole.sample.compact(dense)
			// Two threads, of which one sees few rows.
			w := newWorker(p, &family.Node{Space: familytest.Space})
			drv := newDriver(p, familytest.Home)
			take := func() *sketch {
				var sum *sketch
				for _, at := range [][2]int{{0, 200}, {200, n}} {
					part := &familytest.Data{Classes: 2, X: d.X[at[0]:at[1]], Code: d.Code[at[0]:at[1]], Y: d.Y[at[0]:at[1]]}
					pass, err := w.NewPass(drv.Next())
					if err != nil {
						t.Fatal(err)
					}
					b := part.All(false)
					if err := pass.Add(t.Context(), family.Rows{To: b.Padded()}, b); err != nil {
						t.Fatal(err)
					}
					s := pass.Partial().(*sketch)
					if sum == nil {
						sum = s
					} else if err := sum.merge(s); err != nil {
						t.Fatal(err)
					}
				}
				if err := drv.Tell(sum); err != nil {
					t.Fatal(err)
				}
				return sum
			}
			got := take()
			if again := drv.phase == opSketchAll; again != c.again {
				t.Fatalf("once more: %v", again)
			}
			if c.again {
				got = take()
			}
			if a, b := &got.sample, &whole.sample; a.cut != b.cut || !reflect.DeepEqual(a.hash, b.hash) || !reflect.DeepEqual(a.w, b.w) || !reflect.DeepEqual(a.x, b.x) {
				t.Errorf("a sample of %d rows, not %d", len(a.hash), len(b.hash))
			}
		})
	}
}
