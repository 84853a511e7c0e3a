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

// TestManyStrings: strings that come again are numbered, though in the first group each
// has come but once or twice, and strings half of which do not are not; all are read.
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
