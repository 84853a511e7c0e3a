package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// FuzzInline decodes arbitrary bytes as an inline segment: the result is an error or rows.
func FuzzInline(f *testing.F) {
	s := open(f, nil)
	w := s.NewWriter(store.WriterOptions{Columns: cols})
	if err := w.Write(ctx, toBatch(f, randomRows(rand.New(rand.NewPCG(1, 1)), 3), true)); err != nil {
		f.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(segs[0].Inline)
	f.Fuzz(func(t *testing.T, b []byte) {
		seg := &catalog.Segment{ID: catalog.SegmentID{byte(len(b))}, Rows: 3, Inline: append([]byte{}, b...)}
		st, _ := store.Open(store.Options{Dir: t.TempDir()})
		defer st.Close()
		pin := st.Pin(0)
		defer pin.Close()
		rd, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: seg, To: 3}, &function.Env{}, nil)
		if err != nil {
			return
		}
		for err == nil {
			var got *batch.Batch
			if got, err = rd.Next(ctx); err == nil {
				for j, c := range cols {
					for i := range got.N {
						types.DatumAt(c.Type, got.Cols[j], i)
					}
				}
			}
		}
	})
}

// TestInlineAsRead: the catalog entry of a small segment equals, down to nil slices, the one
// decoded from its encoding: the state of a node is the same whether it applied a commit itself or
// read it from the log.
func TestInlineAsRead(t *testing.T) {
	r, s := rand.New(rand.NewPCG(3, 9)), open(t, nil)
	for range 300 {
		in := randomRows(r, 1+r.IntN(3))
		for _, row := range in {
			if f, ok := row[6].(float64); ok && math.IsNaN(f) {
				row[6] = nil // NaN is not equal to itself
			}
			if r.IntN(4) == 0 {
				row[2] = strings.Repeat("é", 400)
			}
		}
		g, ok := store.InlineOf(cols, toBatch(t, in, false))
		if !ok {
			t.Fatal("not inline")
		}
		if r.IntN(3) == 0 {
			w := s.NewWriter(store.WriterOptions{Columns: cols})
			if err := w.Write(ctx, toBatch(t, in, r.IntN(2) == 0)); err != nil {
				t.Fatal(err)
			}
			list, err := w.Finish(ctx)
			if err != nil || len(list) != 1 || list[0].Inline == nil {
				t.Fatal(list, err)
			}
			g = list[0]
		}
		got, err := codec.Unmarshal[catalog.Segment](codec.Marshal(*g))
		if err != nil || !reflect.DeepEqual(got, *g) {
			t.Fatalf("%v\n%+v\n%+v", err, got, *g)
		}
	}
}

// TestInlineZones: a segment of few rows knows how many different values a column has, and whether all of a key's are.
func TestInlineZones(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	once := []types.OID{types.Int2OID, types.Int4OID, types.TextOID, types.DateOID}
	for range 500 {
		in := randomRows(r, 1+r.IntN(16))
		for i := range in {
			if r.IntN(3) == 0 { // equal values
				in[i] = slices.Clone(in[r.IntN(len(in))])
			}
		}
		g, ok := store.InlineOf(cols, toBatch(t, in, false))
		if !ok {
			t.Fatal("not inline")
		}
		for j, c := range cols {
			seen, nulls := map[string]bool{}, int64(0)
			for _, row := range in {
				if row[j] == nil {
					nulls++
				} else {
					seen[fmt.Sprint(row[j])] = true
				}
			}
			z := g.Zones[j]
			list := c.Type.Arrow().ID() == arrow.LIST
			if z.Nulls != nulls || z.Distinct != int64(len(seen)) && !(list && len(in) > 1 && z.Distinct == 0) {
				t.Fatalf("column %d: %+v of %v", c.Num, z, in)
			}
			if want := len(seen) == len(in) && (len(in) == 1 || slices.Contains(once, c.Type.OID)); z.Unique != want {
				t.Fatalf("column %d: unique is %v of %v", c.Num, z.Unique, in)
			}
		}
	}
	if _, ok := store.InlineOf(cols, toBatch(t, randomRows(r, 17), false)); ok {
		t.Error("more rows than a few")
	}
}

// TestCompactInline: compaction of inline segments keeps the live rows in order, of segments with
// all columns of the table as they are, and of segments with deleted rows or fewer columns; also of
// what a compaction made. Each row keeps its xmin.
func TestCompactInline(t *testing.T) {
	r, s := rand.New(rand.NewPCG(4, 4)), open(t, nil)
	rel := &catalog.Relation{OID: 1, Name: "t"}
	for _, c := range cols {
		rel.Columns = append(rel.Columns, catalog.Column{Num: c.Num, Type: c.Type})
	}
	last := len(cols) - 1
	rel.Columns[last].Missing = `{"a": 2}`
	for round := range 40 {
		var segs []*catalog.Segment
		var want rows
		for range 1 + r.IntN(30) {
			in := randomRows(r, 1+r.IntN(4))
			has := cols
			kind := r.IntN(4)
			if kind == 1 { // from before the last column was added
				has = cols[:last]
			}
			g, ok := store.InlineOf(has, batchOf(t, has, in, false))
			if !ok {
				t.Fatal("not inline")
			}
			for i, row := range in {
				if kind == 1 {
					row[last] = `{"a": 2}`
				}
				if kind == 2 && i == 0 { // deleted
					var err error
					if g.Deleted, g.DeletedRows, err = store.AddDeleted(g, []uint32{0}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				want = append(want, row)
			}
			g.Xmin = uint32(r.IntN(4))
			for i := len(want) - int(g.Live()); i < len(want); i++ {
				want[i] = append(slices.Clone(want[i]), int64(max(g.Xmin, catalog.FrozenXmin)))
			}
			segs = append(segs, g)
		}
		if half := len(segs) / 2; half > 0 && round%2 == 0 {
			ch, err := s.Compact(ctx, rel, 0, segs[:half], nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			segs = append(ch.New, segs[half:]...)
		}
		seen := 0
		ch, err := s.Compact(ctx, rel, 0, segs, nil, nil, func(_ context.Context, rows int) error {
			seen += rows
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		scan := scanOf(cols)
		scan.Cols = append(scan.Cols, plan.Column{ID: 1000, Name: "xmin", Type: types.XID, Num: plan.Xmin})
		got, _ := readAll(t, s, scan, manifest(ch.New...), 0, 0)
		if !same(got, want) || seen != len(want) || len(ch.Old) != len(segs) {
			t.Fatalf("round %d: %d rows, %d of them seen, not %d", round, len(got), seen, len(want))
		}
	}
	// A damaged inline segment is an error.
	g, _ := store.InlineOf(cols, toBatch(t, randomRows(r, 1), false))
	g.Inline = g.Inline[:len(g.Inline)-8]
	var bad *store.CorruptError
	if _, err := s.Compact(ctx, rel, 0, []*catalog.Segment{g}, nil, nil, nil); !errors.As(err, &bad) {
		t.Fatal(err)
	}
}
