package store_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// FuzzInline reads hostile bytes as an inline segment: an error, or rows.
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

// TestInlineAsRead: what a commit says of a small segment equals, to the last nil, what is decoded
// from its encoding, whatever its columns: a state is the same whether the log was read or not.
func TestInlineAsRead(t *testing.T) {
	r, s := rand.New(rand.NewPCG(3, 9)), open(t, nil)
	for range 300 {
		in := randomRows(r, 1+r.IntN(3))
		for _, row := range in {
			if f, ok := row[6].(float64); ok && math.IsNaN(f) {
				row[6] = nil // it is not equal to itself
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
