package agg

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/types"
)

var layout = rowLayout{types.Text, types.Int8, types.Bytea, types.JSONB, types.JSON}

// random makes rows of short and long values and NULLs.
func random(r *rand.Rand, n int) []types.Row {
	out := make([]types.Row, n)
	for i := range out {
		length := r.IntN(20)
		if r.IntN(500) == 0 {
			length = r.IntN(200_000) // of more than a chunk
		}
		out[i] = types.Row{strings.Repeat("x", length), r.Int64(), bytes.Repeat([]byte{byte(i)}, r.IntN(5)), `{"a": 1}`, `[1,  2]`}
		if r.IntN(4) == 0 {
			out[i][r.IntN(5)] = nil
		}
	}
	return out
}

func listOf(rows []types.Row) (*rowList, int64) {
	l, held := &rowList{}, int64(0)
	for _, row := range rows {
		held += l.Append(1, func(dst []byte) []byte { return layout.Append(dst, row) })
	}
	return l, held
}

func rowsOf(t *testing.T, l *rowList) []types.Row {
	t.Helper()
	var out []types.Row
	if err := l.Each(layout, func(row types.Row) error {
		out = append(out, slices.Clone(row))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestList: a list returns the rows that were appended in their order, as do a list that was appended to
// another, and parts of any size that follow each other. What it reports as held is what its chunks hold.
func TestList(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		one, two := random(r, r.IntN(6000)), random(r, r.IntN(3000))
		l, held := listOf(one)
		if got := rowsOf(t, l); !reflect.DeepEqual(got, slices.Clip(one)) && len(one) > 0 {
			t.Fatalf("seed %d: the rows are not those that were appended", seed)
		}
		end, err := l.From(layout, 0, func(types.Row) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		o, _ := listOf(two)
		held += l.AppendList(o)
		var later []types.Row
		if _, err := l.From(layout, end, func(row types.Row) error { later = append(later, slices.Clone(row)); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(two) > 0 && !reflect.DeepEqual(later, two) {
			t.Fatalf("seed %d: from the place after the first rows on there are %d of %d rows, or others", seed, len(later), len(two))
		}
		want := slices.Concat(one, two)
		if got := rowsOf(t, l); l.N != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d of %d rows, or others", seed, len(got), len(want))
		}
		var size, have int64
		for _, b := range l.Chunks() {
			size, have = size+int64(len(b)), have+int64(cap(b))
		}
		if l.Len() != size || held < have {
			t.Fatalf("seed %d: %d bytes of %d, %d held of %d", seed, l.Len(), size, held, have)
		}
		for _, most := range []int{1, 100, 50_000, 1 << 30} {
			parts := &rowList{}
			for at := 0; at >= 0; {
				b, next, err := l.Part(layout, at, min(most, int(size)+1))
				if err != nil {
					t.Fatal(err)
				}
				if next >= 0 && next <= at {
					t.Fatalf("seed %d: the place after %d is %d", seed, at, next)
				}
				parts.Append(0, func(dst []byte) []byte { return append(dst, b...) })
				at = next
			}
			if got := rowsOf(t, parts); len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: parts of %d bytes have %d of %d rows, or others", seed, most, len(got), len(want))
			}
		}
	}
}

// TestDamaged: bytes that are cut off, or lengths that are too large, are an error.
func TestDamaged(t *testing.T) {
	row := layout.Append(nil, types.Row{"some text", int64(7), nil, "1", nil})
	for n := 1; n < len(row); n++ {
		if _, _, err := layout.Cut(row[:n]); err == nil {
			t.Errorf("%d of %d bytes are a row", n, len(row))
		}
	}
	if _, _, err := (rowLayout{}).Cut(row); err == nil {
		t.Error("a row without values has bytes")
	}
	if (rowLayout{}).Each(row, func(types.Row) error { return nil }) == nil {
		t.Error("rows without values have bytes")
	}
}
