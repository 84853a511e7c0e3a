package agg

import (
	"math"
	"math/bits"
	"slices"
)

// denseKeys are different keys that lie close together, a bit each.
type denseKeys struct {
	base  uint64
	words []uint64
	n     int
}

// put adds a key; it returns false for one that is too far from the others.
func (d *denseKeys) put(key uint64) bool {
	i := key - d.base
	if i>>6 >= uint64(len(d.words)) {
		return false
	}
	w, bit := &d.words[i>>6], uint64(1)<<(i&63)
	d.n += int(^*w>>(i&63)) & 1
	*w |= bit
	return true
}

// each calls f with the keys in order.
func (d *denseKeys) each(f func(key uint64)) {
	for i, w := range d.words {
		for ; w != 0; w &= w - 1 {
			f(d.base + uint64(i)<<6 + uint64(bits.TrailingZeros64(w)))
		}
	}
}

// denseWords is how many words bits of keys may take for each key.
const denseWords = 4

// newDense makes room for keys that are sorted, and for others about them; false if they lie too far apart.
func newDense(keys []uint64) (denseKeys, bool) {
	lo, hi := keys[0], keys[len(keys)-1]
	more := (hi - lo) / 8
	lo, hi = lo-min(lo, more), hi+min(^uint64(0)-hi, more)
	words := (hi-lo)>>6 + 1
	if words > denseWords*uint64(len(keys)) {
		return denseKeys{}, false
	}
	d := denseKeys{base: lo, words: make([]uint64, words)}
	for _, k := range keys {
		d.put(k)
	}
	return d, true
}

// thinFrom is the least number of keys of which duplicates are removed.
const thinFrom = 256

// thinned removes the duplicates of a group that has twice the keys of the last time, and reports whether that made
// room: a group keeps no more than some times its different values. Those that lie close together become bits.
func (s *keyed) thinned(g uint32) bool {
	if s.thin == nil {
		return false
	}
	p := &s.keys[g]
	n := p.n()
	if n < max(int(s.thin[g]), thinFrom) {
		return false
	}
	s.all = s.different(s.keysOf(s.all[:0], int(g)))
	switch {
	case s.becomesDense(g):
		s.all = s.all[:0]
	case s.isDense(g):
		s.all = s.different(p.appendTo(s.all[:0]))
	}
	s.thin[g] = uint32(min(2*len(s.all), math.MaxUint32))
	if len(s.all) > n/2 {
		return false
	}
	rest, lists := s.all, append(p.full, p.last)
	p.full, p.last = nil, nil
	for i, l := range lists {
		if i > 0 && len(rest) == 0 {
			s.free.put(l)
			continue
		}
		k := min(cap(l), len(rest))
		if i > 0 {
			p.full = append(p.full, p.last)
		}
		p.last, rest = append(l[:0], rest[:k]...), rest[k:]
	}
	return len(p.last) < cap(p.last)
}

// becomesDense makes bits of the different keys s.all of a group, if they are integers or numbers of texts.
func (s *keyed) becomesDense(g uint32) bool {
	if n, ok := s.code.(numberKeys); ok && n.floats {
		return false
	}
	d, ok := newDense(s.all)
	if !ok {
		return false
	}
	if s.dense == nil {
		s.dense = make([]denseKeys, len(s.keys))
	}
	s.beside += 8 * int64(len(d.words)-len(s.dense[g].words))
	s.dense[g] = d
	return true
}

// isDense reports whether keys of a group are bits.
func (s *keyed) isDense(g uint32) bool { return s.dense != nil && s.dense[g].n > 0 }

// keysOf appends the keys of a group.
func (s *keyed) keysOf(dst []uint64, g int) []uint64 {
	if s.dense != nil {
		s.dense[g].each(func(k uint64) { dst = append(dst, k) })
	}
	return s.keys[g].appendTo(dst)
}

// count returns how many keys a group has.
func (s *keyed) count(g int) int {
	n := s.keys[g].n()
	if s.dense != nil {
		n += s.dense[g].n
	}
	return n
}

// different sorts keys and removes duplicates.
func (s *keyed) different(keys []uint64) []uint64 {
	slices.Sort(keys)
	return slices.CompactFunc(keys, s.code.same)
}
