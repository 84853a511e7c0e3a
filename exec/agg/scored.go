package agg

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/types"
)

// scored keeps what the scores of each label's rows are: all of them for
// roc_auc, sums for log_loss. Only two labels make sense of a score: with a
// third a group is over, and what it held is dropped.
type scored struct {
	labels labels
	ranks  bool // roc_auc
	groups []scoredGroup
	bytes  int64
}

type scoredGroup struct {
	over  bool
	sides []side // in the order of arrival, at most two
	upper int    // the side of the greater label, of two
}

// side is the rows of one label.
type side struct {
	label  uint32
	scores []float64 // of roc_auc
	// of log_loss: −Σ log p, −Σ log(1−p); where there are two sides only what is
	// asked for, the former of the greater label, the latter of the other
	hit, miss exact.Sum
}

func (s *scored) Resize(groups int) { s.groups = grown(s.groups, groups) }

// side gives the part of a group that a label's rows go to; nil if the group
// is over.
func (s *scored) side(g, label uint32) *side {
	x := &s.groups[g]
	for i := range x.sides {
		if x.sides[i].label == label {
			return &x.sides[i]
		}
	}
	if len(x.sides) == 2 {
		s.drop(x)
	}
	if x.over {
		return nil
	}
	x.sides = append(x.sides, side{label: label})
	s.bytes += 2*exact.Bytes + 32
	if len(x.sides) == 2 && s.labels.keys[x.sides[1].label] > s.labels.keys[x.sides[0].label] {
		x.upper = 1
	}
	return &x.sides[len(x.sides)-1]
}

func (s *scored) drop(x *scoredGroup) {
	for i := range x.sides {
		s.bytes -= 2*exact.Bytes + 32 + scoreBytes*int64(cap(x.sides[i].scores))
	}
	*x = scoredGroup{over: true}
}

// scoreBytes is what a score takes: its own place, and one while scores are sorted.
const scoreBytes = 16

func (s *scored) keep(to *side, scores ...float64) {
	was := cap(to.scores)
	to.scores = append(to.scores, scores...)
	s.bytes += scoreBytes * int64(cap(to.scores)-was)
}

// leastProbability is how close to 0 and 1 log_loss lets a probability be.
const leastProbability = 0x1p-52

func (s *scored) Update(groups []uint32, args []arrow.Array) error {
	score := args[1].(*array.Float64)
	label := s.labels.rows(args[0])
	nulls := args[0].NullN()+args[1].NullN() > 0
	for i, g := range groups {
		if nulls && (args[0].IsNull(i) || score.IsNull(i)) || s.groups[g].over {
			continue
		}
		to := s.side(g, label[i])
		if to == nil {
			continue
		}
		if v := score.Value(i); s.ranks {
			s.keep(to, v+0) // −0 ties with 0
		} else {
			p := min(max(v, leastProbability), 1-leastProbability)
			x := &s.groups[g]
			one := len(x.sides) == 1
			upper := to == &x.sides[x.upper]
			if one || upper {
				to.hit.Add(-math.Log(p))
			}
			if one || !upper {
				to.miss.Add(-math.Log1p(-p))
			}
		}
	}
	return nil
}

// A state is a byte that tells whether the group is over, then each side: the
// label's key with its length, and the sums, or the scores after their number.
func (s *scored) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		x := &s.groups[g]
		if x.over {
			return append(dst, 1), true
		}
		dst = append(dst, 0)
		for i := range x.sides {
			d := &x.sides[i]
			key := s.labels.keys[d.label]
			dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
			if !s.ranks {
				dst = d.miss.Append(d.hit.Append(dst))
				continue
			}
			dst = binary.AppendUvarint(dst, uint64(len(d.scores)))
			for _, v := range d.scores {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
			}
		}
		return dst, true
	}), nil
}

func (s *scored) MergeStates(groups []uint32, states *array.Binary) error {
	for i, g := range groups {
		b := states.Value(i)
		if len(b) == 0 || b[0] > 1 {
			return badState()
		}
		if x := &s.groups[g]; b[0] == 1 && !x.over {
			s.drop(x)
		}
		for b = b[1:]; len(b) > 0; {
			n, w := binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w) {
				return badState()
			}
			to := s.side(g, s.labels.number(b[w:w+int(n)]))
			b = b[w+int(n):]
			if !s.ranks {
				if len(b) < 2*exact.Bytes {
					return badState()
				}
				if to != nil {
					var e exact.Sum
					e.Decode(b)
					to.hit.Merge(&e)
					e.Decode(b[exact.Bytes:])
					to.miss.Merge(&e)
				}
				b = b[2*exact.Bytes:]
				continue
			}
			n, w = binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w)/8 {
				return badState()
			}
			b = b[w:]
			if to != nil {
				for k := range n {
					s.keep(to, math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:])))
				}
			}
			b = b[8*n:]
		}
	}
	return nil
}

func (s *scored) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		x := &s.groups[g]
		if x.over || len(x.sides) == 0 {
			return nil, nil
		}
		sides := slices.SortedFunc(slices.Values(x.sides), func(a, b side) int {
			return cmp.Compare(s.labels.keys[a.label], s.labels.keys[b.label])
		})
		if !s.ranks {
			return s.logLoss(sides), nil
		}
		if len(sides) < 2 {
			return nil, nil
		}
		return rankSum(sides[1].scores, sides[0].scores), nil
	})
}

// rankSum is the Mann-Whitney statistic over the number of pairs: the chance
// that one of pos is above one of neg, ties counting half. It sorts both.
func rankSum(pos, neg []float64) float64 {
	scratch := make([]float64, max(len(pos), len(neg))) // which keep has counted
	sortScores(pos, scratch)
	sortScores(neg, scratch)
	var above float64
	for below, i := 0, 0; i < len(pos); {
		p, ties, same := pos[i], 0, 0
		for ; below < len(neg) && cmp.Less(neg[below], p); below++ {
		}
		for ; below+ties < len(neg) && cmp.Compare(neg[below+ties], p) == 0; ties++ {
		}
		for ; i < len(pos) && cmp.Compare(pos[i], p) == 0; i++ {
			same++
		}
		above += float64(same) * (float64(below) + float64(ties)/2)
	}
	return above / (float64(len(pos)) * float64(len(neg)))
}

// logLoss is the mean cross-entropy; the score is the chance of the greater
// label. With one label present, 0, false and "" are negative, all else positive.
func (s *scored) logLoss(sides []side) types.Datum {
	if len(sides) == 1 {
		d := &sides[0]
		if n := float64(d.hit.N()); s.labels.keys[d.label] == s.negative() {
			return d.miss.Value() / n
		} else {
			return d.hit.Value() / n
		}
	}
	loss := sides[0].miss
	loss.Merge(&sides[1].hit)
	return loss.Value() / float64(loss.N())
}

// negative is the key of the label that is negative where it stands alone.
func (s *scored) negative() string {
	var zero types.Datum = int64(0)
	switch s.labels.typ.OID {
	case types.Float8OID:
		zero = 0.0
	case types.BoolOID:
		zero = false
	case types.TextOID:
		zero = ""
	}
	arr, err := datumColumn(s.labels.typ, 0, 1, func(int) (types.Datum, error) { return zero, nil })
	if err != nil {
		return ""
	}
	var one labels
	one.typ = s.labels.typ
	one.of(arr, 0)
	return one.keys[0]
}

func (s *scored) Bytes() int64 { return s.bytes + s.labels.bytes + int64(cap(s.groups))*32 }
