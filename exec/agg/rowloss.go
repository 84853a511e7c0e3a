package agg

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/types"
)

// rowLoss is the mean, or the greatest, of a loss of each row's number and its prediction.
type rowLoss struct {
	loss func(y, p, by float64) float64
	most bool // the greatest
	s    []lossOf
}

type lossOf struct {
	sum  exact.Sum
	most float64
}

// rowLosses are the losses by the names of their aggregates. by is a third argument.
var rowLosses = map[string]func(y, p, by float64) float64{
	"mean_squared_error":             func(y, p, _ float64) float64 { return float64((y - p) * (y - p)) },
	"mean_absolute_percentage_error": func(y, p, _ float64) float64 { return math.Abs(y-p) / max(math.Abs(y), 0x1p-52) },
	"max_error":                      func(y, p, _ float64) float64 { return math.Abs(y - p) },
	"mean_pinball_loss": func(y, p, by float64) float64 {
		if y < p {
			return float64((1 - by) * (p - y))
		}
		return float64(by * (y - p))
	},
}

func (e *rowLoss) Resize(groups int) { e.s = grown(e.s, groups) }

func (e *rowLoss) Update(groups []uint32, args []arrow.Array) error {
	y, p, by := args[0].(*array.Float64), args[1].(*array.Float64), 0.0
	for i, g := range groups {
		if y.IsNull(i) || p.IsNull(i) {
			continue
		}
		if len(args) > 2 {
			a := args[2].(*array.Float64)
			if a.IsNull(i) {
				continue
			}
			by = a.Value(i)
		}
		e.s[g].add(e.loss(y.Value(i), p.Value(i), by))
	}
	return nil
}

func (s *lossOf) add(loss float64) {
	s.sum.Add(loss)
	s.most = max(s.most, loss)
}

func (e *rowLoss) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		return binary.LittleEndian.AppendUint64(e.s[g].sum.Append(dst), math.Float64bits(e.s[g].most)), true
	}), nil
}

func (e *rowLoss) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Sum
	for i, g := range groups {
		if states.IsNull(i) {
			continue
		}
		b := states.Value(i)
		if len(b) != exact.Bytes+8 {
			return badState()
		}
		one.Decode(b)
		e.s[g].sum.Merge(&one)
		e.s[g].most = max(e.s[g].most, math.Float64frombits(binary.LittleEndian.Uint64(b[exact.Bytes:])))
	}
	return nil
}

func (e *rowLoss) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		switch s := &e.s[g]; {
		case s.sum.N() == 0:
			return nil, nil
		case e.most:
			return s.most, nil
		default:
			return s.sum.Value() / float64(s.sum.N()), nil
		}
	})
}

func (e *rowLoss) Bytes() int64 { return int64(cap(e.s)) * (exact.Bytes + 8) }
