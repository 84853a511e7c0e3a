package exact

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Squares are sums of float64s and of their squares, one of each a group, none of which is rounded, in limbs as
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
	x  limbs2
	xx limbs4
	_  int64
}

type longSquares struct{ x, xx Long }

type squaresScratch struct {
	splits f64.Splits
	x      [f64.SplitRows]float64
	groups [f64.SplitRows]uint32
	lanes  [6][8]int64
}

const (
	shortSquaresBytes = 64
	longSquaresBytes  = 2 * longBytes
	// squaresBytes is the size of the scratch, about, which a thread has once.
	squaresBytes = 4*3*f64.SplitRows + 2048

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
func squareBase[T float32 | float64](vals []T) int32 { return min(pairBase(vals), lastSquareBase) }

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
	n := len(groups) &^ 7
	if !ok || !wide || n == 0 || t.base == 0 {
		return 0
	}
	_ = xs[n-1]
	n = addSquareSums(&t.s[0].n, &groups[0], &xs[0], n, int(t.base), farOf(len(t.s)))
	if n > 0 {
		for _, g := range groups[n-8 : n] {
			if t.s[g].n%fullRows < 8 {
				t.carry(g)
			}
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
		n += uint64(t.s[g].x[0])
	}
	t.touched = n
}

func addSquares[T float32 | float64](t *Squares, groups []uint32, vals []T) {
	s, base := t.s, int(t.base)
	vals = vals[:len(groups)]
	for i, g := range groups {
		p := &s[g]
		if !p.add(float64(vals[i]), base) {
			t.beyond(g).add(float64(vals[i]))
		}
		if p.n%fullRows == 0 {
			t.carry(g)
		}
	}
}

// add counts a value, and adds it if it fits.
func (p *shortSquares) add(x float64, base int) bool {
	b := math.Float64bits(x)
	e, m := uint(int(b>>52)&0x7ff-base), b&mantissa|1<<52
	p.n++
	if base == 0 || e > lastExponent {
		var ok bool
		if m, e, ok = odd(b, base); !ok {
			return false
		}
	}
	p.x.add(m, e, int64(b)>>63)
	p.xx.add(m, m, 2*e, 0)
	return true
}

// carry carries in the sums of a group, and moves them to its Longs where they are full.
func (t *Squares) carry(g uint32) {
	if !t.s[g].carry() {
		t.flush(g)
	}
}

func (p *shortSquares) carry() bool {
	x, xx := p.x.carry(), p.xx.carry()
	return x && xx
}

// squareWords are sums of values and of squares in two's complement.
type squareWords struct {
	x  [2]uint64
	xx [4]uint64
}

func (p *shortSquares) words() squareWords { return squareWords{p.x.words(), p.xx.words()} }

// set has sums that words are; false, and what it was, where it has no room for them.
func (p *shortSquares) set(w *squareWords) bool {
	q := *p
	ok := q.x.set(w.x[:]) && q.xx.set(w.xx[:])
	if ok {
		*p = q
	}
	return ok
}

func (l *longSquares) add(x float64) {
	l.x.put(x)
	l.xx.AddProduct(x, x)
}

// addShort adds sums of a base, which is 0 where it is not chosen.
func (l *longSquares) addShort(p *shortSquares, base int32) { l.addWords(p.words(), base) }

func (l *longSquares) addWords(w squareWords, base int32) {
	if base > 0 {
		l.x.addWords(uint(base-1), w.x[:])
		l.xx.addWords(uint(2*base-1076), w.xx[:])
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
	p.x, p.xx = limbs2{}, limbs4{}
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
		if f, ok := any(vals).([]float64); ok && rows == nil {
			x = f[at : at+k]
		} else if rows == nil {
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
			if k := t.addRun(g, x); k > 0 {
				at -= len(x) - k
				continue
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

// addRun adds values as far as the processor's loop for one group goes, and returns how many.
func (t *Squares) addRun(g uint32, xs []float64) int {
	if !wide || t.base == 0 {
		return 0
	}
	s := t.scratch
	clear(s.lanes[:])
	n := addSquareRun(&s.lanes[0][0], &xs[0], len(xs)&^7, int(t.base))
	if n > 0 {
		t.carry(g)
		p := &t.s[g]
		p.n += int64(n)
		for _, v := range &s.lanes[0] {
			p.x[0] += v
		}
		for _, v := range &s.lanes[1] {
			p.x[1] += v
		}
		for i := range p.xx {
			for _, v := range &s.lanes[2+i] {
				p.xx[i] += v
			}
		}
		t.carry(g)
	}
	return n
}

// addParts adds sums that are known in parts.
func (t *Squares) addParts(g uint32, x, xx []float64) {
	base, s := int(t.base), t.s[g].words()
	for _, v := range x {
		if w, exp := words(v); !addAt(s.x[:], w, exp-base) || base == 0 {
			t.beyond(g).x.put(v)
		}
	}
	for _, v := range xx {
		if w, exp := words(v); !addAt(s.xx[:], w, exp+1075-2*base) || base == 0 {
			t.beyond(g).xx.put(v)
		}
	}
	t.put(g, &s)
}

// put has the sums of a group, in its Longs where there is no room for them.
func (t *Squares) put(g uint32, s *squareWords) {
	p := &t.s[g]
	if !p.set(s) {
		t.beyond(g).addWords(*s, t.base)
		p.x, p.xx = limbs2{}, limbs4{}
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
		p, q := &t.s[g], o.s[k]
		p.n += q.n
		if same := o.base == t.base || o.base == 0; !same || p.n >= fullRows {
			q.carry()
			t.carry(g)
			if w := q.words(); !same && (!w.move(o.base-t.base) || !q.set(&w)) {
				t.beyond(g).addShort(&o.s[k], o.base)
				q = shortSquares{}
			}
		}
		p.x[0] += q.x[0]
		p.x[1] += q.x[1]
		for j, v := range &q.xx {
			p.xx[j] += v
		}
		if p.n >= fullRows {
			t.carry(g)
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
	if t.base > 0 {
		for g := range t.s {
			p := &t.s[g]
			if w := p.words(); !w.move(t.base-low) || !p.set(&w) {
				t.flush(uint32(g))
			}
		}
	}
	t.base = low
}

// move has the sums in units of a base that is lower by `by`; false if there is no room for them.
func (w *squareWords) move(by int32) bool {
	return moved(w.x[:], int(by)) && moved(w.xx[:], 2*int(by))
}

// Append appends the bytes of the sums of group g: each of the three after its length.
func (t *Squares) Append(dst []byte, g int) []byte {
	s, n := t.s[g].words(), t.s[g].n
	w := &s.xx
	x, lo, hi := shortSum{s.x[0], int64(s.x[1]), n}, shortSum{n: n}, shortSum{n: n}
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
	sums, base := t.s[g].words(), int(t.base)
	t.s[g].n += s[0].n
	for i, v := range s {
		w, at := [2]uint64{v.lo, uint64(v.hi)}, uint(max(bases[i], 1)-1)
		switch {
		case i == 0 && (base == 0 || !addAt(sums.x[:], w, int(bases[i])-base)):
			t.beyond(g).x.addWords(at, w[:])
		case i > 0 && (base == 0 || !addAt(sums.xx[:], w, int(bases[i])+1075-2*base)):
			t.beyond(g).xx.addWords(at, w[:])
		}
	}
	t.put(g, &sums)
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
	p, w := &t.s[g], t.s[g].words()
	l := t.long[uint32(g)]
	if l == nil {
		if f, ok := wordSpread(&w.xx, &w.x, &w.x, max(p.n, 1), 2*(int(max(t.base, leastPairBase))-1075)); ok {
			return f
		}
		l = &longSquares{}
	}
	c := *l
	c.addWords(w, t.base)
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
	x := t.s[g].x.words()
	if l := t.long[uint32(g)]; l != nil {
		c := l.x
		if t.base > 0 {
			c.addWords(uint(t.base-1), x[:])
		}
		return c.Value(), c.flag != 0
	}
	return shortSum{lo: x[0], hi: int64(x[1])}.value(t.base), false
}

// Append is that of Sums.
func (t SquareValues) Append(dst []byte, g int) []byte {
	x := t.s[g].x.words()
	dst = shortSum{x[0], int64(x[1]), t.s[g].n}.append(dst, t.base)
	if l := t.long[uint32(g)]; l != nil {
		c := l.x // others may read it
		dst = c.Append(dst)
	}
	return dst
}
