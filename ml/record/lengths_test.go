package record

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLengthsSift: in whatever order rows arrive, rows of partitions that are long enough, counted
// over all nodes, are returned once and all others never; all charged memory is released.
func TestLengthsSift(t *testing.T) {
	w := &Windows{Partition: []int{0}, Order: []int{1}, Length: 6, Stride: 1}
	lay, err := NewLayout([]Column{{Name: "id", Type: types.Int8}, {Name: "at", Type: types.Int8}})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var rows [][2]int64
		want := map[[2]int64]bool{}
		for id := range int64(200) {
			n := int64(r.IntN(13))
			for at := range n {
				rows = append(rows, [2]int64{id, at})
				if n >= int64(w.Length) {
					want[[2]int64{id, at}] = true
				}
			}
		}
		if seed%2 > 0 {
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}
		got := map[[2]int64]bool{}
		take := func(v *View) error {
			for i := range v.Rows {
				var row [2]float64
				v.Numbers(0, i, row[:1])
				v.Numbers(1, i, row[1:])
				k := [2]int64{int64(row[0]), int64(row[1])}
				if got[k] {
					t.Fatalf("row %v twice", k)
				}
				got[k] = true
			}
			return nil
		}
		charged := int64(0)
		var nodes []*Lengths
		all := &holdout.Copies{}
		for node := range 2 {
			l := NewLengths(w, 40_000, func(n int64) { charged += n })
			nodes = append(nodes, l)
			s := NewStore(lay, Config{Pool: mem.NewPool("test", 0), Windows: w, Lengths: l, Flow: func(v *View) error { return l.Sift(v, take) }})
			for i := node; i < len(rows); i += 200 {
				part := rows[i:min(i+100, len(rows))]
				if node == 1 {
					part = rows[min(i+99, len(rows)):min(i+199, len(rows))]
				}
				id, at := make([]int64, len(part)), make([]int64, len(part))
				for k, x := range part {
					id[k], at[k] = x[0], x[1]
				}
				cols := []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, id, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, at, nil)}
				if err := s.Add(context.Background(), batch.New(cols, len(part))); err != nil {
					t.Fatal(err)
				}
				if err := s.Drain(); err != nil {
					t.Fatal(err)
				}
			}
			all.Merge(l.Of(nil, node))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		some, _ := w.Short(all)
		all = &holdout.Copies{}
		for node, l := range nodes {
			all.Merge(l.Of(some, node))
		}
		short, ok := w.Short(all)
		for _, l := range nodes {
			if err := l.Rest(lay, short, take); err != nil {
				t.Fatal(err)
			}
			l.Lose()
		}
		if !ok || all.Missed > 0 || len(got) != len(want) || charged != 0 {
			t.Fatalf("seed %d: %d rows, not %d; %d bytes are charged", seed, len(got), len(want), charged)
		}
		for k := range want {
			if !got[k] {
				t.Fatalf("seed %d: no row %v", seed, k)
			}
		}
		if !slices.IsSortedFunc(short, block.CompareHashes) {
			t.Fatal("not sorted")
		}
	}
}
