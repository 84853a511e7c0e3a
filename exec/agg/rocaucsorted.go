package agg

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/sql/types"
)

// RowTypes implements Sortable: the label's key, and the score as a number whose order is
// the score's.
func (s *ranked) RowTypes() []types.Type { return []types.Type{types.Bytea, types.Int8} }

// SortKeys implements Sortable.
func (s *ranked) SortKeys() []SortKey {
	return []SortKey{{1, kernel.KeySpec{Type: types.Int8, Desc: s.precision}}}
}

// PartialState implements Sortable: a state of the scores from one on, of one label after the other.
func (s *ranked) PartialState(g, at, size int) ([]byte, int, error) {
	x := &s.groups[g]
	if x.over {
		return []byte{1}, -1, nil
	}
	state, skip, left := []byte{0}, at, max(size/8, 1)
	for i := range x.sides {
		d := &x.sides[i]
		if skip >= d.of.N {
			skip -= d.of.N
			continue
		}
		n := min(d.of.N-skip, left)
		key := s.labels.keys[d.label]
		state = append(binary.AppendUvarint(state, uint64(len(key))), key...)
		state = appendKeys(binary.AppendUvarint(state, uint64(n)), d.of.Chunks, skip, n)
		at, skip, left = at+n, 0, left-n
		if left == 0 {
			break
		}
	}
	total := 0
	for i := range x.sides {
		total += x.sides[i].of.N
	}
	if at == total {
		at = -1
	}
	return state, at, nil
}

// Rows implements Sortable. A group that is over has rows of three labels.
func (s *ranked) Rows(state []byte) ([]arrow.Array, int, error) {
	if len(state) == 0 || state[0] > 1 {
		return nil, 0, badState()
	}
	labels := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer labels.Release()
	var keys []int64
	if state[0] == 1 {
		for label := range byte(3) {
			labels.Append([]byte{label})
			keys = append(keys, 0)
		}
	}
	for b := state[1:]; len(b) > 0; {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, 0, badState()
		}
		label := b[w : w+int(n)]
		b = b[w+int(n):]
		if n, w = binary.Uvarint(b); w <= 0 || n > uint64(len(b)-w)/8 {
			return nil, 0, badState()
		}
		b = b[w:]
		for range n {
			labels.Append(label)
		}
		keys, b = signedKeys(keys, b[:8*n]), b[8*n:]
	}
	return []arrow.Array{labels.NewArray(), batch.FromSlice(arrow.PrimitiveTypes.Int64, keys, nil)}, len(keys), nil
}

// Sorted implements Sortable.
func (s *ranked) Sorted(int64) *Sorted {
	var f interface {
		outcome
		add(label []byte, score int64)
	} = &areaFold{}
	if s.precision {
		f = &precisionFold{}
	}
	return &Sorted{outcome: f, add: func(cols []arrow.Array, i int) error {
		f.add(types.DatumAt(types.Bytea, cols[0], i).([]byte), cols[1].(*array.Int64).Value(i))
		return nil
	}}
}

// areaFold is an area of scores that come in order: of each label it counts the rows, and the
// pairs in which the label's score is the greater one.
type areaFold struct {
	sides [2]foldSide
	score int64 // of the rows that tie
	over  bool
}

type foldSide struct {
	label     string
	any       bool
	rows, tie int // in all, and of the score of now
	pairs     pairs.Counter
}

func (f *areaFold) add(label []byte, score int64) {
	if f.over {
		return
	}
	if score != f.score {
		f.countTies()
		f.score = score
	}
	for i := range f.sides {
		switch d := &f.sides[i]; {
		case !d.any:
			d.label, d.any, d.tie = string(label), true, 1
			return
		case d.label == string(label):
			d.tie++
			return
		}
	}
	f.over = true
}

// countTies counts the pairs of the rows that tie.
func (f *areaFold) countTies() {
	a, b := &f.sides[0], &f.sides[1]
	for _, p := range [2][2]*foldSide{{a, b}, {b, a}} {
		p[0].pairs.Add(2*p[0].tie, p[1].rows)
		p[0].pairs.Add(p[0].tie, p[1].tie)
	}
	a.rows, a.tie = a.rows+a.tie, 0
	b.rows, b.tie = b.rows+b.tie, 0
}

func (f *areaFold) result() (types.Datum, error) {
	f.countTies()
	a, b := &f.sides[0], &f.sides[1]
	if f.over || !b.any {
		return nil, nil
	}
	if b.label > a.label {
		a = b
	}
	return a.pairs.Float() / (2 * (float64(f.sides[0].rows) * float64(f.sides[1].rows))), nil
}

func (f *areaFold) held() int64 { return 0 }

var _ Sortable = (*ranked)(nil)
