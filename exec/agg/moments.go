package agg

import (
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func newVariance(name string, in, out types.Type) Agg {
	pop := strings.HasSuffix(name, "_pop")
	root := strings.HasPrefix(name, "stddev")
	if in.OID == types.Float4OID || in.OID == types.Float8OID {
		return &floatVariance{in: in, pop: pop, root: root}
	}
	if in.OID != types.NumericOID || in.IsFixed() {
		return &intVariance{sums: intSum{in: in}, pop: pop, root: root}
	}
	return &exactVariance{pop: pop, root: root}
}

// pair keeps the sums of two variables: Σx, Σy, Σx², Σy², Σxy, exactly, so that the spreads follow
// from them without loss: N Σx² − (Σx)² is computed in full. So they do not depend on the
// rows' order, unlike the updates of Youngs and Cramer, which PostgreSQL uses.
type pair struct {
	fn string
	s  exact.Pairs

	groups []uint32 // of the rows of a batch that have both values
	xs, ys []float64
}

// sums are N, Σx, Σ(x−x̄)², Σy, Σ(y−ȳ)², Σ(x−x̄)(y−ȳ).
type sums struct{ n, sx, sxx, sy, syy, sxy float64 }

func (p *pair) Resize(groups int) { p.s.Resize(groups) }

// sums returns the spreads of a group. One infinite or NaN value makes them NaN.
func (p *pair) sums(g int) (s sums, err error) {
	m := p.s.Moments(g)
	s = sums{n: float64(m.N), sx: m.X, sy: m.Y}
	if s.sxx, err = finite(m.XX, m.N, m.FiniteX); err != nil {
		return s, err
	}
	if s.syy, err = finite(m.YY, m.N, m.FiniteY); err != nil {
		return s, err
	}
	s.sxy, err = finite(m.XY, m.N, m.FiniteX && m.FiniteY)
	return s, err
}

// Update takes (Y, X), as the SQL functions do.
func (p *pair) Update(groups []uint32, args []arrow.Array) error {
	y, x := args[0].(*array.Float64), args[1].(*array.Float64)
	ys, xs := y.Float64Values(), x.Float64Values()
	if y.NullN()+x.NullN() == 0 {
		p.s.Add(groups, xs, ys)
		return nil
	}
	p.groups, p.xs, p.ys = p.groups[:0], p.xs[:0], p.ys[:0]
	keep := func(from, to int) {
		p.groups, p.xs, p.ys = append(p.groups, groups[from:to]...), append(p.xs, xs[from:to]...), append(p.ys, ys[from:to]...)
	}
	switch {
	case x.NullN() == 0:
		batch.ValidRuns(y, keep)
	case y.NullN() == 0:
		batch.ValidRuns(x, keep)
	default:
		batch.ValidRuns(x, func(from, to int) {
			for i := from; i < to; i++ {
				if y.IsValid(i) {
					keep(i, i+1)
				}
			}
		})
	}
	p.s.Add(p.groups, p.xs, p.ys)
	return nil
}

func (p *pair) MergeStates(groups []uint32, states *array.Binary) error {
	for g, b := range stored(groups, states) {
		if !p.s.MergeBytes(g, b) {
			return badState()
		}
	}
	return nil
}

func (p *pair) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return p.s.Append(dst, g), true }), nil
}

func (p *pair) Results(from, to int) (arrow.Array, error) { return pairResults(p.fn, from, to, p.sums) }

// finite returns the spread of n values, which may have no float64, or squares that have none, though
// all values are finite: 22003 then. A single value has none.
func finite(spread float64, n int64, all bool) (float64, error) {
	switch {
	case spread-spread == 0 || !all:
		return spread, nil
	case n == 1:
		return 0, nil
	}
	return 0, errOverflow()
}

func errOverflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
}

// pairResults returns the values of fn by the groups' sums.
func pairResults(fn string, from, to int, of func(g int) (sums, error)) (arrow.Array, error) {
	t := types.Float8
	if fn == "regr_count" {
		t = types.Int8
	}
	return datumColumn(t, from, to, func(g int) (types.Datum, error) {
		s, err := of(g)
		if fn == "regr_count" {
			return int64(s.n), nil
		}
		if err != nil {
			return nil, err
		}
		if s.n < 1 {
			return nil, nil
		}
		return s.value(fn), nil
	})
}

func (s sums) value(fn string) types.Datum {
	switch fn {
	case "covar_pop":
		return s.sxy / s.n
	case "covar_samp":
		if s.n < 2 {
			return nil
		}
		return s.sxy / (s.n - 1)
	case "corr":
		if s.sxx == 0 || s.syy == 0 {
			return nil
		}
		return s.sxy / math.Sqrt(s.sxx*s.syy)
	case "regr_sxx":
		return s.sxx
	case "regr_syy":
		return s.syy
	case "regr_sxy":
		return s.sxy
	case "regr_avgx":
		return s.sx / s.n
	case "regr_avgy":
		return s.sy / s.n
	case "regr_r2":
		if s.sxx == 0 {
			return nil
		}
		if s.syy == 0 {
			return 1.0
		}
		return s.sxy * s.sxy / (s.sxx * s.syy)
	case "regr_slope":
		if s.sxx == 0 {
			return nil
		}
		return s.sxy / s.sxx
	case "regr_intercept":
		if s.sxx == 0 {
			return nil
		}
		return (s.sy - s.sx*s.sxy/s.sxx) / s.n
	}
	return nil
}

func (p *pair) Bytes() int64 {
	return p.s.Held() + 4*int64(cap(p.groups)) + 8*int64(cap(p.xs)+cap(p.ys))
}

// floatVariance is var and stddev of floats, from Σx and Σx².
type floatVariance struct {
	in        types.Type
	pop, root bool
	s         exact.Squares
}

func (v *floatVariance) Resize(groups int) { v.s.Resize(groups) }

func addSquares[T float32 | float64](s *exact.Squares, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) { exact.AddSquares(s, groups[from:to], vals[from:to]) })
}

func (v *floatVariance) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		addSquares(&v.s, groups, a.Float64Values(), a)
	case *array.Float32:
		addSquares(&v.s, groups, a.Float32Values(), a)
	default:
		return pgerr.Internal("variance of %s", args[0].DataType())
	}
	return nil
}

func (v *floatVariance) MergeStates(groups []uint32, states *array.Binary) error {
	for g, b := range stored(groups, states) {
		if !v.s.MergeBytes(g, b) {
			return badState()
		}
	}
	return nil
}

func (v *floatVariance) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return v.s.Append(dst, g), true }), nil
}

func (v *floatVariance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		n := float64(v.s.N(g))
		if !v.pop {
			n--
		}
		if n <= 0 {
			return nil, nil
		}
		r, err := finite(v.s.Spread(g), v.s.N(g), v.s.Finite(g))
		if err != nil {
			return nil, err
		}
		r /= n
		if v.root {
			r = math.Sqrt(r)
		}
		return r, nil
	})
}

func (v *floatVariance) Bytes() int64 { return v.s.Held() }
