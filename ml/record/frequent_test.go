package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCopiesOnAllLeaves: copies of a common row are divided among all leaves, other rows are in the
// leaf given by their hash, and each leaf has the same rows wherever they were read and however
// little memory there is.
func TestCopiesOnAllLeaves(t *testing.T) {
	const leaves = 16
	r := rand.New(rand.NewPCG(4, 4))
	rows := make([]int64, 0, 60000)
	for i := range int64(60000) {
		v := i // one copy
		switch {
		case i%2 == 0:
			v = -1 // half of all rows
		case i%8 == 1:
			v = -2 - i%5 // a few per cent of the rows each
		case i%64 == 3:
			v = -100 - i%70 // copies, but not common
		}
		rows = append(rows, v)
	}
	var want [][]int64
	for _, c := range []struct {
		nodes int
		limit int64
	}{{1, 0}, {3, 0}, {5, 0}, {1, 1 << 20}, {2, 1 << 20}} {
		t.Run(fmt.Sprint(c.nodes, c.limit), func(t *testing.T) {
			stores := spreadOver(t, r, rows, c.nodes, false)
			for _, s := range stores {
				s.cfg.Pool.SetLimit(c.limit)
				if c.limit > 0 {
					s.mu.Lock()
					all := s.shards
					s.mu.Unlock()
					if err := s.spill(all...); err != nil {
						t.Fatal(err)
					}
				}
			}
			// Each node has a range of leaves, as placement assigns them.
			owner := func(leaf int) int { return leaf * c.nodes / leaves }
			for leaf := range leaves {
				from, to := LeafBuckets(leaf, leaves)
				for i, s := range stores {
					for b := from; b < to && i != owner(leaf); b++ {
						if err := s.Take(b, b+1, func(rows []byte) error { return stores[owner(leaf)].Put(rows) }); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			var common []Frequent
			for _, s := range stores {
				some, err := s.Frequent(int64(len(rows)))
				if err != nil {
					t.Fatal(err)
				}
				common = append(common, some...)
			}
			if len(common) != 6 {
				t.Errorf("%d rows are common", len(common))
			}
			common = MergeFrequent(common, int64(len(rows)))
			for _, s := range stores {
				if err := s.ShareFrequent(common, false); err != nil {
					t.Fatal(err)
				}
				if err := s.Finish(); err != nil {
					t.Fatal(err)
				}
			}
			var got [][]int64
			for leaf := range leaves {
				from, to := LeafBuckets(leaf, leaves)
				l, err := stores[owner(leaf)].MakeLeaf(context.Background(), from, to)
				if err != nil {
					t.Fatal(err)
				}
				v, err := l.Open()
				if err != nil {
					t.Fatal(err)
				}
				vals, half := make([]float64, v.Rows), 0
				for at := 0; at < v.Rows; at += ViewRows {
					v.Numbers(0, at, vals[at:min(at+ViewRows, v.Rows)])
				}
				out := make([]int64, v.Rows)
				for i, x := range vals {
					if out[i] = int64(x); x == -1 {
						half++
					}
				}
				if half != 30000/leaves {
					t.Errorf("leaf %d has %d copies of the commonest row", leaf, half)
				}
				if n := len(rows) / leaves; v.Rows < n*3/4 || v.Rows > n*5/4 {
					t.Errorf("leaf %d has %d rows of %d", leaf, v.Rows, len(rows))
				}
				v.Close()
				slices.Sort(out)
				got = append(got, out)
			}
			all := slices.Concat(got...)
			slices.Sort(all)
			if sorted := slices.Sorted(slices.Values(rows)); !slices.Equal(all, sorted) {
				t.Fatal("leaves have other rows than came")
			}
			if want == nil {
				want = got
			}
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("leaf %d has other rows", i)
				}
			}
		})
	}
}
