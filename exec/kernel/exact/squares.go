package exact

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Squares are sums of float64s and of their squares, one of each a group, none of which is rounded.
// A square is two values: the rounded float64 and the rounding error, which lies at least
// squareBits below. The zero value has no groups.
type Squares struct {
	x, hi, lo Sums
	scratch   *squaresScratch // nil: nothing was added yet
}

type squaresScratch struct {
	splits    f64.Splits
	x, hi, lo [f64.SplitRows]float64
	groups    [f64.SplitRows]uint32
}

const (
	squareBits = 53
	// squaresBytes is the size of the scratch, about, which a thread has once.
	squaresBytes = 4*8*f64.SplitRows + 1024
)

// Resize makes room for groups; new ones are empty.
func (t *Squares) Resize(groups int) {
	t.x.Resize(groups)
	t.hi.Resize(groups)
	t.lo.Resize(groups)
}

// Held returns the memory of the sums.
func (t *Squares) Held() int64 {
	n := t.x.Held() + t.hi.Held() + t.lo.Held()
	if t.scratch != nil {
		n += squaresBytes
	}
	return n
}

// Values are the sums of the values.
func (t *Squares) Values() *Sums { return &t.x }

// N returns how many values group g has.
func (t *Squares) N(g int) int64 { return t.x.N(g) }

// base has the low parts in units 53 bits below those of the high ones: then what fits
// there fits here, whatever its size.
func (t *Squares) base() {
	if t.lo.base == 0 && t.hi.base > squareBits {
		t.lo.base = t.hi.base - squareBits
	}
}

func (t *Squares) room() *squaresScratch {
	if t.scratch == nil {
		t.scratch = &squaresScratch{}
	}
	return t.scratch
}

// square makes the parts of the squares of at most f64.SplitRows values.
func square[T float32 | float64](s *squaresScratch, vals []T) (hi, lo []float64) {
	hi, lo = s.hi[:len(vals)], s.lo[:len(vals)]
	for i, v := range vals {
		x := float64(v)
		h := float64(x * x)
		l := math.FMA(x, x, -h)
		if l-l != 0 { // of an infinity, which hi has
			l = 0
		}
		hi[i], lo[i] = h, l
	}
	return hi, lo
}

// AddSquares adds vals[i] to group groups[i].
func AddSquares[T float32 | float64](t *Squares, groups []uint32, vals []T) {
	AddFloats(&t.x, groups, vals)
	s := t.room()
	for len(groups) > 0 {
		n := min(len(groups), f64.SplitRows)
		hi, lo := square(s, vals[:n])
		AddFloats(&t.hi, groups[:n], hi)
		t.base()
		AddFloats(&t.lo, groups[:n], lo)
		groups, vals = groups[n:], vals[n:]
	}
}

// AddSquaresList adds the values of some rows, all if rows is nil, to one group, many at
// once unless they differ in size by too much.
func AddSquaresList[T float32 | float64](t *Squares, g uint32, rows []int32, vals []T) {
	s := t.room()
	for at, n := 0, listLen(rows, vals); at < n; {
		k := min(n-at, f64.SplitRows)
		if k >= splitLeast {
			k &^= f64.Lanes - 1
		}
		x := s.x[:k]
		if rows == nil {
			for i, v := range vals[at : at+k] {
				x[i] = float64(v)
			}
		} else {
			for i, r := range rows[at : at+k] {
				x[i] = float64(vals[r])
			}
		}
		at += k
		if k >= splitLeast {
			if _, _, parts, ok := f64.ColumnSplits(&s.splits, x, 1); ok[0] {
				gs := []uint32{g, g}
				AddFloats(&t.x, gs, parts[:2])
				t.x.s[g].n += int64(k - 2)
				AddFloats(&t.hi, gs, parts[2:4])
				t.base()
				AddFloats(&t.lo, gs, parts[4:6])
				continue
			}
		}
		gs := s.groups[:k]
		for i := range gs {
			gs[i] = g
		}
		AddSquares(t, gs, x)
	}
}

// Merge adds sums ids[i] of o to group groups[i].
func (t *Squares) Merge(groups []uint32, o *Squares, ids []uint32) {
	t.x.Merge(groups, &o.x, ids)
	t.hi.Merge(groups, &o.hi, ids)
	t.lo.Merge(groups, &o.lo, ids)
}

// Append appends the bytes of the sums of group g: each of the three after its length.
func (t *Squares) Append(dst []byte, g int) []byte {
	for _, s := range []*Sums{&t.x, &t.hi, &t.lo} {
		at := len(dst)
		dst = s.Append(append(dst, 0, 0), g)
		binary.LittleEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	}
	return dst
}

// MergeBytes adds what Append wrote to group g, and reports whether b is well-formed.
func (t *Squares) MergeBytes(g uint32, b []byte) bool {
	for _, s := range []*Sums{&t.x, &t.hi, &t.lo} {
		if len(b) < 2 {
			return false
		}
		n := int(binary.LittleEndian.Uint16(b))
		if b = b[2:]; n > len(b) || !s.MergeBytes(g, b[:n]) {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// Spread returns Σx² − (Σx)² / N of group g, and NaN where a value or its square is infinite.
func (t *Squares) Spread(g int) float64 {
	if f, ok := t.spread(g); ok {
		return f
	}
	x, ok := t.x.big(g)
	hi, finite := t.hi.big(g)
	if !ok || !finite {
		return math.NaN()
	}
	lo, _ := t.lo.big(g)
	n := new(big.Float).SetInt64(t.x.N(g))
	v := new(big.Float).SetPrec(bigBits).Add(hi, lo)
	v.Mul(v, n)
	v.Sub(v, new(big.Float).SetPrec(bigBits).Mul(x, x))
	f, _ := new(big.Float).SetPrec(512).Quo(v, n).Float64()
	return f
}

// Finite reports whether all values of group g are finite.
func (t *Squares) Finite(g int) bool {
	l := t.x.long[uint32(g)]
	return l == nil || l.flag == 0
}

// bigBits hold the square of any sum, times a number of rows.
const bigBits = 5000

// big returns sum g in full; false where there is an infinity or a NaN in it.
func (t *Sums) big(g int) (*big.Float, bool) {
	p := &t.s[g]
	if l := t.long[uint32(g)]; l != nil {
		c := *l
		if t.base > 0 {
			c.addShort(p.lo, p.hi, t.base)
		}
		if c.flag != 0 {
			return nil, false
		}
		return c.Big(), true
	}
	v := new(big.Int).Lsh(big.NewInt(p.hi), 64)
	v.Add(v, new(big.Int).SetUint64(p.lo))
	f := new(big.Float).SetPrec(128).SetInt(v)
	return f.SetMantExp(f, int(t.base)-1075), true
}

// spread is Spread, where no sum is in a Long.
func (t *Squares) spread(g int) (float64, bool) {
	x, ok := t.x.words(g)
	hi, ok1 := t.hi.words(g)
	lo, ok2 := t.lo.words(g)
	if !ok || !ok1 || !ok2 {
		return 0, false
	}
	base := t.hi.base
	if t.lo.base > 0 {
		d := base - t.lo.base
		if d < 0 || d > windowBits {
			return 0, false
		}
		hi.shift(uint(d))
		hi.add(&lo)
		base = t.lo.base
	}
	return spreadOf(hi, int(base)-1075, x, int(t.x.base)-1075, x, int(t.x.base)-1075, t.N(g))
}
