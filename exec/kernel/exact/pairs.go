package exact

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/tributarydb/tributary/exec/spare"
)

// Pairs are Σx, Σy, Σx², Σy² and Σxy of pairs of float64s, one of each a group, none of which is
// rounded. A group has 128 bytes, two lines of a cache, beside its number of pairs: the sums of values in
// two limbs, and those of products in four.
//
//	      unit               holds
//	Σx    2^(x-1075)         values of exponents x … x+50
//	Σxy   2^(x+y-2150)       products of such values
//
// Pairs that do not fit are in Longs of the group. The zero value has no groups.
type Pairs struct {
	s    []shortPair
	n    []int64
	x, y int32 // bases; 0: not chosen, there are no values but zeros
	long map[uint32]*longPair
	run  *pairRun // nil: there was no list yet

	touched uint64 // of touch, so that its reads are not left out
}

type shortPair struct {
	x, y       limbs2
	xy, xx, yy limbs4
}

type longPair struct{ x, y, xx, yy, xy Long }

const (
	shortPairBytes = 8 * 17 // with its number
	longPairBytes  = 5 * longBytes

	// Between these bases a product has no bit below the least float64, and is not infinite.
	leastPairBase = 540
	lastPairBase  = 1470
)

// Resize makes room for groups; new ones are empty.
func (t *Pairs) Resize(groups int) {
	t.s, t.n = resized(t.s, groups), resized(t.n, groups)
}

// resized returns s with room for groups, of which it never has fewer again.
func resized[T any](s []T, groups int) []T {
	if groups <= cap(s) {
		return s[:max(groups, len(s))]
	}
	out := make([]T, groups, groups+groups/2+16)
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), uintptr(cap(out))*unsafe.Sizeof(out[0]))
	spare.LargePages(all) // rows read and write it in no order
	copy(out, s)
	return out
}

// Held returns the memory of the sums.
func (t *Pairs) Held() int64 {
	n := shortPairBytes*int64(cap(t.s)) + longPairBytes*int64(len(t.long))
	if t.run != nil {
		n += pairRunBytes
	}
	return n
}

// N returns how many pairs group g has.
func (t *Pairs) N(g int) int64 { return t.n[g] }

// pairBase is the base for the first values, which are multiplied.
func pairBase[T float32 | float64](vals []T) int32 {
	most := greatest(vals)
	if most == 0 {
		return 0
	}
	return int32(min(max((most-pairRoom)&^7, leastPairBase), lastPairBase))
}

// pairRoom is how many exponents below the greatest value fit at least; those above are 12 or more.
const pairRoom = 32

// Add adds the pair of xs[i] and ys[i] to group groups[i].
func (t *Pairs) Add(groups []uint32, xs, ys []float64) {
	t.bases(xs, ys)
	for len(groups) > 0 {
		n := t.addWide(groups, xs, ys)
		if n == 0 {
			n = min(len(groups), touchedRows)
			t.touch(groups[:n])
			t.add(groups[:n], xs[:n], ys[:n])
		}
		groups, xs, ys = groups[n:], xs[n:], ys[n:]
	}
}

// bases chooses those that are not chosen.
func (t *Pairs) bases(xs, ys []float64) {
	if t.x == 0 {
		t.x = pairBase(xs)
	}
	if t.y == 0 {
		t.y = pairBase(ys)
	}
}

// addWide adds pairs as far as the processor's loop goes, and returns how many.
func (t *Pairs) addWide(groups []uint32, xs, ys []float64) int {
	n := len(groups) &^ 7
	if !wide || n == 0 || t.x == 0 || t.y == 0 {
		return 0
	}
	_, _ = xs[n-1], ys[n-1]
	n = addPairs(&t.s[0].x[0], &t.n[0], &groups[0], &xs[0], &ys[0], n, int(t.x), int(t.y), farOf(len(t.s)))
	if n > 0 {
		for _, g := range groups[n-8 : n] {
			if t.n[g]%fullRows < 8 {
				t.carry(g)
			}
		}
	}
	return n
}

const (
	touchedRows = 32
	touchGroups = 1024 // from so many on their sums are likely not in the nearest cache
)

// farOf returns 1 for so many groups that their sums are fetched ahead.
func farOf(groups int) int {
	if groups < touchGroups {
		return 0
	}
	return 1
}

// touch reads the sums of groups before any of them is added to. Of many groups most are not in the cache, and reads
// that need not wait for one sum after the other overlap.
func (t *Pairs) touch(groups []uint32) {
	if len(t.s) < touchGroups {
		return
	}
	n := t.touched
	for _, g := range groups { // two lines of a cache
		p := &t.s[g]
		n += uint64(p.x[0] ^ p.yy[3])
	}
	t.touched = n
}

func (t *Pairs) add(groups []uint32, xs, ys []float64) {
	s, ns, bx, by := t.s, t.n[:len(t.s)], int(t.x), int(t.y)
	xs, ys = xs[:len(groups)], ys[:len(groups)]
	for i, g := range groups {
		a, b := math.Float64bits(xs[i]), math.Float64bits(ys[i])
		ex, ey := uint(int(a>>52)&0x7ff-bx), uint(int(b>>52)&0x7ff-by)
		mx, my := a&mantissa|1<<52, b&mantissa|1<<52
		p := &s[g]
		ns[g]++
		ok := true
		if bx == 0 || by == 0 || ex > lastExponent || ey > lastExponent {
			var oky bool
			mx, ex, ok = odd(a, bx)
			my, ey, oky = odd(b, by)
			ok = ok && oky
		}
		if ok {
			sx, sy := int64(a)>>63, int64(b)>>63
			p.x.add(mx, ex, sx)
			p.y.add(my, ey, sy)
			p.xx.add(mx, mx, 2*ex, 0)
			p.yy.add(my, my, 2*ey, 0)
			p.xy.add(mx, my, ex+ey, sx^sy)
		} else {
			t.beyond(g).add(xs[i], ys[i])
		}
		if ns[g]%fullRows == 0 {
			t.carry(g)
		}
	}
}

// odd returns a value's mantissa and its exponent above a base; false if it has bits that are too low or too high.
func odd(b uint64, base int) (m uint64, e uint, ok bool) {
	if b<<1 == 0 {
		return 0, 0, true
	}
	exp := int(b>>52) & 0x7ff
	if base == 0 || exp == 0 {
		return 0, 0, false
	}
	m = b&mantissa | 1<<52
	switch low := base - exp; {
	case low > 52:
		return 0, 0, false
	case low > 0:
		return m >> low, 0, m&(1<<low-1) == 0
	}
	return m, uint(exp - base), exp-base <= lastExponent
}

// carry carries in the sums of a group, and moves them to its Longs where they are full.
func (t *Pairs) carry(g uint32) {
	if !t.s[g].carry() {
		t.flush(g)
	}
}

func (p *shortPair) carry() bool {
	x, y, xy, xx, yy := p.x.carry(), p.y.carry(), p.xy.carry(), p.xx.carry(), p.yy.carry()
	return x && y && xy && xx && yy
}

func (l *longPair) add(x, y float64) {
	l.x.put(x)
	l.y.put(y)
	l.xx.AddProduct(x, x)
	l.yy.AddProduct(y, y)
	l.xy.AddProduct(x, y)
}

// addShort adds sums of bases x and y, which are 0 where these are not chosen.
func (l *longPair) addShort(p *shortPair, x, y int32) { l.addWords(p.words(), x, y) }

func (l *longPair) addWords(p pairWords, x, y int32) {
	if x > 0 {
		l.x.addWords(uint(x-1), p.x[:])
		l.xx.addWords(uint(2*x-1076), p.xx[:])
	}
	if y > 0 {
		l.y.addWords(uint(y-1), p.y[:])
		l.yy.addWords(uint(2*y-1076), p.yy[:])
	}
	if x > 0 && y > 0 {
		l.xy.addWords(uint(x+y-1076), p.xy[:])
	}
}

func (l *longPair) parts() [5]*Long { return [5]*Long{&l.x, &l.y, &l.xx, &l.yy, &l.xy} }

// beyond returns the Longs of a group.
func (t *Pairs) beyond(g uint32) *longPair {
	if t.long == nil {
		t.long = map[uint32]*longPair{}
	}
	l := t.long[g]
	if l == nil {
		l = &longPair{}
		t.long[g] = l
	}
	return l
}

// flush moves the sums of a group to its Longs.
func (t *Pairs) flush(g uint32) {
	p := &t.s[g]
	t.beyond(g).addShort(p, t.x, t.y)
	*p = shortPair{}
}

// whole returns the Longs of a group with all its pairs; nil if it has none.
func (t *Pairs) whole(g int) *longPair {
	l := t.long[uint32(g)]
	if l == nil {
		return nil
	}
	c := *l
	c.addShort(&t.s[g], t.x, t.y)
	for _, p := range c.parts() {
		p.n = t.n[g]
	}
	return &c
}

// Merge adds sums ids[i] of o to group groups[i].
func (t *Pairs) Merge(groups []uint32, o *Pairs, ids []uint32) {
	t.meet(o.x, o.y)
	same := (o.x == t.x || o.x == 0) && (o.y == t.y || o.y == 0)
	for i, g := range groups {
		k := ids[i]
		t.n[g] += o.n[k]
		if p, q := &t.s[g], &o.s[k]; same && t.n[g] < fullRows {
			p.plus(q)
		} else if c := *q; same {
			c.carry()
			p.plus(&c)
			t.carry(g)
		} else {
			t.merge(g, c.words(), o.x, o.y)
		}
		if l := o.long[k]; l != nil {
			t.beyond(g).merge(l)
		}
	}
}

// plus adds sums of the same bases.
func (p *shortPair) plus(q *shortPair) {
	p.x[0] += q.x[0]
	p.x[1] += q.x[1]
	p.y[0] += q.y[0]
	p.y[1] += q.y[1]
	for i, v := range &q.xy {
		p.xy[i] += v
	}
	for i, v := range &q.xx {
		p.xx[i] += v
	}
	for i, v := range &q.yy {
		p.yy[i] += v
	}
}

func (l *longPair) merge(o *longPair) {
	from := o.parts()
	for i, p := range l.parts() {
		p.Merge(from[i])
	}
}

// meet has bases that are no higher than x and y, so that sums of these can be added.
func (t *Pairs) meet(x, y int32) {
	nx, ny := lower(t.x, x), lower(t.y, y)
	if nx == t.x && ny == t.y {
		return
	}
	if dx, dy := t.x-nx, t.y-ny; dx > 0 || dy > 0 { // sums of bases that were not chosen are 0
		for g := range t.s {
			p := &t.s[g]
			if w := p.words(); !w.move(dx, dy) || !p.set(w) {
				t.flush(uint32(g))
			}
		}
	}
	t.x, t.y = nx, ny
}

// lower returns the lower of two bases, 0 being none.
func lower(a, b int32) int32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// pairWords are the sums of a group in two's complement, as they are sent.
type pairWords struct {
	x, y       [2]uint64
	xx, yy, xy [4]uint64
}

func (p *shortPair) words() pairWords {
	return pairWords{p.x.words(), p.y.words(), p.xx.words(), p.yy.words(), p.xy.words()}
}

// set has sums that words are; false, and what it was, where it has no room for them.
func (p *shortPair) set(w pairWords) bool {
	var q shortPair
	ok := q.x.set(w.x[:]) && q.y.set(w.y[:]) && q.xx.set(w.xx[:]) && q.yy.set(w.yy[:]) && q.xy.set(w.xy[:])
	if ok {
		*p = q
	}
	return ok
}

// move has the sums in units of bases that are lower by dx and dy; false if there is no room for them. A sum of a base
// that was not chosen is 0, as is one that moves by less than nothing.
func (w *pairWords) move(dx, dy int32) bool {
	x, y := int(max(dx, 0)), int(max(dy, 0))
	return moved(w.x[:], x) && moved(w.y[:], y) && moved(w.xx[:], 2*x) && moved(w.yy[:], 2*y) && moved(w.xy[:], x+y)
}

// merge adds sums of bases that are no lower.
func (t *Pairs) merge(g uint32, o pairWords, x, y int32) {
	to, q := o, shortPair{}
	if (x != t.x && x != 0 || y != t.y && y != 0) && !to.move(x-t.x, y-t.y) || !q.set(to) {
		t.beyond(g).addWords(o, x, y)
		return
	}
	t.carry(g)
	t.s[g].plus(&q)
	t.carry(g)
}

func addWords(p, o []uint64) {
	c := uint64(0)
	for i, v := range o {
		p[i], c = bits.Add64(p[i], v, c)
	}
}

// each are all words of the sums, for bytes of them.
func (p *pairWords) each(f func(w *uint64)) {
	for _, list := range [][]uint64{p.x[:], p.y[:], p.xx[:], p.yy[:], p.xy[:]} {
		for i := range list {
			f(&list[i])
		}
	}
}

// pairHead is what every encoded group has.
const pairHead = shortPairBytes + 4

// Append appends the bytes of the sums of group g, with Longs each after its length.
func (t *Pairs) Append(dst []byte, g int) []byte {
	le, p := binary.LittleEndian, t.s[g].words()
	dst = le.AppendUint64(dst, uint64(t.n[g]))
	p.each(func(w *uint64) { dst = le.AppendUint64(dst, *w) })
	dst = le.AppendUint16(le.AppendUint16(dst, uint16(t.x)), uint16(t.y))
	if l := t.long[uint32(g)]; l != nil {
		c := *l // others may read it
		for _, s := range c.parts() {
			at := len(dst)
			dst = s.Append(append(dst, 0, 0))
			le.PutUint16(dst[at:], uint16(len(dst)-at-2))
		}
	}
	return dst
}

// MergeBytes adds what Append wrote to group g, and reports whether b is well-formed.
func (t *Pairs) MergeBytes(g uint32, b []byte) bool {
	if len(b) < pairHead {
		return false
	}
	le, at := binary.LittleEndian, 8
	n, o := int64(le.Uint64(b)), pairWords{}
	o.each(func(w *uint64) { *w, at = le.Uint64(b[at:]), at+8 })
	x, y := int32(le.Uint16(b[at:])), int32(le.Uint16(b[at+2:]))
	for _, base := range []int32{x, y} {
		if base != 0 && (base < leastPairBase || base > lastPairBase) {
			return false
		}
	}
	if n < 0 {
		return false
	}
	var l longPair
	if b = b[pairHead:]; len(b) > 0 {
		for _, s := range l.parts() {
			if len(b) < 2 {
				return false
			}
			n := int(le.Uint16(b))
			if b = b[2:]; n > len(b) || !s.Decode(b[:n]) {
				return false
			}
			b = b[n:]
		}
		if len(b) > 0 {
			return false
		}
		t.beyond(g).merge(&l)
	}
	t.meet(x, y)
	t.n[g] += n
	t.merge(g, o, x, y)
	return true
}
