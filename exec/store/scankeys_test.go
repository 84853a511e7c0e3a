package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// keysOf builds a join's table over keys, and gives the filter that it tells.
func keysOf(t *testing.T, ty types.Type, keys []types.Datum) *op.KeyFilter {
	t.Helper()
	pool := mem.NewPool("n", 0)
	f := new(op.KeyFilter)
	right := optest.Table{Types: []types.Type{ty}}
	for _, k := range keys {
		right.Rows = append(right.Rows, types.Row{k})
	}
	left := optest.Table{Types: right.Types}
	key := [][]op.Item{{{Col: 0}}}
	lanes := op.NewJoin(&op.Runtime{Lanes: 1, Pool: pool}, nil, op.JoinConfig{Kind: plan.Semi, LTypes: left.Types, RTypes: right.Types, LKeys: key, RKeys: key,
		KeyTypes: right.Types, NullSafe: []bool{false}, LOut: []int{0}, Filters: []*op.KeyFilter{f}},
		optest.Source(1, left.Batches(t, optest.Form{Size: 10})), optest.Source(1, right.Batches(t, optest.Form{Size: 10})))
	if _, err := optest.Drive(ctx, lanes, left.Types); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestScanKeys: a scan gives every row that has one of a join's keys, and of
// rows in the keys' order no run that has none.
func TestScanKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	s := open(t, nil)
	const num, date = 0, 13
	all := randomRows(r, 4000)
	for i := range all {
		if all[i][date] = int64(i / 10); r.IntN(20) == 0 {
			all[i][date] = nil
		}
		all[i][num] = r.Int64N(1 << 31)
	}
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 300, SegmentRows: 1500})
	if err := w.Write(ctx, toBatch(t, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := manifest(segs...)
	cs := []store.WriterColumn{cols[num], cols[date]}
	for n := range 100 {
		at := []int{num, date}
		col := r.IntN(2)
		var keys []types.Datum
		wanted := map[types.Datum]bool{}
		from := r.IntN(len(all))
		for range r.IntN(40) {
			k := all[(from+r.IntN(200))%len(all)][at[col]]
			if keys = append(keys, k); k != nil {
				wanted[k] = true
			}
		}
		f := keysOf(t, cs[col].Type, keys)
		each := r.IntN(2) == 0
		pin := s.Pin([]int{0, 7, 100}[r.IntN(3)])
		given := rowsRead(t, pin, m, scanOf(cs), 600, []op.ScanKeys{{Col: col, Rows: each, Filter: f}})
		pin.Close()
		for group := 0; group < len(all); group += 300 {
			some, matches := 0, 0
			for i := group; i < min(group+300, len(all)); i++ {
				match := wanted[all[i][at[col]]]
				id := store.RowID(uint32(i/1500), uint32(i%1500))
				switch {
				case match && !given[id]:
					t.Fatalf("round %d: row %d has a key and is not given", n, i)
				case given[id] && !match && each && col == 1 && all[i][at[col]] != nil:
					t.Fatalf("round %d: row %d has none of the keys", n, i)
				case given[id]:
					some++
				}
				if match {
					matches++
				}
			}
			if col == 1 && matches == 0 && some > 0 {
				t.Fatalf("round %d: %d rows of a run without a key", n, some)
			}
		}
	}
}
