package agg

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// percentile is percentile_cont of one fraction over floats. It keeps the values as integers of the
// same order, NaN last.
type percentile struct {
	call   expr.AggCall
	p      []types.Datum // the fraction, once there is a value
	keys   []keyList
	slab   slab
	held   int64    // bytes of lists beside the slab
	all    []uint64 // scratch: those of a group
	buffer keyBuffer
}

// newPercentile returns nil for other calls.
func newPercentile(call expr.AggCall, args []types.Type) Agg {
	if call.Fn.Name != "percentile_cont" || call.Distinct || len(call.OrderBy) != 1 || call.OrderBy[0].Expr.Type().OID != types.Float8OID || args[0].OID != types.Float8OID {
		return nil
	}
	return &percentile{call: call}
}

func (s *percentile) desc() bool { return s.call.OrderBy[0].Desc }

func (s *percentile) Resize(groups int) { s.p, s.keys = grown(s.p, groups), grown(s.keys, groups) }

const signBit = 1 << 63

// floatOrder returns an integer that orders as x does.
func floatOrder(x float64) uint64 {
	if x != x {
		return math.MaxUint64
	}
	if b := math.Float64bits(x); b&signBit == 0 {
		return b | signBit
	} else {
		return ^b
	}
}

func orderedFloat(k uint64) float64 {
	switch {
	case k == math.MaxUint64:
		return math.NaN()
	case k&signBit != 0:
		return math.Float64frombits(k &^ signBit)
	}
	return math.Float64frombits(^k)
}

func (s *percentile) add(g uint32, key uint64) {
	p := &s.keys[g]
	if len(p.last) == cap(p.last) {
		s.held += p.next(&s.slab, 1)
	}
	p.last = append(p.last, key)
}

func (s *percentile) Update(groups []uint32, args []arrow.Array) error {
	x := args[1].(*array.Float64)
	vals, nulls := x.Float64Values(), x.NullN() > 0
	if !nulls && s.buffer.take(len(s.keys), groups, vals, args[0]) {
		if s.buffer.full() {
			s.flush()
		}
		return nil
	}
	s.flush()
	for i, g := range groups {
		if nulls && x.IsNull(i) {
			continue
		}
		if cap(s.keys[g].last) == 0 {
			s.p[g] = types.DatumAt(types.Float8, args[0], i)
		}
		s.add(g, floatOrder(vals[i]))
	}
	return nil
}

// flush adds the buffered keys to their lists. Several threads may merge from s at once.
func (s *percentile) flush() {
	s.buffer.Lock()
	defer s.buffer.Unlock()
	if len(s.buffer.groups) == 0 {
		return
	}
	s.buffer.each(len(s.keys), func(g int, keys []uint64) {
		p := &s.keys[g]
		if cap(p.last) == 0 {
			s.p[g] = s.buffer.fraction
		}
		for {
			n := copy(p.last[len(p.last):cap(p.last)], keys)
			p.last, keys = p.last[:len(p.last)+n], keys[n:]
			if len(keys) == 0 {
				break
			}
			s.held += p.next(&s.slab, len(keys))
		}
	})
}

// MergeFrom implements Merger.
func (s *percentile) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*percentile)
	s.flush()
	o.flush()
	for i, g := range groups {
		to, from := &s.keys[g], &o.keys[ids[i]]
		if cap(from.last) == 0 {
			continue
		}
		if cap(to.last) == 0 {
			s.p[g] = o.p[ids[i]]
		}
		s.held += to.take(from)
	}
	return nil
}

func (s *percentile) count(from, to int) (n int64) {
	for i := range s.keys[from:to] {
		n += int64(s.keys[from+i].n())
	}
	return n
}

// Takes implements Holistic; what a list has in reserve is charged when it is made.
func (s *percentile) Takes(_ []arrow.Array, n int) int64 { return 8 * firstKeys * int64(n) }

// Need implements Holistic.
func (s *percentile) Need(from, to int, states bool) int64 {
	if !states {
		return 0
	}
	s.flush()
	return 8*s.count(from, to) + 9*int64(to-from)
}

// States encodes the fraction, after a byte that says whether it is there, and
// the values; nothing for a group without.
func (s *percentile) States(from, to int) (arrow.Array, error) {
	le := binary.LittleEndian
	size := s.Need(from, to, true)
	if size > maxBytes {
		return nil, errTooLong(size)
	}
	offs := make([]int32, 1, to-from+1)
	dst := make([]byte, 0, size)
	for g := from; g < to; g++ {
		if s.all = s.keys[g].appendTo(s.all[:0]); len(s.all) > 0 {
			dst = s.appendFraction(dst, g)
			for _, k := range s.all {
				dst = le.AppendUint64(dst, k)
			}
		}
		offs = append(offs, int32(len(dst)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offs, dst, nil), nil
}

func (s *percentile) appendFraction(dst []byte, g int) []byte {
	p, ok := s.p[g].(float64)
	has := byte(0)
	if ok {
		has = 1
	}
	return binary.LittleEndian.AppendUint64(append(dst, has), math.Float64bits(p))
}

func (s *percentile) MergeStates(groups []uint32, states *array.Binary) error {
	s.flush()
	le := binary.LittleEndian
	for g, b := range stored(groups, states) {
		if len(b) == 0 {
			continue
		}
		if len(b) < 9 || (len(b)-9)%8 != 0 {
			return badState()
		}
		if cap(s.keys[g].last) == 0 && b[0] == 1 {
			s.p[g] = math.Float64frombits(le.Uint64(b[1:]))
		}
		for b = b[9:]; len(b) > 0; b = b[8:] {
			s.add(g, le.Uint64(b))
		}
	}
	return nil
}

func (s *percentile) Results(from, to int) (arrow.Array, error) {
	out := make([]float64, to-from)
	valid := make([]byte, batch.BitmapBytes(len(out)))
	s.flush()
	for i := range out {
		n := s.keys[from+i].n()
		p, ok := s.p[from+i].(float64)
		if n == 0 || !ok {
			continue
		}
		if err := checkFraction(p); err != nil {
			return nil, err
		}
		pos := p * float64(n-1)
		lo, hi := int(math.Floor(pos)), int(math.Ceil(pos))
		a, b := lo, hi // places of the two in the order of keys
		if s.desc() {
			a, b = n-1-lo, n-1-hi
		}
		var keys []uint64
		keys, a, b = s.about(&s.keys[from+i], n, a, b)
		placeKey(keys, a)
		if out[i] = orderedFloat(keys[a]); a != b {
			next := keys[a+1:] // of which b is the least
			if b < a {
				next = keys[:a]
				keys[b] = slices.Max(next)
			} else {
				keys[b] = slices.Min(next)
			}
			out[i] += (pos - float64(lo)) * (orderedFloat(keys[b]) - out[i])
		}
		batch.SetBit(valid, i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, valid), nil
}

func (s *percentile) Bytes() int64 {
	return int64(cap(s.keys))*64 + 8*int64(cap(s.all)) + s.held + s.slab.bytes + s.buffer.bytes()
}

const (
	aboutFrom   = 512 // keys for which a sample pays
	aboutSample = 64
	aboutRoom   = 8 // of the sample on either side
)

// about copies keys of a keyList among which are those of the places a and b, which are neighbours, in
// their order, and returns their places there: all, or, of many, those that a sample says are about
// (Floyd and Rivest, "Expected Time Bounds for Selection", 1975), if it is right.
func (s *percentile) about(p *keyList, n, a, b int) (keys []uint64, x, y int) {
	if n >= aboutFrom {
		lo, hi := p.bounds(n, min(a, b), max(a, b))
		s.all = slices.Grow(s.all[:0], n)[:n]
		k, below := 0, 0
		p.lists(func(list []uint64) {
			in, less := keysBetween(list, lo, hi, s.all[k:])
			k, below = k+in, below+less
		})
		if below <= min(a, b) && max(a, b) < below+k {
			return s.all[:k], a - below, b - below
		}
	}
	s.all = p.appendTo(s.all[:0])
	return s.all, a, b
}

// bounds returns keys of a sample that are likely to stand before and after the places a ≤ b of n.
func (p *keyList) bounds(n, a, b int) (lo, hi uint64) {
	var sample [aboutSample]uint64
	k, skip := 0, 0
	p.lists(func(list []uint64) {
		i := skip
		for ; i < len(list) && k < len(sample); i += n / aboutSample {
			sample[k] = list[i]
			k++
		}
		skip = i - len(list)
	})
	some := sample[:k]
	slices.Sort(some)
	hi = math.MaxUint64
	if at := a*k/n - aboutRoom; at >= 0 {
		lo = some[at]
	}
	if at := b*k/n + aboutRoom; at < k {
		hi = some[at]
	}
	return lo, hi
}
