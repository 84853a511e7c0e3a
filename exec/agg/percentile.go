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

// percentile is percentile_cont of one fraction over floats. It keeps the values
// as numbers whose order is theirs, NaN last.
type percentile struct {
	desc bool
	p    []types.Datum // the fraction, once there is a value
	keys [][]uint64
	held int64
}

// newPercentile gives nil for other calls.
func newPercentile(call expr.AggCall, args []types.Type) Agg {
	if call.Fn.Name != "percentile_cont" || call.Distinct || len(call.OrderBy) != 1 || call.OrderBy[0].Expr.Type().OID != types.Float8OID || args[0].OID != types.Float8OID {
		return nil
	}
	return &percentile{desc: call.OrderBy[0].Desc}
}

func (s *percentile) Resize(groups int) { s.p, s.keys = grown(s.p, groups), grown(s.keys, groups) }

const signBit = 1 << 63

// floatOrder is a number that orders as x does.
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

func (s *percentile) add(g uint32, keys ...uint64) {
	was := cap(s.keys[g])
	s.keys[g] = append(s.keys[g], keys...)
	s.held += 8 * int64(cap(s.keys[g])-was)
}

func (s *percentile) Update(groups []uint32, args []arrow.Array) error {
	x := args[1].(*array.Float64)
	vals, nulls := x.Float64Values(), x.NullN() > 0
	for i, g := range groups {
		if nulls && x.IsNull(i) {
			continue
		}
		if len(s.keys[g]) == 0 {
			s.p[g] = types.DatumAt(types.Float8, args[0], i)
		}
		s.add(g, floatOrder(vals[i]))
	}
	return nil
}

// MergeFrom implements Merger.
func (s *percentile) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*percentile)
	for i, g := range groups {
		if k := ids[i]; len(o.keys[k]) > 0 {
			if len(s.keys[g]) == 0 {
				s.p[g] = o.p[k]
			}
			s.add(g, o.keys[k]...)
		}
	}
	return nil
}

func (s *percentile) count(from, to int) (n int64) {
	for _, keys := range s.keys[from:to] {
		n += int64(len(keys))
	}
	return n
}

// Takes implements Heavy; what a list has in reserve is charged when it is made.
func (s *percentile) Takes(_ []arrow.Array, n int) int64 { return 16 * int64(n) }

// Need implements Heavy.
func (s *percentile) Need(from, to int, states bool) int64 {
	if !states {
		return 0
	}
	return 8*s.count(from, to) + 9*int64(to-from)
}

// States encodes the fraction, after a byte that tells whether it is there, and
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
		if keys := s.keys[g]; len(keys) > 0 {
			p, ok := s.p[g].(float64)
			has := byte(0)
			if ok {
				has = 1
			}
			dst = le.AppendUint64(append(dst, has), math.Float64bits(p))
			for _, k := range keys {
				dst = le.AppendUint64(dst, k)
			}
		}
		offs = append(offs, int32(len(dst)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offs, dst, nil), nil
}

func (s *percentile) MergeStates(groups []uint32, states *array.Binary) error {
	le := binary.LittleEndian
	for i, g := range groups {
		b := states.Value(i)
		if len(b) == 0 {
			continue
		}
		if len(b) < 9 || (len(b)-9)%8 != 0 {
			return badState()
		}
		if len(s.keys[g]) == 0 && b[0] == 1 {
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
	for i := range out {
		keys := s.keys[from+i]
		p, ok := s.p[from+i].(float64)
		if len(keys) == 0 || !ok {
			continue
		}
		if err := checkFraction(p); err != nil {
			return nil, err
		}
		slices.Sort(keys)
		at := func(k int) float64 {
			if s.desc {
				k = len(keys) - 1 - k
			}
			return orderedFloat(keys[k])
		}
		pos := p * float64(len(keys)-1)
		lo, hi := int(math.Floor(pos)), int(math.Ceil(pos))
		if out[i] = at(lo); lo != hi {
			out[i] += (pos - float64(lo)) * (at(hi) - out[i])
		}
		batch.SetBit(valid, i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, valid), nil
}

func (s *percentile) Bytes() int64 { return int64(cap(s.keys))*40 + s.held }
