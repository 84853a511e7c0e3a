package window

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// sliding is the state of a frame that moves over the rows: the rows that were added first are removed
// first. Its value is identical, to the bit, to that of an aggregate of the frame's rows.
type sliding interface {
	// Push adds rows [from, to) of args, Pop removes the n oldest.
	Push(args []arrow.Array, from, to int)
	Pop(n int)
	Result() types.Datum
	Bytes() int64
}

// slidingRow is the most bytes that a row takes in a sliding, without the spare capacity of slices.
const slidingRow = 64

// newSliding returns the empty state of a call's frame; nil if the call has none.
func newSliding(call expr.AggCall) sliding {
	if call.Distinct || len(call.OrderBy) > 0 {
		return nil
	}
	switch call.Fn.Name {
	case "roc_auc":
		return &slidingRanked{typ: call.Args[0].Type(), ids: map[string]uint32{}}
	case "concordance_index":
		return &slidingConcordance{}
	}
	return nil
}

type slidingRanked struct {
	typ    types.Type
	labels []string // encoded keys, which compare as the values do
	ids    map[string]uint32
	bytes  int64 // of labels and ids
	buf    []byte
	area   pairs.SlidingArea
}

func (s *slidingRanked) Push(args []arrow.Array, from, to int) {
	score := args[1].(*array.Float64)
	for i := from; i < to; i++ {
		if args[0].IsNull(i) || score.IsNull(i) {
			s.area.Skip()
			continue
		}
		s.buf = kernel.AppendKey(s.buf[:0], s.typ, args[0], i)
		s.area.Push(s.number(s.buf), f64.ScoreKey(score.Value(i)))
	}
	if len(s.labels) > 2*s.area.Rows()+1024 { // most labels belong to rows that were removed
		was := s.labels
		s.labels, s.ids, s.bytes = nil, map[string]uint32{}, 0
		s.area.Relabel(func(label uint32) uint32 { return s.number([]byte(was[label])) })
	}
}

// number returns a label's number.
func (s *slidingRanked) number(key []byte) uint32 {
	id, ok := s.ids[string(key)]
	if !ok {
		id = uint32(len(s.labels))
		s.labels = append(s.labels, string(key))
		s.ids[s.labels[id]] = id
		s.bytes += int64(len(key)) + 64
	}
	return id
}

func (s *slidingRanked) Pop(n int) {
	for range n {
		s.area.Pop()
	}
}

func (s *slidingRanked) Result() types.Datum {
	return orNull(s.area.Value(func(a, b uint32) bool { return s.labels[a] < s.labels[b] }))
}

func (s *slidingRanked) Bytes() int64 { return s.area.Held() + s.bytes }

// orNull returns v, or NULL if ok is false.
func orNull(v float64, ok bool) types.Datum {
	if !ok {
		return nil
	}
	return v
}

type slidingConcordance struct{ pairs.SlidingConcordance }

func (s *slidingConcordance) Push(args []arrow.Array, from, to int) {
	s.Move(to - from)
	time, event, risk := args[0].(*array.Float64), args[1].(*array.Boolean), args[2].(*array.Float64)
	for i := from; i < to; i++ {
		if time.IsNull(i) || event.IsNull(i) || risk.IsNull(i) {
			s.Skip()
		} else {
			s.SlidingConcordance.Push(pairs.SurvivalOf(time.Value(i), event.Value(i), risk.Value(i)))
		}
	}
}

func (s *slidingConcordance) Pop(n int) {
	s.Move(n)
	for range n {
		s.SlidingConcordance.Pop()
	}
}

func (s *slidingConcordance) Result() types.Datum { return orNull(s.Value()) }

func (s *slidingConcordance) Bytes() int64 { return s.Held() }
