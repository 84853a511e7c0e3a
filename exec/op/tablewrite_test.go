package op_test

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring"
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// writer is a table writer that makes a segment of every 40 rows.
type writer struct {
	w    *writers
	rows int
}

type writers struct {
	mu             sync.Mutex
	open, finished int
	aborted        int
}

func (w *writer) Write(_ context.Context, b *batch.Batch) error {
	w.rows += b.Rows()
	return nil
}

func (w *writer) Flush(context.Context) ([]catalog.Written, error) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.finished++
	var out []catalog.Written
	for ; w.rows > 0; w.rows -= 40 {
		n := int64(min(w.rows, 40))
		out = append(out, catalog.Written{Segment: &catalog.Segment{Rows: n}, Seq: -1, Rows: n})
	}
	return out, nil
}

func (w *writer) Abort() error {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.aborted++
	return nil
}

// TestTableWrite executes each kind of DML statement, in several threads.
func TestTableWrite(t *testing.T) {
	const rows = 200
	tb := optest.Table{Types: []types.Type{types.Int8, types.Int4, types.Int4}} // row id, action, value
	var ids []int64
	for i := range rows {
		ids = append(ids, int64(i%3)<<32|int64(i*700))
	}
	rng := rand.New(rand.NewSource(8))
	rng.Shuffle(rows, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	by := [4]int64{}
	for i, id := range ids {
		a := int64(i % 4)
		by[a]++
		row := types.Row{id, a, int64(i)}
		if a == 1 { // rows that a MERGE inserts have no row id
			row[0] = nil
		}
		tb.Rows = append(tb.Rows, row)
	}
	for _, c := range []struct {
		kind                plan.DMLKind
		fresh, changed, old int64
	}{
		{plan.InsertRows, rows, rows, 0},
		{plan.UpdateRows, rows - by[1], rows - by[1], rows - by[1]},
		{plan.DeleteRows, 0, rows - by[1], rows - by[1]},
		{plan.MergeRows, by[1] + by[2], by[1] + by[2] + by[3], by[2] + by[3]},
	} {
		for _, told := range []bool{false, true} {
			t.Run(fmt.Sprint(c.kind, told), func(t *testing.T) {
				ws := &writers{}
				out := []types.Type{types.Bytea}
				if told {
					out = append(out, types.Int4, types.Int4)
				}
				optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: out, Check: func(t *testing.T, got []types.Row) {
					var fresh, changed, returned, updated int64
					old := roaring.New()
					for _, r := range got {
						if r[0] == nil {
							returned++
							if r[2] != nil {
								updated++
								if r[1] != r[2] {
									t.Errorf("%v is told of an update of %v", r[2], r[1])
								}
							}
							continue
						}
						w, err := catalog.UnmarshalWritten(r[0].([]byte))
						if err != nil {
							t.Fatal(err)
						}
						changed += w.Rows
						if w.Segment != nil {
							fresh += w.Segment.Rows
							continue
						}
						rows := roaring.New()
						if err := rows.UnmarshalBinary(w.Deleted); err != nil {
							t.Fatal(err)
						}
						for it := rows.Iterator(); it.HasNext(); {
							if i := it.Next(); !old.CheckedAdd(i) || i%700 != 0 || i/700%3 != w.Ordinal {
								t.Fatalf("row %d of segment %d", i, w.Ordinal)
							}
						}
					}
					if fresh != c.fresh || changed != c.changed || int64(old.GetCardinality()) != c.old {
						t.Errorf("%d rows are new, %d changed, %d old; not %+v", fresh, changed, old.GetCardinality(), c)
					}
					if told && returned != c.changed {
						t.Errorf("%d rows are returned", returned)
					}
					want := map[plan.DMLKind]int64{plan.UpdateRows: c.changed, plan.MergeRows: by[2]}[c.kind]
					if told && updated != want {
						t.Errorf("%d rows are told of as updated, not %d", updated, want)
					}
				}, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					var list []*op.RowWriter
					var emits []*op.Emit
					for range in[0] {
						list = append(list, &op.RowWriter{Old: &op.RowIDs{}, Kind: c.kind, Values: []int{2}, RowID: 0, Action: 1, Open: ws.writer})
						if told {
							emits = append(emits, &op.Emit{Returning: []op.Item{{Col: 2}}, Updated: []op.Item{{Col: 2}}, Types: out[1:]})
						}
					}
					return op.NewTableWrite(rt, in[0], list, emits)
				}})
				if ws.open != ws.finished+ws.aborted {
					t.Errorf("%d writers, %d finished, %d aborted", ws.open, ws.finished, ws.aborted)
				}
			})
		}
	}
}

func (w *writers) writer(context.Context) (op.Writer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	return &writer{w: w}, nil
}

// TestMergeTwice: a MERGE that would change a row twice is an error; an UPDATE changes it once.
func TestMergeTwice(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int8, types.Int4}, Rows: []types.Row{{int64(5), int64(2)}, {int64(6), int64(3)}, {int64(5), int64(3)}}}
	for kind, want := range map[plan.DMLKind]int{plan.MergeRows: 0, plan.UpdateRows: 2} {
		ws := &writers{}
		w := &op.RowWriter{Old: &op.RowIDs{}, Kind: kind, Values: []int{1}, RowID: 0, Action: 1, Open: ws.writer}
		var err error
		for _, b := range tb.Batches(t, optest.Form{Size: 1}) {
			if err = w.Rows(context.Background(), b); err != nil {
				break
			}
		}
		if want == 0 {
			if !pgerr.Is(err, pgerr.CardinalityViolation) {
				t.Error(err)
			}
			w.Abort()
			continue
		}
		list, err := w.Finish(context.Background())
		if err != nil || len(list) != 2 || list[0].Rows != int64(want) {
			t.Errorf("%+v %v", list, err)
		}
	}
}

// TestChangedOnce: a row that reaches several threads is changed once.
func TestChangedOnce(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int8, types.Int4}}
	for i := range int64(300) {
		tb.Rows = append(tb.Rows, types.Row{i * i % 70, i})
	}
	had := map[int64]bool{}
	for _, r := range tb.Rows {
		had[r[0].(int64)] = true
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Bytea, types.Int8}, Check: func(t *testing.T, got []types.Row) {
		told := map[int64]bool{}
		var changed int64
		for _, r := range got {
			if r[0] == nil {
				if id := r[1].(int64); told[id] || !had[id] {
					t.Errorf("row %d is told of twice, or is none", id)
				} else {
					told[id] = true
				}
				continue
			}
			w, err := catalog.UnmarshalWritten(r[0].([]byte))
			if err != nil {
				t.Fatal(err)
			}
			changed += w.Rows
		}
		if changed != int64(len(had)) || len(told) != len(had) {
			t.Errorf("%d rows are changed and %d told of instead of %d", changed, len(told), len(had))
		}
	}, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		var list []*op.RowWriter
		var emits []*op.Emit
		seen := &op.RowIDs{}
		for range in[0] {
			list = append(list, &op.RowWriter{Kind: plan.DeleteRows, Old: &op.RowIDs{}, Seen: seen, Open: (&writers{}).writer})
			emits = append(emits, &op.Emit{Returning: []op.Item{{Col: 0}}, Types: []types.Type{types.Int8}})
		}
		return op.NewTableWrite(rt, in[0], list, emits)
	}})
}

// TestRowIDs compares a set of row ids with a Go map.
func TestRowIDs(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for range 200 {
		var s op.RowIDs
		had := map[int64]bool{}
		for range 1 + rng.Intn(5) {
			tb := optest.Table{Types: []types.Type{types.Int8}}
			for range rng.Intn(60) {
				if rng.Intn(10) == 0 {
					tb.Rows = append(tb.Rows, types.Row{nil})
					continue
				}
				from := int64(rng.Intn(3))<<32 | int64(rng.Intn(1<<uint(1+rng.Intn(18))))
				for i := range int64(rng.Intn(5)) {
					tb.Rows = append(tb.Rows, types.Row{from + i})
				}
			}
			for _, b := range tb.Batches(t, optest.Form{Size: 1 + rng.Intn(100), Sel: rng.Intn(2) == 0}) {
				var want []types.Row
				for _, r := range optest.RowsOf(b, tb.Types) {
					if r[0] != nil && !had[r[0].(int64)] {
						had[r[0].(int64)] = true
						want = append(want, r)
					}
				}
				got, err := s.Add(context.Background(), nil, b, 0)
				if err != nil {
					t.Fatal(err)
				}
				if rows := optest.RowsOf(got, tb.Types); fmt.Sprint(rows) != fmt.Sprint(want) {
					t.Fatalf("%v instead of %v", rows, want)
				}
			}
		}
		n := 0
		for _, o := range s.Ordinals() {
			for it := s.Rows(o).Iterator(); it.HasNext(); n++ {
				if !had[int64(o)<<32|int64(it.Next())] {
					t.Fatal("a row that was not added")
				}
			}
		}
		if n != len(had) {
			t.Fatalf("%d rows of %d", n, len(had))
		}
	}
}

// TestRowIDsAreBits: a million consecutive row ids are charged as a bitmap, and ids far apart as
// lists; ids are added only if there is memory for them.
func TestRowIDsAreBits(t *testing.T) {
	const rows = 1 << 20
	for _, c := range []struct{ step, least, most int64 }{
		{1, rows / 8, rows/8 + rows/8/50},
		{1 << 12, 2 * rows, 10 * rows},
	} {
		pool := mem.NewPool("test", 2*c.most)
		acct := pool.Child("statement", 0).Account("changed rows", false)
		var s op.RowIDs
		ids := make([]int64, 0, 2048)
		for i := int64(0); i < rows; i++ {
			at := i * c.step
			if ids = append(ids, at>>28<<32|at&(1<<28-1)); len(ids) == cap(ids) {
				b := batch.New([]arrow.Array{batch.FromSlice(types.Int8.Arrow(), ids, nil)}, len(ids))
				if got, err := s.Add(context.Background(), acct, b, 0); err != nil || got.Rows() != len(ids) {
					t.Fatal(got, err)
				}
				ids = make([]int64, 0, 2048)
			}
		}
		if n := acct.Used(); n < c.least || n > c.most {
			t.Errorf("%d rows, %d apart, are charged with %d bytes", rows, c.step, n)
		}
	}
}
