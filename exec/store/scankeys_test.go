package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// keysOf builds the hash table of a join over keys, and returns the filter that the join publishes
// to scans.
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
	threads := join.New(&op.Runtime{Threads: 1, Pool: pool}, nil, join.Config{Kind: plan.Semi, LTypes: left.Types, RTypes: right.Types, LKeys: key, RKeys: key,
		KeyTypes: right.Types, NullSafe: []bool{false}, LOut: []int{0}, Filters: []*op.KeyFilter{f}},
		optest.Source(1, left.Batches(t, optest.Form{Size: 10})), optest.Source(1, right.Batches(t, optest.Form{Size: 10})))
	if _, err := optest.Drive(ctx, threads, left.Types); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestScanKeys: a scan with a join's filter returns every row that has one of its keys; where rows
// are sorted by the key it skips runs of rows without any.
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

// TestScanBound: a scan below a sort returns every row up to the sort's bound, and those of NULL where they come first; runs
// of rows beyond are skipped.
func TestScanBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	s := open(t, nil)
	const date, last = 13, 99
	all := randomRows(r, 3000)
	for i := range all {
		if all[i][date] = int64(i / 10); r.IntN(20) == 0 {
			all[i][date] = nil
		}
	}
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 300, SegmentRows: 1500})
	if err := w.Write(ctx, toBatch(t, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, nulls := range []bool{false, true} {
		f := new(op.KeyFilter)
		f.Bound(last, false, true, nulls)
		pin := s.Pin(100)
		given := rowsRead(t, pin, manifest(segs...), scanOf([]store.WriterColumn{cols[date]}), 600, []op.ScanKeys{{Col: 0, Rows: true, Filter: f}})
		pin.Close()
		for i := range all {
			d, none := all[i][date], all[i][date] == nil
			switch got := given[store.RowID(uint32(i/1500), uint32(i%1500))]; {
			case !got && (none && nulls || !none && d.(int64) <= last):
				t.Fatalf("nulls %v: row %d of %v is not given", nulls, i, d)
			case got && !nulls && i/300 > last*10/300:
				t.Fatalf("row %d of %v is given", i, d)
			}
		}
	}
}

// scanKeysTable writes random rows as segments of several row groups; `below` gives columns of
// integers below a limit, as (column, limit).
func scanKeysTable(t *testing.T, r *rand.Rand, n int, below ...[2]int64) (*store.Store, rows, []*catalog.Segment) {
	t.Helper()
	s, all := open(t, nil), randomRows(r, n)
	for i := range all {
		for _, b := range below {
			all[i][b[0]] = r.Int64N(b[1])
		}
	}
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 4000, SegmentRows: 20000})
	if err := w.Write(ctx, toBatch(t, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s, all, segs
}

// TestScanKeysBeforeFilter: where the filter from a join excludes more rows than the scan's own
// WHERE filter, later splits apply it first; where it excludes fewer, only the join tests it. No
// row that passes both is lost.
func TestScanKeysBeforeFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	const num, date, rows = 0, 13, 80000
	s, all, segs := scanKeysTable(t, r, rows, [2]int64{num, 1000}, [2]int64{date, 2})
	cs := []store.WriterColumn{cols[num], cols[date]}
	for _, share := range []int64{20, 900} { // keys among 1000 numbers; the WHERE filter passes half of the rows
		var keys []types.Datum
		for range 1100 { // so many that they are not looked up
			keys = append(keys, r.Int64N(share))
		}
		has := map[types.Datum]bool{}
		for _, k := range keys {
			has[k] = true
		}
		f := keysOf(t, cs[0].Type, keys)
		scan := scanOf(cs)
		scan.Filter = []expr.Expr{equalTo(t, scan.Cols[1], int64(1), cs[1].Type)}
		pin := s.Pin(100)
		given := rowsRead(t, pin, manifest(segs...), scan, 4000, []op.ScanKeys{{Col: 0, Filter: f}})
		pin.Close()
		without := 0
		for i := range all {
			id := store.RowID(uint32(i/20000), uint32(i%20000))
			switch pass := all[i][date] == int64(1); {
			case given[id] && !pass, !given[id] && pass && has[all[i][num]]:
				t.Fatalf("share %d: row %d of %v is given: %v", share, i, all[i], given[id])
			case given[id] && !has[all[i][num]]:
				without++
			}
		}
		asked := f.Seen.Asked.Load()
		if share == 20 && (asked < rows/2+5000 || without > 0) {
			t.Errorf("%d rows were asked for keys that few have, and %d are given without one", asked, without)
		}
		if share == 900 && asked > rows/4 {
			t.Errorf("%d rows were asked for keys that most have", asked)
		}
	}
}

// TestScanPicks: once segments have an index, a join with few keys reads only the rows with these
// keys that are not deleted.
func TestScanPicks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	s := open(t, nil)
	const num = 0
	all := randomRows(r, 40000)
	for i, v := range r.Perm(len(all)) {
		all[i][num] = int64(v)
	}
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 2000, SegmentRows: 20000})
	if err := w.Write(ctx, toBatch(t, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dead := map[int64]bool{}
	for i, g := range segs {
		var gone []uint32
		for row := range 20000 {
			if r.IntN(3) == 0 {
				gone = append(gone, uint32(row))
				dead[store.RowID(uint32(i), uint32(row))] = true
			}
		}
		c := *g
		if c.Deleted, c.DeletedRows, err = store.AddDeleted(&c, gone); err != nil {
			t.Fatal(err)
		}
		segs[i] = &c
	}
	m := manifest(segs...)
	cs := []store.WriterColumn{cols[num], cols[13]}
	look := func(keys []types.Datum) map[int64]bool {
		pin := s.Pin([]int{0, 7, 100}[r.IntN(3)])
		defer pin.Close()
		return rowsRead(t, pin, m, scanOf(cs), []int64{0, 2000}[r.IntN(2)], []op.ScanKeys{{Col: 0, Filter: keysOf(t, cs[0].Type, keys)}})
	}
	for n := range 60 {
		var keys []types.Datum
		want := map[int64]bool{}
		for range r.IntN(50) {
			i := r.IntN(len(all))
			keys = append(keys, all[i][num])
			if id := store.RowID(uint32(i/20000), uint32(i%20000)); !dead[id] {
				want[id] = true
			}
		}
		if r.IntN(4) == 0 {
			keys = append(keys, nil, int64(-5))
		}
		given := look(keys)
		if n%2 == 0 { // the filter's own list
			in := &expr.In{Arg: &expr.Col{ID: 1, Typ: cs[0].Type}}
			for _, k := range keys {
				in.List = append(in.List, &expr.Const{Val: k, Typ: cs[0].Type})
			}
			scan := scanOf(cs)
			scan.Filter = []expr.Expr{in}
			if len(keys) == 1 { // as the binder rewrites IN of one value
				scan.Filter[0] = equalTo(t, scan.Cols[0], keys[0], cs[0].Type)
			}
			pin := s.Pin(0)
			given = rowsRead(t, pin, m, scan, 2000, nil)
			pin.Close()
		}
		for id := range want {
			if !given[id] {
				t.Fatalf("round %d: row %d has a key and is not given", n, id)
			}
		}
		if n > 10 && len(given) > len(want) {
			t.Fatalf("round %d: %d rows for %d", n, len(given), len(want))
		}
	}
	// A few live rows in a segment of deleted ones are found.
	last := *segs[1]
	var gone []uint32
	for row := range uint32(20000) {
		if row != 7 && row != 19000 {
			gone = append(gone, row)
		}
	}
	last.Deleted, last.DeletedRows = catalog.RowSet{}, 0
	if last.Deleted, last.DeletedRows, err = store.AddDeleted(&last, gone); err != nil {
		t.Fatal(err)
	}
	pin := s.Pin(0)
	defer pin.Close()
	given := rowsRead(t, pin, manifest(&last), scanOf(cs), 2000, nil)
	if len(given) != 2 || !given[store.RowID(0, 7)] || !given[store.RowID(0, 19000)] {
		t.Error(given)
	}
	// For many keys the segment is scanned instead of looked up.
	var many []types.Datum
	for i := range 1000 {
		many = append(many, int64(i))
	}
	if given := look(many); len(given) < len(all)/2 {
		t.Errorf("%d rows", len(given))
	}
}

// TestScanKeysInOrder: of the filters of several joins the most selective is applied first, and the
// others to the rows that it leaves, even if the join just above the scan drops most of them.
func TestScanKeysInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	const num, date, rows = 0, 13, 80000
	s, all, segs := scanKeysTable(t, r, rows, [2]int64{num, 10_000}, [2]int64{date, 10_000})
	cs := []store.WriterColumn{cols[num], cols[date]}
	var few, some []types.Datum
	for i := range int64(4000) {
		few, some = append(few, i%100), append(some, i) // so many that they are not looked up
	}
	near, far := keysOf(t, cs[0].Type, few), keysOf(t, cs[1].Type, some)
	pin := s.Pin(100)
	defer pin.Close()
	given := rowsRead(t, pin, manifest(segs...), scanOf(cs), 4000, []op.ScanKeys{{Col: 1, Rows: true, Filter: far}, {Col: 0, Filter: near}})
	wrong := 0
	for i := range all {
		match := all[i][num].(int64) < 100 && all[i][date].(int64) < 4000
		switch id := store.RowID(uint32(i/20000), uint32(i%20000)); {
		case match && !given[id]:
			t.Fatalf("row %d has both keys and is not given", i)
		case !match && given[id]:
			wrong++
		}
	}
	if n, m := near.Seen.Asked.Load(), far.Seen.Asked.Load(); wrong > 0 || n < rows/2 || m > rows/2 {
		t.Errorf("%d rows are given without a key, %d were asked for that which few have, %d for the other", wrong, n, m)
	}
}
