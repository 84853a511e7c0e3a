package store_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/types"
)

// textColumns are a number and a text.
var textColumns = []store.WriterColumn{{Num: 1, Type: types.Int8}, {Num: 2, Type: types.Text}}

// wideRows are texts of some size, the i-th of the same letters as text(i) says.
func wideRows(n, size int, text func(i int) int) rows {
	out := make(rows, n)
	for i := range out {
		s := strconv.Itoa(text(i)) + "-"
		out[i] = []types.Datum{int64(i), strings.Repeat(s, size/len(s)+1)[:size]}
	}
	return out
}

// TestGiveWay: a writer that waits for rows writes those it has for another operator of the
// statement, plain ones and a dictionary of long strings; the rows that come back are the same.
func TestGiveWay(t *testing.T) {
	for name, text := range map[string]func(i int) int{"different": func(i int) int { return i }, "repeated": func(i int) int { return i % 30 }} {
		s := open(t, nil)
		node := mem.NewPool("n", 16<<20)
		of := node.Child("statement", 0)
		acct, other := of.Account("w", true), of.Account("sort", true)
		w := s.NewWriter(store.WriterOptions{Columns: textColumns, Account: acct, InlineBytes: -1})
		want := wideRows(120, 100_000, text)
		for at := 0; at < len(want); at += 10 {
			if err := w.Write(ctx, batchOf(t, textColumns, want[at:at+10], false)); err != nil {
				t.Fatal(name, err)
			}
			if at != 50 {
				continue
			}
			before := acct.Used()
			if before < 2<<20 {
				t.Fatalf("%s: the writer holds %d bytes", name, before)
			}
			if err := other.Insist(ctx, 13<<20); err != nil {
				t.Fatal(name, err)
			}
			if acct.Used() > 1<<20 {
				t.Errorf("%s: the writer holds %d bytes of %d", name, acct.Used(), before)
			}
			other.Shrink(other.Used())
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, _ := readAll(t, s, scanOf(textColumns), manifest(segs...), 0, 0); !same(got, want) {
			t.Errorf("%s: other rows come back", name)
		}
		acct.Close()
		other.Close()
		if leaked := of.Close(); leaked != 0 {
			t.Errorf("%s: %d bytes are left", name, leaked)
		}
	}
}

// TestManyTimesALongString: rows that share a few long strings stay numbered when so many others
// follow that the dictionary is full: outside of it they would be gigabytes. Where they come to a
// column that is plain already, they are divided.
func TestManyTimesALongString(t *testing.T) {
	long := func(n int) *batch.Batch {
		return batchOf(t, textColumns, wideRows(n, 1<<20, func(int) int { return 7 }), true)
	}
	// others are different, and short or long
	others := func(n, size int) *batch.Batch {
		return batchOf(t, textColumns, wideRows(n, size, func(i int) int { return i }), false)
	}
	for name, batches := range map[string][]*batch.Batch{
		"numbered":  {long(3000), others(20, 300_000), long(20)},
		"plain":     {others(20, 300_000), long(100)},
		"different": {long(200), others(30_000, 20)},
	} {
		s := open(t, nil)
		pool := mem.NewPool("n", 48<<20)
		acct := pool.Account("w", true)
		w := s.NewWriter(store.WriterOptions{Columns: textColumns, Account: acct, InlineBytes: -1})
		var lengths []int
		for _, b := range batches {
			if err := w.Write(ctx, b); err != nil {
				t.Fatal(name, err)
			}
			for i := range b.N {
				lengths = append(lengths, len(types.DatumAt(types.Text, b.Cols[1], i).(string)))
			}
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(name, err)
		}
		size := int64(0)
		for _, g := range segs {
			size += g.Bytes
		}
		if size > 160<<20 || name != "plain" && size > 30<<20 {
			t.Errorf("%s: %d bytes are written", name, size)
		}
		got, _ := readAll(t, s, scanOf(textColumns), manifest(segs...), 0, 100)
		if len(got) != len(lengths) {
			t.Fatalf("%s: %d rows come back of %d", name, len(got), len(lengths))
		}
		for i, row := range got {
			if text := row[1].(string); len(text) != lengths[i] || text[:2] != "7-" && lengths[i] == 1<<20 {
				t.Fatalf("%s: row %d has another text", name, i)
			}
		}
		acct.Close()
	}
}
