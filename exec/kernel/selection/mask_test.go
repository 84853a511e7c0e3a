package selection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// reference tests row by row which values are in the range from lo to hi.
func reference[T Integer](v []T, lo, hi int64, not bool, sel []int32) []int32 {
	out := []int32{}
	for _, r := range sel {
		if (int64(v[r]) >= lo && int64(v[r]) <= hi) != not {
			out = append(out, r)
		}
	}
	return out
}

// check tests every function that reads one column, over random ranges of T.
func check[T Integer](t *testing.T, r *rand.Rand, v []T, least, most int64, mask func([]uint16, []T, Range, bool) int) {
	t.Helper()
	n := len(v)
	bound := func() int64 {
		if r.IntN(4) == 0 {
			return []int64{least, most}[r.IntN(2)]
		}
		return max(least, int64(r.IntN(24)-12))
	}
	var all, some []int32
	for i := range n {
		all = append(all, int32(i))
		if r.IntN(3) > 0 {
			some = append(some, int32(i))
		}
	}
	lo, hi := bound(), bound()
	if lo > hi {
		lo, hi = hi, lo
	}
	g := Range{Lo: lo, Width: uint64(hi) - uint64(lo), Not: r.IntN(2) == 0}
	want := reference(v, lo, hi, g.Not, all)
	m, out := make([]uint16, Words(n)), make([]int32, n+Slack)
	for i := range m {
		m[i] = uint16(r.Uint32()) // what the mask had before must not matter
	}
	if k := mask(m, v, g, false); k != len(want) || !slices.Equal(out[:Rows(m, out)], want) {
		t.Fatalf("%+v of %v: %v, want %v", g, v, out[:k], want)
	}
	want = reference(v, lo, hi, g.Not, some)
	clear(m)
	for _, s := range some {
		m[s/16] |= 1 << (s % 16)
	}
	if k := mask(m, v, g, true); k != len(want) || !slices.Equal(out[:Rows(m, out)], want) {
		t.Fatalf("%+v of %v with %v: %v, want %v", g, v, some, out[:k], want)
	}
	off := r.IntN(20)
	valid := make([]byte, (off+n)/8+1)
	for _, s := range some {
		valid[(off+int(s))/8] |= 1 << ((off + int(s)) % 8)
	}
	for i := range off { // bits before the first row, which must not count
		valid[i/8] |= uint8(r.IntN(2)) << (i % 8)
	}
	ones := make([]uint8, n)
	for i := range ones {
		ones[i] = uint8(r.IntN(128)) << 1 // bit 0 is unset, the others are any, as in entries of NULL rows
	}
	for _, s := range some {
		ones[s] |= 1
	}
	if k := FromBools(m, ones); k != len(some) || !slices.Equal(out[:Rows(m, out)], some) {
		t.Fatalf("ones of %v: %v, want %v", ones, out[:k], some)
	}
	mask(m, v, g, false)
	if k := And(m, valid, off, n); k != len(want) || !slices.Equal(out[:Rows(m, out)], want) {
		t.Fatalf("%+v of %v where %v are not NULL: %v, want %v", g, v, some, out[:k], want)
	}
	if copy(out, some); !slices.Equal(out[:Some(v, g, out[:len(some)], out)], want) {
		t.Fatalf("%+v of the rows %v of %v: %v, want %v", g, some, v, out, want)
	}
}

func TestMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := r.IntN(100)
		v16, v32, u32, v64 := make([]int16, n), make([]int32, n), make([]uint32, n), make([]int64, n)
		for i := range n {
			x := int64(r.IntN(20) - 10)
			v16[i], v32[i], u32[i], v64[i] = int16(x), int32(x), uint32(x), x
			if r.IntN(8) == 0 {
				v32[i], v64[i] = math.MinInt32, math.MinInt64
			} else if r.IntN(8) == 0 {
				v32[i], v64[i] = math.MaxInt32, math.MaxInt64
			}
		}
		check(t, r, v16, math.MinInt16, math.MaxInt16, Mask)
		check(t, r, v32, math.MinInt32, math.MaxInt32, Mask32)
		check(t, r, u32, 0, math.MaxUint32, Mask32)
		check(t, r, v64, math.MinInt64, math.MaxInt64, Mask64)
	}
}

// checkPairs tests the functions that compare two columns of T.
func checkPairs[T Integer](t *testing.T, r *rand.Rand, a, b []T, holds func(x, y T) bool, mask func([]uint16, []T, []T, bool, bool) int) {
	t.Helper()
	m, out := make([]uint16, Words(len(a))), make([]int32, len(a)+Slack)
	not, and := r.IntN(2) == 0, r.IntN(2) == 0
	want := []int32{}
	for i := range a {
		had := r.IntN(2) == 0
		if had {
			m[i/16] |= 1 << (i % 16)
		}
		if holds(a[i], b[i]) != not && (had || !and) {
			want = append(want, int32(i))
		}
	}
	if k := mask(m, a, b, not, and); k != len(want) || !slices.Equal(out[:Rows(m, out)], want) {
		t.Fatalf("%v, %v, not %t, and %t: %v, want %v", a, b, not, and, out[:k], want)
	}
}

func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := r.IntN(100)
		a32, b32, a64, b64 := make([]int32, n), make([]int32, n), make([]int64, n), make([]int64, n)
		u32, w32 := make([]uint32, n), make([]uint32, n)
		for i := range n {
			a32[i], b32[i] = r.Int32N(5)-2, r.Int32N(5)-2
			if r.IntN(8) == 0 {
				a32[i], b32[i] = math.MinInt32, math.MaxInt32
			}
			u32[i], w32[i] = uint32(a32[i]), uint32(b32[i])
			a64[i], b64[i] = int64(a32[i])<<32, int64(b32[i])<<32
		}
		checkPairs(t, r, a32, b32, func(x, y int32) bool { return x < y }, Less32)
		checkPairs(t, r, a64, b64, func(x, y int64) bool { return x < y }, Less64)
		checkPairs(t, r, a32, b32, func(x, y int32) bool { return x == y }, Equal32)
		checkPairs(t, r, u32, w32, func(x, y uint32) bool { return x == y }, Equal32)
		checkPairs(t, r, a64, b64, func(x, y int64) bool { return x == y }, Equal64)
	}
}

func TestEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		var flags Table
		for i := range flags {
			flags[i] = r.Int32N(2)
		}
		v, want, and := make([]int32, r.IntN(100)), []int32{}, r.IntN(2) == 0
		m, out := make([]uint16, Words(len(v))), make([]int32, len(v)+Slack)
		for i := range v {
			v[i] = r.Int32()
			had := r.IntN(2) == 0
			if had {
				m[i/16] |= 1 << (i % 16)
			}
			if flags[v[i]%32] == 1 && (had || !and) {
				want = append(want, int32(i))
			}
		}
		if k := Entries(m, v, &flags, and); k != len(want) || !slices.Equal(out[:Rows(m, out)], want) {
			t.Fatalf("%v of %v, and %t: %v, want %v", flags, v, and, out[:k], want)
		}
	}
}

func BenchmarkMasks(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	v32, v64, out := make([]int32, 8192), make([]int64, 8192), make([]int32, 8192+Slack)
	m := make([]uint16, Words(8192))
	var sel []int32
	for i := range v32 {
		v32[i] = r.Int32N(100)
		v64[i] = int64(v32[i])
		if r.IntN(4) == 0 {
			sel = append(sel, int32(i))
		}
	}
	g := Range{Lo: 10, Width: 20}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"mask32", func() { Mask32(m, v32, g, true) }},
		{"mask64", func() { Mask64(m, v64, g, true) }},
		{"maskGo", func() { Mask(m, v64, g, true) }},
		{"rows", func() { Mask64(m, v64, g, false); Rows(m, out) }},
		{"rowsGo", func() { rowsGo(m, out) }},
		{"some", func() { Some(v64, g, sel, out) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				c.f()
			}
		})
	}
}
