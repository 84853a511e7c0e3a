package record

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/sql/types"
)

const commonIn = 1024 // package holdout's

var oneColumn = []Column{{"v", types.Int8}}

// spreadOver adds rows to the stores of several nodes, in random order.
func spreadOver(t *testing.T, r *rand.Rand, rows []int64, nodes int, inPlace bool) []*Store {
	t.Helper()
	layout, err := NewLayout(oneColumn)
	if err != nil {
		t.Fatal(err)
	}
	stores := make([]*Store, nodes)
	for i := range stores {
		stores[i] = NewStore(layout, Config{Pool: mem.NewPool("t", 0), Temp: t.TempDir(), Seed: 5, InPlace: inPlace, Copies: true})
		t.Cleanup(func() { stores[i].Close() })
	}
	rows = slices.Clone(rows)
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for len(rows) > 0 {
		n := min(1+r.IntN(5000), len(rows))
		b := batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, rows[:n], nil)}, n)
		if err := stores[r.IntN(nodes)].Add(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	return stores
}

// heldOut returns how many copies of each value a training holds out.
func heldOut(t *testing.T, stores []*Store, share float64, inPlace bool) (out map[int64]int, again bool) {
	t.Helper()
	leaves, all, again := leavesOf(t, stores, inPlace)
	return drawn(t, leaves, all.Holdout(share, inPlace)), again
}

// leavesOf brings rows to their leaves, returns these by node, and counts copies; again reports
// whether the rows had to be read twice.
func leavesOf(t *testing.T, stores []*Store, inPlace bool) (leaves [][]*Leaf, all *holdout.Copies, again bool) {
	t.Helper()
	ctx := context.Background()
	all = &holdout.Copies{}
	for i, s := range stores {
		c := s.Copies(i)
		var e canon.E
		c.Encode(&e)
		d := canon.Read(e.B)
		all.Merge(holdout.DecodeCopies(d))
		if err := d.Done("copies"); err != nil {
			t.Fatal(err)
		}
	}
	if !inPlace { // rows are sent to the owners of their leaves
		if err := stores[0].endAdds(); err != nil {
			t.Fatal(err)
		}
		for _, s := range stores[1:] {
			for b := range block.Buckets {
				if err := s.Take(b, b+1, func(rows []byte) error { return stores[0].Put(rows) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		stores = stores[:1]
	}
	for _, s := range stores {
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		var own []*Leaf
		for i := range 8 {
			from, to := LeafBuckets(i, 8)
			l, err := s.MakeLeaf(ctx, from, to)
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, l)
		}
		leaves = append(leaves, own)
	}
	if rows := all.Unsure(); rows != nil {
		counts := &holdout.Copies{}
		again = true
		for i, own := range leaves {
			for _, l := range own {
				counts.Merge(view(t, l).Count(rows, i))
			}
		}
		all.List = counts.List
	}
	return leaves, all, again
}

func view(t *testing.T, l *Leaf) *View {
	t.Helper()
	v, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawn returns how many copies of each value are held out.
func drawn(t *testing.T, leaves [][]*Leaf, h *holdout.Holdout) map[int64]int {
	t.Helper()
	var e canon.E
	h.Encode(&e)
	d := canon.Read(e.B)
	h = holdout.DecodeHoldout(d)
	if err := d.Done("a holdout"); err != nil {
		t.Fatal(err)
	}
	out := map[int64]int{}
	for i, own := range leaves {
		drawer := h.On(i)
		for _, l := range own {
			if err := l.Draw(drawer, view(t, l)); err != nil {
				t.Fatal(err)
			}
			rest, drawn := view(t, l).Split()
			if rest.Rows+drawn.Rows != l.Rows {
				t.Fatalf("%d and %d of %d rows", rest.Rows, drawn.Rows, l.Rows)
			}
			v := make([]float64, 1)
			for k := range drawn.Rows {
				drawn.Numbers(0, k, v)
				out[int64(v[0])]++
			}
		}
	}
	return out
}

// TestFoldsPartTheRows: with cross-validation each copy of a row is in exactly one fold, folds are
// of equal size, and copies of common rows are divided among them, wherever rows are.
func TestFoldsPartTheRows(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for name, rows := range map[string]func(i int) int64{
		"distinct": func(i int) int64 { return int64(i) },
		"ten":      func(i int) int64 { return int64(i % 10) },
		"pairs":    func(i int) int64 { return int64(i / 2) },
		"skewed":   func(i int) int64 { return min(int64(r.ExpFloat64()*3), 7)*int64(1+i%5) - int64(i%97*(i%3)) },
	} {
		for _, n := range []int{40, 20000} {
			var list []int64
			count := map[int64]int{}
			for i := range n {
				list = append(list, rows(i))
				count[list[i]]++
			}
			for _, folds := range []int{2, 5, 7} {
				var want []map[int64]int
				for k, nodes := range []int{1, 3, 4} {
					for _, inPlace := range []bool{false, true} {
						leaves, all, _ := leavesOf(t, spreadOver(t, r, list, nodes, inPlace), inPlace)
						sum := map[int64]int{}
						for f := range folds {
							got := drawn(t, leaves, all.Fold(f, folds, inPlace))
							if k == 0 && !inPlace {
								want = append(want, got)
							} else if fmt.Sprint(got) != fmt.Sprint(want[f]) {
								t.Fatalf("%s of %d: fold %d of %d differs on %d nodes", name, n, f, folds, nodes)
							}
							rows := 0
							for v, c := range got {
								sum[v], rows = sum[v]+c, rows+c
								if share := float64(count[v]) / float64(folds); count[v] > max(1, n/commonIn) && math.Abs(float64(c)-share) >= 1 {
									t.Errorf("%s of %d: %d of %d copies are in fold %d of %d", name, n, c, count[v], f, folds)
								}
							}
							if off := math.Abs(float64(rows) - float64(n)/float64(folds)); off > 2+float64(n)/200 {
								t.Errorf("%s of %d: fold %d of %d has %d rows", name, n, f, folds, rows)
							}
						}
						if fmt.Sprint(sum) != fmt.Sprint(count) {
							t.Fatalf("%s of %d: %d folds do not part the rows", name, n, folds)
						}
						if got := drawn(t, leaves, &holdout.Holdout{}); len(got) != 0 {
							t.Fatalf("%d rows are still held out", len(got))
						}
					}
				}
			}
		}
	}
}

// TestHoldoutIsTheShare holds out of multisets with every kind of skew: the share asked for in
// total, the same share of the copies of each common row, and the same rows wherever they are
// stored.
func TestHoldoutIsTheShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	kinds := map[string]func() (rows []int64){
		"ten values":   func() (rows []int64) { return fill(rows, 10, func(int) int { return 20000 }) },
		"three values": func() (rows []int64) { return fill(rows, 3, func(int) int { return 7 }) },
		"no copies":    func() (rows []int64) { return fill(rows, 30000, func(int) int { return 1 }) },
		"few rows":     func() (rows []int64) { return fill(rows, 50, func(int) int { return 1 }) },
		"five of each": func() (rows []int64) { return fill(rows, 20000, func(int) int { return 5 }) },
		"at the border": func() (rows []int64) {
			return fill(rows, 4900, func(i int) int { return 1 + (50+i%11)*max(0, min(1, 900-i)) })
		},
		"some of each": func() (rows []int64) { return fill(rows, 4000, func(i int) int { return 1 + r.IntN(1+i/50) }) },
		"a long tail":  func() (rows []int64) { return fill(rows, 5000, func(i int) int { return 1 + 50000/(i+1) }) },
		"one and the rest": func() (rows []int64) {
			return fill(rows, 20001, func(i int) int { return 1 + 30000*max(0, 1-i) })
		},
	}
	names := make([]string, 0, len(kinds))
	for k := range kinds {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, name := range names {
		rows := kinds[name]()
		copies := map[int64]int{}
		for _, v := range rows {
			copies[v]++
		}
		share := []float64{0.2, 0.5, 0.07}[r.IntN(3)]
		var want map[int64]int
		again := false
		for _, c := range []struct {
			nodes   int
			inPlace bool
		}{{1, true}, {1, false}, {3, true}, {3, false}, {5, true}} {
			got, twice := heldOut(t, spreadOver(t, r, rows, c.nodes, c.inPlace), share, c.inPlace)
			if again = again || twice; want == nil {
				want = got
			} else if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: %d nodes, in place %v: other rows are held out", name, c.nodes, c.inPlace)
			}
		}
		if border := name == "at the border"; again != border && (border || name == "no copies" || name == "ten values") {
			t.Errorf("%s: copies were counted again: %v", name, again)
		}
		sum := 0
		for v, n := range want {
			sum += n
			if c := copies[v]; c > 1 && c > len(rows)/commonIn && math.Abs(float64(n)-share*float64(c)) > 1 {
				t.Errorf("%s: %d of %d copies of %d are held out, of a share of %v", name, n, c, v, share)
			}
		}
		if got := float64(sum) / float64(len(rows)); math.Abs(got-share) > max(0.001, 1/float64(len(rows))) {
			t.Errorf("%s: %v is held out, not %v", name, got, share)
		}
	}
}

// fill appends n values, each with so many copies.
func fill(rows []int64, n int, copies func(i int) int) []int64 {
	for i := range n {
		for range copies(i) {
			rows = append(rows, int64(i))
		}
	}
	return rows
}

// TestCopiesOfARowAreSpread: any run of rows of a block, such as a mini-batch, is a sample of its
// leaf, in an order that does not depend on the order of arrival.
func TestCopiesOfARowAreSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	rows := fill(nil, 8, func(int) int { return 3000 })
	for v := range int64(2000) {
		rows = append(rows, 100+v)
	}
	order := func() (out []float64) {
		b := block.New(len(rows), 1, 0, false)
		for i, at := range r.Perm(len(rows)) {
			b.Set(i, 0, float64(rows[at]))
		}
		Order(b, 3, false)
		for i := range b.Rows {
			out = append(out, b.Value(i, 0))
		}
		return out
	}
	one := order()
	if !slices.Equal(one, order()) {
		t.Fatal("rows that came in another order lie in another order")
	}
	for at := 0; at+260 <= len(one); at += 260 { // on average 30 copies of each of the eight rows, and 20 others
		n := map[float64]int{}
		for _, v := range one[at : at+260] {
			n[min(v, 100)]++
		}
		for v := range 8 {
			if n[float64(v)] < 8 || n[float64(v)] > 60 {
				t.Fatalf("%d of 260 rows from %d on are copies of one, of 30 in the mean", n[float64(v)], at)
			}
		}
	}
}
