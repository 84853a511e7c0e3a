package store_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TestFilter pushes random comparisons down into scans of tables with deleted rows, and compares
// with testing every row.
func TestFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := open(t, nil)
	cs := []store.WriterColumn{cols[0], cols[1], cols[3], cols[13]} // int4, text, numeric(12,2), date
	at := []int{0, 1, 3, 13}
	all := randomRows(r, 4000)
	for i := range all {
		all[i][13] = int64(i / 10) // increasing, so that zone maps exclude zones
	}
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 300, SegmentRows: 1500})
	if err := w.Write(ctx, toBatch(t, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var gone []uint32
	for range 300 {
		gone = append(gone, uint32(r.IntN(1500)))
	}
	dead := map[int]bool{}
	for _, g := range gone {
		dead[int(g)] = true
	}
	first := *segs[0]
	if first.Deleted, first.DeletedRows, err = store.AddDeleted(&first, gone); err != nil {
		t.Fatal(err)
	}
	m := manifest(append([]*catalog.Segment{&first}, segs[1:]...)...)
	ops := []string{"=", "<", "<=", ">", ">=", "<>"}
	for n := range 200 {
		var filter []expr.Expr
		var tests []func(row []types.Datum) bool
		for range 1 + r.IntN(2) {
			j := r.IntN(len(cs))
			op := ops[r.IntN(len(ops))]
			k := all[r.IntN(len(all))][at[j]]
			if k == nil {
				k = randomDatum(r, cs[j], 5)
			}
			if k == nil {
				continue
			}
			o := fn.FindOperator(op, cs[j].Type.OID, cs[j].Type.OID)
			if o == nil {
				t.Fatal(op, cs[j].Type)
			}
			col := &expr.Col{ID: expr.ColID(j + 1), Typ: cs[j].Type}
			con := &expr.Const{Val: k, Typ: cs[j].Type}
			filter = append(filter, &expr.Call{Fn: o.Func, Op: op, Args: []expr.Expr{col, con}, Typ: types.Bool})
			tests = append(tests, func(row []types.Datum) bool {
				d := row[at[j]]
				if d == nil {
					return false
				}
				c := types.Compare(cs[j].Type, d, k)
				return map[string]bool{"=": c == 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0, "<>": c != 0}[op]
			})
		}
		want := map[int64]bool{}
		for i, row := range all {
			pass := i >= 1500 || !dead[i]
			for _, f := range tests {
				pass = pass && f(row)
			}
			if pass {
				want[store.RowID(uint32(i/1500), uint32(i%1500))] = true
			}
		}
		scan := scanOf(cs)
		scan.Filter = filter
		pin := s.Pin([]int{0, 7, 100}[r.IntN(3)])
		got := rowsRead(t, pin, m, scan, 500, nil)
		pin.Close()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("query %d: %d rows, want %d", n, len(got), len(want))
		}
	}
}

// rowsRead returns the row ids that a scan returns, with splits of `size` rows.
func rowsRead(t *testing.T, pin *store.Pin, m *catalog.Manifest, scan *plan.Scan, size int64, keys []op.ScanKeys) map[int64]bool {
	t.Helper()
	ctx, out := context.Background(), map[int64]bool{}
	for _, sp := range store.Splits(m, 0, size, nil) {
		rd, err := pin.Open(ctx, scan, &sp, &function.Env{}, keys)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := rd.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				if b.Sel == nil || contains(b.Sel, i) {
					out[b.Seq+int64(i)] = true
				}
			}
		}
		rd.Close()
	}
	return out
}
