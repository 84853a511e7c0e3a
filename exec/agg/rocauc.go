package agg

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/exec/spare"
	"github.com/tributarydb/tributary/sql/types"
)

// ranked is roc_auc and average_precision: it keeps the scores of each label's rows.
type ranked struct {
	byLabel[scores, *scores]
	area *pairs.Area // of group 0, once it is counted
	// precision asks for the average precision instead of the area.
	precision bool
}

// scores are keys (f64.ScoreKey) in no order. Full chunks do not change, and are shared with scores
// that they are merged into.
type scores struct {
	pairs.Keys
	cap int
}

const (
	firstScores = 8
	mostScores  = 1 << 14 // in a chunk
)

func (s *scores) held() int64 { return 8*int64(s.cap) + 24*int64(len(s.Chunks)) }

// room returns where the next keys go, at least one; took records how many were written there, and
// their bounds.
func (s *scores) room() []uint64 {
	last := len(s.Chunks) - 1
	if last < 0 || len(s.Chunks[last]) == cap(s.Chunks[last]) {
		size := min(max(s.cap, firstScores), mostScores)
		s.Chunks = append(s.Chunks, spare.Dirty[uint64](size)[:0])
		s.cap += size
		last++
	}
	c := s.Chunks[last]
	return c[len(c):cap(c)]
}

func (s *scores) took(n int, least, most uint64) {
	if n > 0 {
		if s.N == 0 {
			s.Least = least
		}
		s.Least, s.Most = min(s.Least, least), max(s.Most, most)
		c := &s.Chunks[len(s.Chunks)-1]
		*c = (*c)[:len(*c)+n]
		s.N += n
	}
}

// free returns the memory; nobody may read it any more.
func (s *scores) free() {
	for _, c := range s.Chunks {
		spare.Reuse(c)
	}
	s.Chunks, s.cap = nil, 0
}

func (s *scores) add(v uint64) {
	s.room()[0] = v
	s.took(1, v, v)
}

func (s *scores) merge(o *scores) {
	if s.N == 0 {
		s.Least = o.Least
	}
	s.Least, s.Most = min(s.Least, o.Least), max(s.Most, o.Most)
	for _, c := range o.Chunks {
		s.Chunks = append(s.Chunks, c[:len(c):len(c)])
		s.N += len(c)
		s.cap += len(c)
	}
}

func (s *scores) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.N))
	for _, c := range s.Chunks {
		for _, v := range c {
			dst = binary.LittleEndian.AppendUint64(dst, v)
		}
	}
	return dst
}

func (s *scores) decode(b []byte) ([]byte, bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w)/8 {
		return nil, false
	}
	b = b[w:]
	if s != nil {
		for k := range n {
			s.add(binary.LittleEndian.Uint64(b[8*k:]))
		}
	}
	return b[8*n:], true
}

func (s *ranked) Update(groups []uint32, args []arrow.Array) error {
	if len(groups) > 0 && same(groups) && s.one(groups[0], args) {
		return nil
	}
	score := args[1].(*array.Float64)
	label, vals := s.truth(args[0]), score.Float64Values()
	nulls := args[0].NullN()+args[1].NullN() > 0
	for i, g := range groups {
		if nulls && (args[0].IsNull(i) || score.IsNull(i)) || s.groups[g].over {
			continue
		}
		if to := s.side(g, label[i]); to != nil {
			s.change(to, func(p *scores) { p.add(f64.ScoreKey(vals[i])) })
		}
	}
	return nil
}

// UpdateList implements Lister.
func (s *ranked) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	args = listed(rows, args)
	if s.one(g, args) {
		return nil
	}
	return s.Update(s.each(g, n), args)
}

// one adds rows of one group if all have labels that it has; it returns false otherwise.
func (s *ranked) one(g uint32, args []arrow.Array) bool {
	if args[0].NullN()+args[1].NullN() > 0 {
		return false
	}
	label, vals := s.truth(args[0]), args[1].(*array.Float64).Float64Values()
	x := &s.groups[g]
	second, ok := x.of(label, len(s.labels.keys))
	if !ok {
		return false
	}
	var none [f64.SideRows]uint64
	to := [2]*scores{&x.sides[0].of, nil}
	was := to[0].held()
	if len(x.sides) == 2 {
		to[1] = &x.sides[1].of
		was += to[1].held()
	}
	for len(vals) > 0 {
		a, b := to[0].room(), none[:]
		n := min(len(vals), len(a))
		if to[1] != nil {
			b = to[1].room()
			n = min(n, len(b))
		}
		na, least, most := f64.SplitKeys(a, b, vals[:n], label[:n], second)
		to[0].took(na, least, most)
		if to[1] != nil {
			to[1].took(n-na, least, most)
		}
		vals, label = vals[n:], label[n:]
	}
	s.bytes += to[0].held() - was
	if to[1] != nil {
		s.bytes += to[1].held()
	}
	return true
}

// MergeFrom implements Merger.
func (s *ranked) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	s.mergeFrom(groups, &from.(*ranked).byLabel, ids)
	return nil
}

// Takes implements Holistic: a chunk has at most as much room as there are scores.
func (s *ranked) Takes(_ []arrow.Array, n int) int64 { return 16 * int64(n) }

// Need implements Holistic: keys of the scores, and where they are put in order.
func (s *ranked) Need(from, to int, states bool) int64 {
	if states {
		return s.holds(from, to)
	}
	most := 0 // one group after the other
	for g := from; g < to; g++ {
		n := 0
		for i := range s.groups[g].sides {
			n += s.groups[g].sides[i].of.N
		}
		most = max(most, n)
	}
	return 16 * int64(most)
}

// Begin implements ParallelResult.
func (s *ranked) Begin(workers int) (steps int) {
	sides := s.sorted(0)
	if len(sides) < 2 || s.precision {
		return 0
	}
	s.area = pairs.NewArea(&sides[1].of.Keys, &sides[0].of.Keys, workers)
	return pairs.AreaSteps
}

// Step implements ParallelResult. The scores are not needed once their pairs are counted.
func (s *ranked) Step(step, worker int) { s.area.Step(step, worker) }

// End implements ParallelResult.
func (s *ranked) End() {
	if s.area == nil {
		return
	}
	s.area.Free()
	for i := range s.groups[0].sides {
		s.change(&s.groups[0].sides[i].of, (*scores).free)
	}
}

func (s *ranked) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		if g == 0 && s.area != nil {
			return s.area.Value(), nil
		}
		sides := s.sorted(g)
		if len(sides) < 2 {
			return nil, nil
		}
		if s.precision {
			return averagePrecision(&sides[1].of.Keys, &sides[0].of.Keys), nil
		}
		return pairs.RankSum(&sides[1].of.Keys, &sides[0].of.Keys, 1), nil
	})
}
