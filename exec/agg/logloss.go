package agg

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// logLoss is log_loss, or brier_score: the mean cross-entropy of the predicted probability of the greater label.
type logLoss struct {
	byLabel[losses, *losses]
	y, hit, miss []float64 // of the rows of a batch
	square       bool      // the loss is the squared distance from 1, of rows that miss from 0
}

// losses are −Σ log p and −Σ log(1−p) of a label's rows. Where there are two sides only what the
// result needs is added: the former for the greater label, the latter for the other.
type losses struct{ hit, miss exact.Losses }

func (l *losses) held() int64 { return int64(unsafe.Sizeof(*l)) }

func (l *losses) merge(o *losses) {
	l.hit.Merge(&o.hit)
	l.miss.Merge(&o.miss)
}

func (l *losses) append(dst []byte) []byte { return l.miss.Append(l.hit.Append(dst)) }

func (l *losses) decode(b []byte) ([]byte, bool) {
	if len(b) < 2*exact.LossesBytes {
		return nil, false
	}
	if l != nil {
		var o losses
		o.hit.Decode(b)
		o.miss.Decode(b[exact.LossesBytes:])
		l.merge(&o)
	}
	return b[2*exact.LossesBytes:], true
}

func (s *logLoss) Update(groups []uint32, args []arrow.Array) error {
	if err := probabilities(args[0], args[1].(*array.Float64)); err != nil {
		return err
	}
	if len(groups) > 0 && same(groups) && s.one(groups[0], args) {
		return nil
	}
	score := args[1].(*array.Float64)
	label, p := s.truth(args[0]), score.Float64Values()
	nulls := args[0].NullN()+args[1].NullN() > 0
	s.room(len(p))
	hit, miss := s.entropies(s.hit, p, 1), s.entropies(s.miss, p, 0)
	for i, g := range groups {
		if nulls && (args[0].IsNull(i) || score.IsNull(i)) || s.groups[g].over {
			continue
		}
		to := s.side(g, label[i])
		if to == nil {
			continue
		}
		x := &s.groups[g]
		one := len(x.sides) == 1
		upper := to == &x.sides[x.upper].of
		if one || upper {
			to.hit.Add(hit[i])
		}
		if one || !upper {
			to.miss.Add(miss[i])
		}
	}
	return nil
}

// UpdateList implements Lister.
func (s *logLoss) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	args = listed(rows, args)
	if err := probabilities(args[0], args[1].(*array.Float64)); err != nil {
		return err
	}
	if s.one(g, args) {
		return nil
	}
	return s.Update(s.each(g, n), args)
}

// probabilities returns an error if the score of a row that counts is no probability.
func probabilities(label arrow.Array, score *array.Float64) error {
	for i, p := range score.Float64Values() {
		if !probable(p) && !score.IsNull(i) && !label.IsNull(i) {
			return errImprobable(p)
		}
	}
	return nil
}

// one adds rows of one group, where they are of the two labels that it has.
func (s *logLoss) one(g uint32, args []arrow.Array) bool {
	if args[0].NullN()+args[1].NullN() > 0 {
		return false
	}
	if s.square {
		return false
	}
	label, x := s.truth(args[0]), &s.groups[g]
	if _, ok := x.of(label, len(s.labels.keys)); !ok || len(x.sides) < 2 {
		return false
	}
	s.both(x, label, args[1].(*array.Float64).Float64Values())
	return true
}

// room makes room for so many rows.
func (s *logLoss) room(n int) {
	if cap(s.y) < n {
		s.y, s.hit, s.miss = make([]float64, n), make([]float64, n), make([]float64, n)
	}
}

// both adds rows of a group's two labels. The result is the sum of both sums, so the misses may be
// added to the hits.
func (s *logLoss) both(x *labelled[losses], label []uint32, p []float64) {
	upper := &x.sides[x.upper]
	s.room(f64.LossRows)
	for len(p) > 0 { // so many that they stay in the nearest cache
		n := min(len(p), f64.LossRows)
		loss := s.hit[:n]
		f64.LabelEntropy(loss, p[:n], label[:n], upper.label)
		upper.of.hit.AddAll(loss)
		p, label = p[n:], label[n:]
	}
}

// entropies returns the losses of all rows if they are hits (1) or misses (0).
func (s *logLoss) entropies(to, p []float64, hit float64) []float64 {
	y := s.y[:len(p)]
	to = to[:len(p)]
	if s.square {
		for i, v := range p {
			if to[i] = float64((hit - v) * (hit - v)); to[i] < 0x1p-53 { // exact.Losses has no lesser ones
				to[i] = 0
			}
		}
		return to
	}
	for i := range y {
		y[i] = hit
	}
	f64.CrossEntropy(to, p, y)
	return to
}

// MergeFrom implements Merger.
func (s *logLoss) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	s.mergeFrom(groups, &from.(*logLoss).byLabel, ids)
	return nil
}

func (s *logLoss) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		sides := s.sorted(g)
		switch len(sides) {
		case 0:
			return nil, nil
		case 1:
			// One label alone is negative if it is 0, false or "".
			d := &sides[0]
			if n := float64(d.of.hit.N()); s.labels.keys[d.label] == s.labels.negative() {
				return d.of.miss.Value() / n, nil
			} else {
				return d.of.hit.Value() / n, nil
			}
		}
		loss := sides[0].of.miss
		loss.Merge(&sides[1].of.hit)
		return loss.Value() / float64(loss.N()), nil
	})
}

// negative returns the key of the label that is the negative one if it is the only label.
func (l *labels) negative() string {
	var zero types.Datum = int64(0)
	switch l.typ.Form() {
	case types.FormFloat64:
		zero = 0.0
	case types.FormBool:
		zero = false
	case types.FormString:
		zero = ""
	}
	arr, err := datumColumn(l.typ, 0, 1, func(int) (types.Datum, error) { return zero, nil })
	if err != nil {
		return ""
	}
	one := labels{typ: l.typ}
	one.of(arr, 0)
	return one.keys[0]
}
