package agg

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// intPair is pair where both variables are integers of at most 32 bits: the same sums,
// in words that no number of rows overflows.
type intPair struct {
	fn string
	s  []intMoments
}

type intMoments struct {
	n, x, y    int64
	xx, yy, xy wide
}

// smallInts reports whether the arguments are integers of at most 32 bits, made floats.
func smallInts(args []expr.Expr) bool {
	for _, a := range args {
		c, ok := a.(*expr.Cast)
		if !ok || c.Typ.OID != types.Float8OID {
			return false
		}
		if from := c.Arg.Type().OID; from != types.Int4OID && from != types.Int2OID {
			return false
		}
	}
	return true
}

func (p *intPair) Resize(groups int) { p.s = grown(p.s, groups) }

// Update takes (Y, X), as the SQL functions do.
func (p *intPair) Update(groups []uint32, args []arrow.Array) error {
	a, b := args[0].(*array.Float64), args[1].(*array.Float64)
	ys, xs, nulls := a.Float64Values(), b.Float64Values(), a.NullN()+b.NullN() > 0
	for i, g := range groups {
		if nulls && (a.IsNull(i) || b.IsNull(i)) {
			continue
		}
		x, y, m := int64(xs[i]), int64(ys[i]), &p.s[g]
		m.n++
		m.x += x
		m.y += y
		m.xx.add(x * x)
		m.yy.add(y * y)
		m.xy.add(x * y)
	}
	return nil
}

// MergeFrom implements Merger.
func (p *intPair) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*intPair)
	for i, g := range groups {
		p.s[g].merge(&o.s[ids[i]])
	}
	return nil
}

func (m *intMoments) merge(o *intMoments) {
	m.n += o.n
	m.x += o.x
	m.y += o.y
	m.xx.merge(o.xx)
	m.yy.merge(o.yy)
	m.xy.merge(o.xy)
}

// words returns the words of an encoded state.
func (m *intMoments) words() [9]uint64 {
	return [9]uint64{uint64(m.n), uint64(m.x), uint64(m.y), m.xx.lo, uint64(m.xx.hi), m.yy.lo, uint64(m.yy.hi), m.xy.lo, uint64(m.xy.hi)}
}

func (p *intPair) MergeStates(groups []uint32, states *array.Binary) error {
	for g, b := range stored(groups, states) {
		var w [9]uint64
		if len(b) != 8*len(w) {
			return badState()
		}
		for k := range w {
			w[k] = binary.LittleEndian.Uint64(b[8*k:])
		}
		p.s[g].merge(&intMoments{int64(w[0]), int64(w[1]), int64(w[2]), wide{w[3], int64(w[4])}, wide{w[5], int64(w[6])}, wide{w[7], int64(w[8])}})
	}
	return nil
}

func (p *intPair) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for _, w := range p.s[g].words() {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
		return dst, true
	}), nil
}

func (p *intPair) Results(from, to int) (arrow.Array, error) {
	return pairResults(p.fn, from, to, func(g int) int64 { return p.s[g].n }, func(g int) (sums, error) { return p.s[g].sums(), nil })
}

func (m *intMoments) sums() sums {
	return sums{float64(m.n), float64(m.x), m.spread(m.xx, m.x, m.x), float64(m.y), m.spread(m.yy, m.y, m.y), m.spread(m.xy, m.x, m.y)}
}

// spread returns Σxy − Σx Σy / N, rounded once.
func (m *intMoments) spread(xy wide, x, y int64) float64 {
	if m.n == 0 {
		return 0
	}
	// In words where they hold it: N Σxy − Σx Σy, and a quotient of two whole numbers.
	h1, l1 := bits.Mul64(uint64(xy.lo), uint64(m.n))
	if xy.hi == 0 && h1 == 0 && l1>>62 == 0 {
		if h2, l2 := bits.Mul64(magnitude(x), magnitude(y)); h2 == 0 && l2>>62 == 0 {
			if v := int64(l1) - x*y; magnitude(v)>>53 == 0 && m.n>>53 == 0 {
				return float64(v) / float64(m.n)
			}
		}
	}
	if f, ok := exact.WordSpread(&[4]uint64{xy.lo, uint64(xy.hi), uint64(xy.hi >> 63), uint64(xy.hi >> 63)}, words128(x), words128(y), m.n); ok {
		return f
	}
	v := xy.big()
	v.Mul(v, big.NewInt(m.n))
	v.Sub(v, new(big.Int).Mul(big.NewInt(x), big.NewInt(y)))
	f, _ := new(big.Rat).SetFrac(v, big.NewInt(m.n)).Float64()
	return f
}

func words128(v int64) *[2]uint64 { return &[2]uint64{uint64(v), uint64(v >> 63)} }

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func (p *intPair) Bytes() int64 { return 72 * int64(cap(p.s)) }
