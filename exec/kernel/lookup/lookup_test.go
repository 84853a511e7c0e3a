package lookup

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/selection"
)

// reference looks the keys up in a Go map, one by one.
func reference[T selection.Integer](t Table, keys []T, sel []int32, less uint32) (rows []int32, heads []uint32) {
	there := map[int64]uint32{}
	for i, h := range t.Heads {
		there[t.Lo+int64(i)] = h
	}
	if sel == nil {
		for i := range keys {
			sel = append(sel, int32(i))
		}
	}
	for i, r := range sel {
		if h := there[int64(keys[r])]; h != 0 {
			rows, heads = append(rows, int32(i)), append(heads, h-less)
		}
	}
	return rows, heads
}

func check[T selection.Integer](t *testing.T, least, most int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(most)))
	for range 3000 {
		// A table at either end of the range of keys, or in between, of few keys or many.
		size := int64(r.IntN(70))
		lo := int64(T(r.Uint64()))
		switch r.IntN(3) {
		case 0:
			lo = least
		case 1:
			lo = most - size + 1
		}
		lo = min(lo, most-max(size, 1)+1)
		table := Table{Heads: make([]uint32, size), Lo: lo}
		for i := range table.Heads {
			if r.IntN(3) > 0 {
				table.Heads[i] = r.Uint32()
			}
		}
		keys := make([]T, r.IntN(100))
		for i := range keys {
			switch r.IntN(8) {
			case 0:
				keys[i] = T(r.Uint64())
			case 1:
				keys[i] = T([]int64{least, most, 0}[r.IntN(3)])
			default: // in the table or next to it
				keys[i] = T(lo + int64(r.IntN(int(size)+4)) - 2)
			}
		}
		var sel []int32
		if len(keys) > 0 && r.IntN(2) == 0 {
			sel = []int32{}
			for range r.IntN(80) {
				sel = append(sel, r.Int32N(int32(len(keys))))
			}
			slices.Sort(sel)
		}
		less := r.Uint32N(2)
		rows, heads := make([]int32, 100+Slack), make([]uint32, 100+Slack)
		k := Find(table, keys, sel, less, rows, heads)
		wantRows, wantHeads := reference(table, keys, sel, less)
		if !slices.Equal(rows[:k], wantRows) || !slices.Equal(heads[:k], wantHeads) {
			t.Fatalf("%v under %v in %d from %d on:\n%v %v, not\n%v %v", keys, sel, size, lo, rows[:k], heads[:k], wantRows, wantHeads)
		}
		if len(table.Heads) > 0 && len(keys) > 0 {
			if k := findFrom(0, 0, table, keys, sel, less, rows, heads); !slices.Equal(rows[:k], wantRows) || !slices.Equal(heads[:k], wantHeads) {
				t.Fatalf("one by one, %v under %v in %d from %d on:\n%v %v, not\n%v %v", keys, sel, size, lo, rows[:k], heads[:k], wantRows, wantHeads)
			}
		}
	}
}

// TestFind finds what a map finds, for keys at the ends of their type and outside the table on both
// sides, many at once and one by one.
func TestFind(t *testing.T) {
	check[int16](t, math.MinInt16, math.MaxInt16)
	check[int32](t, math.MinInt32, math.MaxInt32)
	check[uint32](t, 0, math.MaxUint32)
	check[int64](t, math.MinInt64, math.MaxInt64)
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 8192
	rows, heads := make([]int32, n+Slack), make([]uint32, n+Slack)
	for _, c := range []struct {
		name string
		size int
	}{{"10", 10}, {"10000", 10000}, {"10000000", 10_000_000}} {
		t := Table{Heads: make([]uint32, c.size), Lo: int64(c.size / 10)}
		for i := range t.Heads {
			t.Heads[i] = 1
		}
		var sel []int32
		keys, long := make([]int32, 256*n), make([]int64, 256*n)
		for i := range keys {
			keys[i] = r.Int32N(int32(c.size))
			long[i] = int64(keys[i])
		}
		for i := range int32(n) {
			if r.IntN(2) == 0 {
				sel = append(sel, i)
			}
		}
		at := func(i int) int { return i % 256 * n }
		for _, f := range []struct {
			name string
			f    func(i int)
		}{
			{"32", func(i int) { Find(t, keys[at(i):at(i)+n], nil, 1, rows, heads) }},
			{"64", func(i int) { Find(t, long[at(i):at(i)+n], nil, 1, rows, heads) }},
			{"sel32", func(i int) { Find(t, keys[at(i):at(i)+n], sel, 1, rows, heads) }},
			{"sel64", func(i int) { Find(t, long[at(i):at(i)+n], sel, 1, rows, heads) }},
			{"Go32", func(i int) { findFrom(0, 0, t, keys[at(i):at(i)+n], nil, 1, rows, heads) }},
			{"Go64", func(i int) { findFrom(0, 0, t, long[at(i):at(i)+n], nil, 1, rows, heads) }},
			{"Gosel32", func(i int) { findFrom(0, 0, t, keys[at(i):at(i)+n], sel, 1, rows, heads) }},
		} {
			b.Run(f.name+"/"+c.name, func(b *testing.B) {
				for i := range b.N {
					f.f(i)
				}
			})
		}
	}
}
