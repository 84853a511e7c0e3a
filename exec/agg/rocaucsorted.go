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
	f := newAreaFold()
	if s.precision {
		f = newPrecisionFold()
	}
	return &Sorted{outcome: f, add: func(cols []arrow.Array, i int) error {
		f.add(types.DatumAt(types.Bytea, cols[0], i).([]byte), cols[1].(*array.Int64).Value(i))
		return nil
	}}
}

// scoresFold takes the scores of two labels in order, and has those that tie counted together.
type scoresFold struct {
	sides [2]foldSide
	score int64 // of the rows that tie
	over  bool
	// ended counts the rows that tie, among rows and into what the fold is of, and clears tie.
	ended func(a, b *foldSide)
	// of is the result by the greater label's side.
	of func(greater *foldSide, rows [2]int) float64
}

type foldSide struct {
	label     string
	any       bool
	rows, tie int           // in all, and of the score of now
	pairs     pairs.Counter // of an area: those in which the label's score is the greater one, twice
	sum       float64       // of an average precision: of the rows' precisions
}

func (f *scoresFold) add(label []byte, score int64) {
	if f.over {
		return
	}
	if score != f.score {
		f.ended(&f.sides[0], &f.sides[1])
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

func (f *scoresFold) result() (types.Datum, error) {
	a, b := &f.sides[0], &f.sides[1]
	f.ended(a, b)
	if f.over || !b.any {
		return nil, nil
	}
	rows := [2]int{a.rows, b.rows}
	if b.label > a.label {
		a = b
	}
	return f.of(a, rows), nil
}

func (f *scoresFold) held() int64 { return 0 }

// newAreaFold is of an area of scores that come in ascending order.
func newAreaFold() *scoresFold {
	return &scoresFold{
		ended: func(a, b *foldSide) {
			for _, p := range [2][2]*foldSide{{a, b}, {b, a}} {
				p[0].pairs.Add(2*p[0].tie, p[1].rows)
				p[0].pairs.Add(p[0].tie, p[1].tie)
			}
			a.rows, a.tie = a.rows+a.tie, 0
			b.rows, b.tie = b.rows+b.tie, 0
		},
		of: func(greater *foldSide, rows [2]int) float64 {
			return greater.pairs.Float() / (2 * (float64(rows[0]) * float64(rows[1])))
		}}
}

var _ Sortable = (*ranked)(nil)
