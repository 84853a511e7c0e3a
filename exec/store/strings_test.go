package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/types"
)

// TestManyStrings: strings that repeat are dictionary-encoded, even if in the first row group each
// occurs only once or twice; strings of which half are unique are not. All are read back.
func TestManyStrings(t *testing.T) {
	cs := []store.WriterColumn{{Num: 1, Type: types.Text}, {Num: 2, Type: types.Text}, {Num: 3, Type: types.Text}}
	numbered := []bool{true, false, false}
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1})
	r := rand.New(rand.NewPCG(5, 5))
	var in rows
	for i := range 3 * store.GroupRows {
		half := "the same"
		if r.IntN(2) > 0 {
			half = fmt.Sprint("one ", i)
		}
		in = append(in, []types.Datum{fmt.Sprint("one of many ", r.IntN(100_000)), half, fmt.Sprint("each ", i)})
	}
	for from := 0; from < len(in); from += 8192 {
		if err := w.Write(ctx, batchOf(t, cs, in[from:from+8192], false)); err != nil {
			t.Fatal(err)
		}
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scan := scanOf(cs)
	if got, _ := readAll(t, s, scan, manifest(segs...), store.SplitRows, 8192); !same(got, in) {
		t.Fatal("other rows come back")
	}
	pin := s.Pin(8192)
	defer pin.Close()
	rd, err := pin.Open(ctx, scan, &op.Split{Segment: segs[0], To: 10}, &function.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rd.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, col := range b.Cols {
		if got := col.DataType().ID() == arrow.DICTIONARY; got != numbered[i] {
			t.Errorf("column %d is numbered: %v", i, got)
		}
	}
}

// TestTextBounds: zone maps have the least and greatest text, also of texts that have the same
// first eight bytes or fewer than eight.
func TestTextBounds(t *testing.T) {
	cs := []store.WriterColumn{{Num: 1, Type: types.Text}, {Num: 2, Type: types.Text}}
	texts := []string{"", "a", "a\x01", "ab", "abcdefg", "abcdefgh", "abcdefgh\x01", "abcdefgha", "abcdefghb", "abcdefgi", "b", "ÿ", "zzzzzzzzz"}
	r := rand.New(rand.NewPCG(6, 6))
	s := open(t, nil)
	for range 300 {
		var in rows
		lo, hi := "", ""
		nulls := r.IntN(2) == 0
		for i := range 1 + r.IntN(12) {
			v := texts[r.IntN(len(texts))]
			if i == 0 || v < lo {
				lo = v
			}
			if i == 0 || v > hi {
				hi = v
			}
			in = append(in, []types.Datum{v, v})
			if nulls {
				in = append(in, []types.Datum{nil, nil})
			}
		}
		// The second column is dictionary-encoded.
		b := batchOf(t, cs[:1], in, false)
		b.Cols = append(b.Cols, batchOf(t, cs[1:], in, true).Cols[0])
		w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1})
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range segs[0].Zones {
			if z.Min != lo || z.Max != hi {
				t.Fatalf("%q to %q, want %q to %q", z.Min, z.Max, lo, hi)
			}
		}
	}
}

// TestTurns: strings that repeat in a cycle, so that each occurs once before the first occurs a
// second time, are dictionary-encoded.
func TestTurns(t *testing.T) {
	cs := []store.WriterColumn{{Num: 1, Type: types.Text}}
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1})
	for from := 0; from < 40_000; from += 8000 {
		var in rows
		for i := range 8000 {
			in = append(in, []types.Datum{fmt.Sprint("one in turn ", (from+i)%10_000)})
		}
		if err := w.Write(ctx, batchOf(t, cs, in, false)); err != nil {
			t.Fatal(err)
		}
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := segs[0].Zones[0].Distinct; got != 10_000 { // exact, since the dictionary counts them
		t.Errorf("%d different strings", got)
	}
}
