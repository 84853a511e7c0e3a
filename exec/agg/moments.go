package agg

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/types"
)

func newVariance(name string, in, out types.Type) Agg {
	pop := strings.HasSuffix(name, "_pop")
	root := strings.HasPrefix(name, "stddev")
	if in.OID == types.Float4OID || in.OID == types.Float8OID {
		return &floatVariance{pair: pair{fn: name}, in: in, pop: pop, root: root}
	}
	return &exactVariance{in: in, pop: pop, root: root}
}

// pair keeps the sums of two variables by Youngs and Cramer's update, as
// PostgreSQL does (float8_regr_accum): N, Σx, Σ(x-x̄)², Σy, Σ(y-ȳ)², Σ(x-x̄)(y-ȳ).
type pair struct {
	fn string
	s  []sums
}

type sums struct{ n, sx, sxx, sy, syy, sxy float64 }

func (p *pair) Resize(groups int) { p.s = grown(p.s, groups) }

func (s *sums) add(x, y float64) {
	s.n++
	s.sx += x
	s.sy += y
	if s.n > 1 {
		tx, ty := x*s.n-s.sx, y*s.n-s.sy
		scale := 1 / (s.n * (s.n - 1))
		s.sxx += tx * tx * scale
		s.syy += ty * ty * scale
		s.sxy += tx * ty * scale
	} else {
		// One infinite or NaN input makes the spread NaN.
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.sxx, s.sxy = math.NaN(), math.NaN()
		}
		if math.IsNaN(y) || math.IsInf(y, 0) {
			s.syy, s.sxy = math.NaN(), math.NaN()
		}
	}
}

// merge combines two sets of sums (Schubert and Gertz 2018, eq. 21).
func (s *sums) merge(o sums) {
	switch {
	case o.n == 0:
		return
	case s.n == 0:
		*s = o
		return
	}
	n := s.n + o.n
	tx, ty := s.sx/s.n-o.sx/o.n, s.sy/s.n-o.sy/o.n
	f := s.n * o.n / n
	s.sxx += o.sxx + f*tx*tx
	s.syy += o.syy + f*ty*ty
	s.sxy += o.sxy + f*tx*ty
	s.sx += o.sx
	s.sy += o.sy
	s.n = n
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
	le := binary.LittleEndian
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != 48 {
			return badState()
		}
		f := func(k int) float64 { return math.Float64frombits(le.Uint64(b[8*k:])) }
		p.s[g].merge(sums{f(0), f(1), f(2), f(3), f(4), f(5)})
	}
	return nil
}

func (p *pair) States(from, to int) (arrow.Array, error) {
	le := binary.LittleEndian
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		s := p.s[g]
		for _, v := range []float64{s.n, s.sx, s.sxx, s.sy, s.syy, s.sxy} {
			dst = le.AppendUint64(dst, math.Float64bits(v))
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
		s := p.s[g]
		if p.fn == "regr_count" {
			return int64(s.n), nil
		}
		if s.n < 1 {
			return nil, nil
		}
		return s.value(p.fn), nil
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

func (p *pair) Bytes() int64 { return int64(cap(p.s)) * 48 }

// floatVariance is var and stddev of floats.
type floatVariance struct {
	pair
	in        types.Type
	pop, root bool
}

func (v *floatVariance) Update(groups []uint32, args []arrow.Array) error {
	for i, g := range groups {
		if x, ok := types.DatumAt(v.in, args[0], i).(float64); ok {
			v.s[g].add(x, 0)
		}
	}
	return nil
}

func (v *floatVariance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		s, n := v.s[g], v.s[g].n
		if !v.pop {
			n--
		}
		if n <= 0 {
			return nil, nil
		}
		r := s.sxx / n
		if v.root {
			r = math.Sqrt(r)
		}
		return r, nil
	})
}

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
			return a.Sqrt()
		}
		return a, nil
	})
}

func (v *exactVariance) Bytes() int64 { return int64(cap(v.n)) * 136 }
