package exact

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// listBlock is of how many mantissas, of 53 bits, four words of 64 hold the sum.
const listBlock = 512

// mantissas are sums of mantissas by sign and exponent above the base. Values go to the two
// alternately, so that equal exponents do not wait for each other.
type mantissas [2][128]int64

// listScratch is the scratch memory for a long list.
type listScratch struct {
	splits f64.Splits
	x      [f64.SplitRows]float64
}

// listBytes is its size, about.
const listBytes = 8*f64.SplitRows + 1024

// splitLeast is the shortest list for which parts pay.
const splitLeast = 64

// AddList adds the values of some rows, all if rows is nil, to one group: for a long list by exact
// parts of sums (f64.ColumnSplits), unless its values differ in size by too much.
func AddList[T float32 | float64](t *Sums, g uint32, rows []int32, vals []T) {
	at, n := 0, listLen(rows, vals)
	for n-at >= splitLeast {
		k := min(n-at, f64.SplitRows) &^ (f64.Lanes - 1)
		if !addParts(t, g, rows, vals, at, k) {
			break
		}
		at += k
	}
	switch {
	case at == n:
	case rows == nil:
		addMantissas(t, g, nil, vals[at:])
	default:
		addMantissas(t, g, rows[at:], vals)
	}
}

// addParts adds n values from place at on, if their sum is exact in two parts; it reports whether it did.
func addParts[T float32 | float64](t *Sums, g uint32, rows []int32, vals []T, at, n int) bool {
	if t.list == nil {
		t.list = &listScratch{splits: f64.Splits{Plain: true}}
	}
	x := t.list.x[:n]
	if rows == nil {
		if all, ok := any(vals).([]float64); ok {
			x = all[at : at+n]
		} else {
			for i, v := range vals[at : at+n] {
				x[i] = float64(v)
			}
		}
	} else {
		for i, r := range rows[at : at+n] {
			x[i] = float64(vals[r])
		}
	}
	_, _, parts, ok := f64.ColumnSplits(&t.list.splits, x, 1)
	if !ok[0] {
		return false
	}
	AddFloats(t, []uint32{g, g}, parts[:2])
	t.s[g].n += int64(n - 2)
	return true
}

// addMantissas adds mantissas by exponent, unshifted, and then adds these sums, shifted (Neal 2015,
// section 4).
func addMantissas[T float32 | float64](t *Sums, g uint32, rows []int32, vals []T) {
	if t.base == 0 {
		t.base = baseOf(vals)
	}
	if t.base == 0 {
		t.base = usualBase // for zeros, and what is next to nothing
	}
	base := int(t.base)
	for from, n := 0, listLen(rows, vals); from < n; from += listBlock {
		var by mantissas
		to, odd := min(from+listBlock, n), t.s[g].n
		if rows == nil {
			for i, v := range vals[from:to] {
				b := math.Float64bits(float64(v))
				if e := uint(int(b>>52)&0x7ff - base); e <= 63 {
					by[i&1][(b>>63<<6|uint64(e))&127] += int64(b&mantissa | 1<<52)
				} else {
					t.odd(g, b)
				}
			}
		} else {
			for i, r := range rows[from:to] {
				b := math.Float64bits(float64(vals[r]))
				if e := uint(int(b>>52)&0x7ff - base); e <= 63 {
					by[i&1][(b>>63<<6|uint64(e))&127] += int64(b&mantissa | 1<<52)
				} else {
					t.odd(g, b)
				}
			}
		}
		p := &t.s[g]
		p.n += int64(to-from) - (p.n - odd)
		for e := range 64 {
			v := by[0][e] + by[1][e] - by[0][64+e] - by[1][64+e]
			if v == 0 {
				continue
			}
			lo, c := bits.Add64(p.lo, uint64(v)<<e, 0)
			p.lo = lo
			p.hi += v>>1>>(63-e) + int64(c)
			if p.hi^p.hi<<1 < 0 {
				t.flush(g)
			}
		}
	}
}

func listLen[T float32 | float64](rows []int32, vals []T) int {
	if rows == nil {
		return len(vals)
	}
	return len(rows)
}
