package agg

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

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
	return &exactVariance{in: in, pop: pop, root: root}
}

// pair keeps the sums of two variables: Σx, Σy, Σx², Σy², Σxy, exactly enough
// that the spreads can be had from them without loss: N Σx² − (Σx)² is computed
// in full. So they do not depend on the rows' order, as the updates of Youngs
// and Cramer, which PostgreSQL uses, do.
type pair struct {
	fn string
	s  []moments
}

type moments struct{ x, y, xx, yy, xy exact.Sum }

// sums are N, Σx, Σ(x−x̄)², Σy, Σ(y−ȳ)², Σ(x−x̄)(y−ȳ).
type sums struct{ n, sx, sxx, sy, syy, sxy float64 }

func (p *pair) Resize(groups int) { p.s = grown(p.s, groups) }

func (m *moments) add(x, y float64) {
	m.x.Add(x)
	m.y.Add(y)
	m.xx.AddProduct(x, x)
	m.yy.AddProduct(y, y)
	m.xy.AddProduct(x, y)
}

func (m *moments) parts() [5]*exact.Sum { return [5]*exact.Sum{&m.x, &m.y, &m.xx, &m.yy, &m.xy} }

// sums gives the spreads. One infinite or NaN value makes them NaN.
func (m *moments) sums() sums {
	s := sums{n: float64(m.x.N()), sx: m.x.Value(), sy: m.y.Value()}
	if m.x.N() > 0 {
		s.sxx, s.syy, s.sxy = exact.Spread(&m.xx, &m.x, &m.x), exact.Spread(&m.yy, &m.y, &m.y), exact.Spread(&m.xy, &m.x, &m.y)
	}
	return s
}

// Update takes (Y, X), as the SQL functions do.
func (p *pair) Update(groups []uint32, args []arrow.Array) error {
	y, x := args[0].(*array.Float64), args[1].(*array.Float64)
	for i, g := range groups {
		if !x.IsNull(i) && !y.IsNull(i) {
			p.s[g].add(x.Value(i), y.Value(i))
		}
	}
	return nil
}

func (p *pair) MergeStates(groups []uint32, states *array.Binary) error {
	var e exact.Sum
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != 5*exact.Bytes {
			return badState()
		}
		for k, to := range p.s[g].parts() {
			e.Decode(b[k*exact.Bytes:])
			to.Merge(&e)
		}
	}
	return nil
}

func (p *pair) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for _, e := range p.s[g].parts() {
			dst = e.Append(dst)
		}
		return dst, true
	}), nil
}

func (p *pair) Results(from, to int) (arrow.Array, error) {
	t := types.Float8
	if p.fn == "regr_count" {
		t = types.Int8
	}
	return datumColumn(t, from, to, func(g int) (types.Datum, error) {
		m := &p.s[g]
		if p.fn == "regr_count" {
			return m.x.N(), nil
		}
		if m.x.N() < 1 {
			return nil, nil
		}
		return m.sums().value(p.fn), nil
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

func (p *pair) Bytes() int64 { return int64(cap(p.s)) * 5 * exact.Bytes }

// floatVariance is var and stddev of floats, from Σx and Σx².
type floatVariance struct {
	in        types.Type
	pop, root bool
	x, xx     []exact.Sum
}

func (v *floatVariance) Resize(groups int) { v.x, v.xx = grown(v.x, groups), grown(v.xx, groups) }

func addSquares[T float32 | float64](v *floatVariance, groups []uint32, vals []T, arr arrow.Array) {
	for i, g := range groups {
		if !arr.IsNull(i) {
			x := float64(vals[i])
			v.x[g].Add(x)
			v.xx[g].AddProduct(x, x)
		}
	}
}

func (v *floatVariance) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		addSquares(v, groups, a.Float64Values(), a)
	case *array.Float32:
		addSquares(v, groups, a.Float32Values(), a)
	default:
		return pgerr.Internal("variance of %s", args[0].DataType())
	}
	return nil
}

func (v *floatVariance) MergeStates(groups []uint32, states *array.Binary) error {
	var e exact.Sum
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != 2*exact.Bytes {
			return badState()
		}
		e.Decode(b)
		v.x[g].Merge(&e)
		e.Decode(b[exact.Bytes:])
		v.xx[g].Merge(&e)
	}
	return nil
}

func (v *floatVariance) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return v.xx[g].Append(v.x[g].Append(dst)), true }), nil
}

func (v *floatVariance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		n := float64(v.x[g].N())
		if !v.pop {
			n--
		}
		if n <= 0 {
			return nil, nil
		}
		r := exact.Spread(&v.xx[g], &v.x[g], &v.x[g]) / n
		if v.root {
			r = math.Sqrt(r)
		}
		return r, nil
	})
}

func (v *floatVariance) Bytes() int64 { return int64(cap(v.x)) * 2 * exact.Bytes }

// exactVariance is var and stddev of integers and numerics: N, Σx and Σx²
// exactly, as numeric_stddev_internal has it.
type exactVariance struct {
	in        types.Type
	pop, root bool
	n         []int64
	sx, sxx   []types.Decimal
}

func (v *exactVariance) Resize(groups int) {
	v.n, v.sx, v.sxx = grown(v.n, groups), grown(v.sx, groups), grown(v.sxx, groups)
}

func (v *exactVariance) Update(groups []uint32, args []arrow.Array) error {
	for i, g := range groups {
		var x types.Decimal
		switch d := types.DatumAt(v.in, args[0], i).(type) {
		case int64:
			x = types.DecimalFromInt64(d, 0)
		case types.Decimal:
			x = d
		default:
			continue
		}
		sq, err := x.Mul(x)
		if err != nil {
			return err
		}
		if err := v.add(g, 1, x, sq); err != nil {
			return err
		}
	}
	return nil
}

func (v *exactVariance) add(g uint32, n int64, x, xx types.Decimal) (err error) {
	if v.n[g] == 0 {
		v.n[g], v.sx[g], v.sxx[g] = n, x, xx
		return nil
	}
	v.n[g] += n
	if v.sx[g], err = v.sx[g].Add(x); err != nil {
		return err
	}
	v.sxx[g], err = v.sxx[g].Add(xx)
	return err
}

func (v *exactVariance) MergeStates(groups []uint32, states *array.Binary) error {
	for i, g := range groups {
		n, rest, err := getU64(states.Value(i))
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		size, rest, err := getU64(rest)
		if err != nil || size > uint64(len(rest)) {
			return badState()
		}
		x, err := types.DecodeDecimal(rest[:size])
		if err != nil {
			return err
		}
		xx, err := types.DecodeDecimal(rest[size:])
		if err != nil {
			return err
		}
		if err := v.add(g, int64(n), x, xx); err != nil {
			return err
		}
	}
	return nil
}

func (v *exactVariance) States(from, to int) (arrow.Array, error) {
	le := binary.LittleEndian
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		dst = le.AppendUint64(dst, uint64(v.n[g]))
		if v.n[g] == 0 {
			return dst, true
		}
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
		dst = v.sx[g].AppendBinary(dst)
		le.PutUint64(dst[at:], uint64(len(dst)-at-8))
		return v.sxx[g].AppendBinary(dst), true
	}), nil
}

func (v *exactVariance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Numeric, from, to, func(g int) (types.Datum, error) {
		n := v.n[g]
		if n == 0 || n == 1 && !v.pop {
			return nil, nil
		}
		if v.sx[g].IsNaN() || v.sx[g].IsInf(0) {
			return types.ParseDecimal("NaN")
		}
		nd := types.DecimalFromInt64(n, 0)
		// (N Σx² − (Σx)²) / (N (N−1)), or N² for the population.
		a, err := nd.Mul(v.sxx[g])
		if err != nil {
			return nil, err
		}
		b, err := v.sx[g].Mul(v.sx[g])
		if err != nil {
			return nil, err
		}
		if a, err = a.Sub(b); err != nil {
			return nil, err
		}
		if a.Sign() <= 0 {
			return types.DecimalFromInt64(0, 0), nil
		}
		m := n - 1
		if v.pop {
			m = n
		}
		d, err := nd.Mul(types.DecimalFromInt64(m, 0))
		if err != nil {
			return nil, err
		}
		if a, err = a.Div(d); err != nil {
			return nil, err
		}
		if v.root {
			// To the scale of the quotient, not to one of its own.
			r, err := a.Sqrt()
			return r.Round(a.Scale()), err
		}
		return a, nil
	})
}

func (v *exactVariance) Bytes() int64 { return int64(cap(v.n)) * 136 }
