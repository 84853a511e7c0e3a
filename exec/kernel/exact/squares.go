package exact

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Squares are sums of float64s and of their squares, one of each a group, none of which is rounded, as
// Pairs are of two variables. A group is one line of a cache.
//
// What is sent of it is three sums as Sums has them, of values and of the high and the low bits of squares:
// there a square once was a rounded float64 and the rounding error. The zero value has no groups.
type Squares struct {
	s       []shortSquares
	base    int32 // 0: not chosen, there are no values but zeros
	long    map[uint32]*longSquares
	scratch *squaresScratch // nil: there was no list yet
	touched uint64
}

type shortSquares struct {
	n  int64
	x  [2]uint64
	xx [4]uint64
	_  uint64
}

type longSquares struct{ x, xx Long }

type squaresScratch struct {
	splits f64.Splits
	x      [f64.SplitRows]float64
	groups [f64.SplitRows]uint32
}

const (
	shortSquaresBytes = 64
	longSquaresBytes  = 2 * longBytes
	// squaresBytes is the size of the scratch, about, which a thread has once.
	squaresBytes = 4*3*f64.SplitRows + 1024

	// sentBits are those of squares that are sent as the low ones.
	sentBits = 125
	// lastSquareBase is the last of which the high bits' base is one of Sums.
	lastSquareBase = (lastBase + 1075 - sentBits) / 2
)

// Resize makes room for groups; new ones are empty.
func (t *Squares) Resize(groups int) { t.s = resized(t.s, groups) }

// Held returns the memory of the sums.
func (t *Squares) Held() int64 {
	n := shortSquaresBytes*int64(cap(t.s)) + longSquaresBytes*int64(len(t.long))
	if t.scratch != nil {
		n += squaresBytes
	}
	return n
}

// N returns how many values group g has.
func (t *Squares) N(g int) int64 { return t.s[g].n }

// squareBase is the base for the first values.
func squareBase[T float32 | float64](vals []T) int32 {
	base := baseOf(vals)
	if base == 0 {
		return 0
	}
	return min(max(base, leastPairBase), lastSquareBase)
}

// AddSquares adds vals[i] to group groups[i].
func AddSquares[T float32 | float64](t *Squares, groups []uint32, vals []T) {
	if t.base == 0 {
		t.base = squareBase(vals)
	}
	for len(groups) > 0 {
		n := addSquaresWide(t, groups, vals)
		if n == 0 {
			n = min(len(groups), touchedRows)
			t.touch(groups[:n])
			addSquares(t, groups[:n], vals[:n])
		}
		groups, vals = groups[n:], vals[n:]
	}
}

// addSquaresWide adds values as far as the processor's loop goes, and returns how many.
func addSquaresWide[T float32 | float64](t *Squares, groups []uint32, vals []T) int {
	xs, ok := any(vals).([]float64)
	if !ok || !wide || t.base == 0 {
		return 0
	}
	_ = xs[len(groups)-1]
	n := addSquareSums((*uint64)(unsafe.Pointer(&t.s[0])), &groups[0], &xs[0], len(groups), int(t.base))
	if n > 0 {
		if g := groups[n-1]; t.s[g].full() {
			t.flush(g)
		}
	}
	return n
}

// touch reads the sums of groups before any of them is added to, as that of Pairs does.
func (t *Squares) touch(groups []uint32) {
	if len(t.s) < touchGroups {
		return
	}
	n := t.touched
	for _, g := range groups {
		n += t.s[g].x[0]
	}
	t.touched = n
}

func addSquares[T float32 | float64](t *Squares, groups []uint32, vals []T) {
	s, base := t.s, int(t.base)
	vals = vals[:len(groups)]
	for i, g := range groups {
		b := math.Float64bits(float64(vals[i]))
		e, m := uint(int(b>>52)&0x7ff-base), b&mantissa|1<<52
		p := &s[g]
		p.n++
		if base == 0 || e > 63 {
			var ok bool
			if m, e, ok = odd(b, base); !ok {
				t.beyond(g).add(float64(vals[i]))
				if p.n%fullRows == 0 && p.full() {
					t.flush(g)
				}
				continue
			}
		}
		add128(&p.x, m, e, uint64(int64(b)>>63))
		hi, lo := bits.Mul64(m, m)
		add256(&p.xx, hi, lo, 2*e, 0)
		if p.full() {
			t.flush(g)
		}
	}
}

// full is that of shortPair.
func (p *shortSquares) full() bool {
	return ((p.x[1]^p.x[1]<<1)|(p.xx[3]^p.xx[3]<<1))>>62 != 0
}

func (l *longSquares) add(x float64) {
	l.x.put(x)
	l.xx.AddProduct(x, x)
}

// addShort adds sums of a base, which is 0 where it is not chosen.
func (l *longSquares) addShort(p *shortSquares, base int32) {
	if base > 0 {
		l.x.addWords(uint(base-1), p.x[:])
		l.xx.addWords(uint(2*base-1076), p.xx[:])
	}
}

// beyond returns the Longs of a group.
func (t *Squares) beyond(g uint32) *longSquares {
	if t.long == nil {
		t.long = map[uint32]*longSquares{}
	}
	l := t.long[g]
	if l == nil {
		l = &longSquares{}
		t.long[g] = l
	}
	return l
}

// flush moves the sums of a group to its Longs.
func (t *Squares) flush(g uint32) {
	p := &t.s[g]
	t.beyond(g).addShort(p, t.base)
	p.x, p.xx = [2]uint64{}, [4]uint64{}
}

// AddSquaresList adds the values of some rows, all if rows is nil, to one group, many at
// once unless they differ in size by too much.
func AddSquaresList[T float32 | float64](t *Squares, g uint32, rows []int32, vals []T) {
	if t.scratch == nil {
		t.scratch = &squaresScratch{}
	}
	s := t.scratch
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
			if t.base == 0 {
				t.base = squareBase(x)
			}
			if _, _, parts, ok := f64.ColumnSplits(&s.splits, x, 1); ok[0] {
				t.s[g].n += int64(k)
				t.addParts(g, parts[:2], parts[2:6])
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

// addParts adds sums that are known in parts.
func (t *Squares) addParts(g uint32, x, xx []float64) {
	p, base := &t.s[g], int(t.base)
	for _, v := range x {
		if w, exp := words(v); !addAt(p.x[:], w, exp-base) || base == 0 {
			t.beyond(g).x.put(v)
		}
	}
	for _, v := range xx {
		if w, exp := words(v); !addAt(p.xx[:], w, exp+1075-2*base) || base == 0 {
			t.beyond(g).xx.put(v)
		}
	}
	if p.full() {
		t.flush(g)
	}
}

// words returns a float64's mantissa, with its sign, in units of 2^(exp-1075).
func words(v float64) (w [2]uint64, exp int) {
	b := math.Float64bits(v)
	m, exp := b&mantissa, int(b>>52)&0x7ff
	if exp > 0 {
		m |= 1 << 52
	}
	sign := uint64(int64(b) >> 63)
	lo, c := bits.Add64(m^sign, 0, sign&1)
	return [2]uint64{lo, sign + c}, max(exp, 1)
}

// addAt adds w·2^by to a number; false, with nothing added, where it has bits that are too low, or
// there is no room.
func addAt(to []uint64, w [2]uint64, by int) bool {
	if w[0]|w[1] == 0 {
		return true
	}
	if by < 0 {
		low := uint(-by)
		if low > 127 || low > 64 && w[0] != 0 || low < 64 && w[0]&(1<<low-1) != 0 || low > 64 && w[1]&(1<<(low-64)-1) != 0 {
			return false
		}
		if low >= 64 {
			if w[0] != 0 {
				return false
			}
			w[0], w[1] = w[1], uint64(int64(w[1])>>63)
			low -= 64
		}
		w[0], w[1], by = w[0]>>low|w[1]<<1<<(63-low), uint64(int64(w[1])>>low), 0
	}
	if by > 64*len(to) {
		return false
	}
	var f fixed
	f.fill(w[:]...)
	if f.len()+by > 64*len(to)-2 {
		return false
	}
	f.shift(uint(by))
	addWords(to, f[:len(to)])
	return true
}

// Merge adds sums ids[i] of o to group groups[i].
func (t *Squares) Merge(groups []uint32, o *Squares, ids []uint32) {
	t.meet(o.base)
	for i, g := range groups {
		k := ids[i]
		p, q := &t.s[g], &o.s[k]
		p.n += q.n
		if o.base == t.base {
			addWords(p.x[:], q.x[:])
			addWords(p.xx[:], q.xx[:])
		} else if c := *q; o.base != 0 && !c.move(o.base-t.base) {
			t.beyond(g).addShort(q, o.base)
		} else {
			addWords(p.x[:], c.x[:])
			addWords(p.xx[:], c.xx[:])
		}
		if p.full() {
			t.flush(g)
		}
		if l := o.long[k]; l != nil {
			to := t.beyond(g)
			to.x.Merge(&l.x)
			to.xx.Merge(&l.xx)
		}
	}
}

// meet has a base that is no higher than another.
func (t *Squares) meet(base int32) {
	low := lower(t.base, base)
	if low == t.base {
		return
	}
	for g := range t.s {
		if p := &t.s[g]; t.base > 0 && !p.move(t.base-low) {
			t.flush(uint32(g))
		}
	}
	t.base = low
}

// move has the sums in units of a base that is lower by `by`; false if there is no room for them, which leaves them
// as they are.
func (p *shortSquares) move(by int32) bool {
	var x, xx fixed
	x.fill(p.x[:]...)
	xx.fill(p.xx[:]...)
	if by > 64 || x.len()+int(by) > 126 || xx.len()+2*int(by) > 254 {
		return false
	}
	x.shift(uint(by))
	xx.shift(uint(2 * by))
	copy(p.x[:], x[:])
	copy(p.xx[:], xx[:])
	return true
}

// Append appends the bytes of the sums of group g: each of the three after its length.
func (t *Squares) Append(dst []byte, g int) []byte {
	p, w := &t.s[g], &t.s[g].xx
	x, lo, hi := shortSum{p.x[0], int64(p.x[1]), p.n}, shortSum{n: p.n}, shortSum{n: p.n}
	bases := [3]int32{t.base, 0, 0}
	var xl, xxl *Long
	if l := t.long[uint32(g)]; l != nil {
		c := *l // others may read it
		xl, xxl = &c.x, &c.xx
	}
	if t.base > 0 {
		// Squares are at least 0. What more than twice 125 bits has is in a Long.
		bases[2] = 2*t.base - 1075
		bases[1] = bases[2] + sentBits
		const up = sentBits - 64
		if w[3]>>(2*sentBits-192) == 0 {
			lo.lo, lo.hi = w[0], int64(w[1]&(1<<up-1))
			hi.lo, hi.hi = w[1]>>up|w[2]<<(64-up), int64(w[2]>>up|w[3]<<(64-up))
		} else {
			if xxl == nil {
				xxl = &Long{}
			}
			xxl.addWords(uint(2*t.base-1076), w[:])
		}
	}
	for i, s := range [3]shortSum{x, hi, lo} {
		at := len(dst)
		dst = s.append(append(dst, 0, 0), bases[i])
		if l := [3]*Long{xl, xxl, nil}[i]; l != nil {
			dst = l.Append(dst)
		}
		binary.LittleEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	}
	return dst
}

// MergeBytes adds what Append wrote, or once did, to group g, and reports whether b is well-formed.
func (t *Squares) MergeBytes(g uint32, b []byte) bool {
	var s [3]shortSum
	var bases [3]int32
	var l [3]Long
	long := false
	for i := range s {
		if len(b) < 2 {
			return false
		}
		n := int(binary.LittleEndian.Uint16(b))
		if b = b[2:]; n > len(b) {
			return false
		}
		var ok bool
		if s[i], bases[i], ok = decodeShort(b[:n], &l[i]); !ok {
			return false
		}
		long = long || n > sumHead
		b = b[n:]
	}
	if len(b) > 0 {
		return false
	}
	if bases[0] > 0 {
		t.meet(min(max(bases[0], leastPairBase), lastSquareBase))
	}
	p, base := &t.s[g], int(t.base)
	p.n += s[0].n
	for i, v := range s {
		w, at := [2]uint64{v.lo, uint64(v.hi)}, uint(max(bases[i], 1)-1)
		switch {
		case i == 0 && (base == 0 || !addAt(p.x[:], w, int(bases[i])-base)):
			t.beyond(g).x.addWords(at, w[:])
		case i > 0 && (base == 0 || !addAt(p.xx[:], w, int(bases[i])+1075-2*base)):
			t.beyond(g).xx.addWords(at, w[:])
		}
	}
	if p.full() {
		t.flush(g)
	}
	if long {
		to := t.beyond(g)
		to.x.Merge(&l[0])
		to.xx.Merge(&l[1])
		to.xx.Merge(&l[2])
	}
	return true
}

// Spread returns Σx² − (Σx)² / N of group g, and NaN where a value or its square is infinite.
func (t *Squares) Spread(g int) float64 {
	p := &t.s[g]
	l := t.long[uint32(g)]
	if l == nil {
		if f, ok := wordSpread(&p.xx, &p.x, &p.x, max(p.n, 1), 2*(int(max(t.base, leastPairBase))-1075)); ok {
			return f
		}
		l = &longSquares{}
	}
	c := *l
	c.addShort(p, t.base)
	c.x.n = p.n
	return productSpread(&c.xx, &c.x, &c.x)
}

// Finite reports whether all values of group g are finite.
func (t *Squares) Finite(g int) bool {
	l := t.long[uint32(g)]
	return l == nil || l.x.flag == 0
}

// SquareValues are the sums of the values alone, as Sums has them.
type SquareValues struct{ *Squares }

// Value is that of Sums.
func (t SquareValues) Value(g int) (v float64, special bool) {
	p := &t.s[g]
	if l := t.long[uint32(g)]; l != nil {
		c := l.x
		if t.base > 0 {
			c.addWords(uint(t.base-1), p.x[:])
		}
		return c.Value(), c.flag != 0
	}
	return shortSum{lo: p.x[0], hi: int64(p.x[1])}.value(t.base), false
}

// Append is that of Sums.
func (t SquareValues) Append(dst []byte, g int) []byte {
	p := &t.s[g]
	dst = shortSum{p.x[0], int64(p.x[1]), p.n}.append(dst, t.base)
	if l := t.long[uint32(g)]; l != nil {
		c := l.x // others may read it
		dst = c.Append(dst)
	}
	return dst
}
