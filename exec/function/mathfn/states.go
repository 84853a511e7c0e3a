package mathfn

import (
	"math"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addStates registers the transition functions of the statistical aggregates
// that PostgreSQL lets be called: (N, sum, sum of squares of differences) as an
// array of float8, by Youngs and Cramer's formulas.
func addStates(t function.Table) {
	accum := function.Always(function.Try2(func(_ *function.Call, a types.Array, x float64) (types.Datum, error) {
		s, err := floats(a, 3)
		if err != nil {
			return nil, err
		}
		return floatArray(addTo(s, x))
	}))
	t.Puts(accum, "float4_accum(float8[],float4)", "float8_accum(float8[],float8)")
	t.Put("float8_combine(float8[],float8[])", function.Always(function.Try2(func(_ *function.Call, a, b types.Array) (types.Datum, error) {
		s, err := floats(a, 3)
		if err != nil {
			return nil, err
		}
		u, err := floats(b, 3)
		if err != nil {
			return nil, err
		}
		n, sx, sxx := combine(s[0], s[1], s[2], u[0], u[1], u[2])
		return floatArray([]float64{n, sx, sxx})
	})))
	t.Put("float8_regr_accum(float8[],float8,float8)", function.Always(function.Try3(func(_ *function.Call, a types.Array, y, x float64) (types.Datum, error) {
		s, err := floats(a, 6)
		if err != nil {
			return nil, err
		}
		n, sx, sxx, sy, syy, sxy := s[0], s[1], s[2], s[3], s[4], s[5]
		n1 := n + 1
		sx, sy = sx+x, sy+y
		if n > 0 {
			dx, dy := x*n1-sx, y*n1-sy
			k := 1 / (n1 * n)
			sxx += dx * dx * k
			syy += dy * dy * k
			sxy += dx * dy * k
		} else {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				sxx, sxy = math.NaN(), math.NaN()
			}
			if math.IsNaN(y) || math.IsInf(y, 0) {
				syy, sxy = math.NaN(), math.NaN()
			}
		}
		return floatArray([]float64{n1, sx, sxx, sy, syy, sxy})
	})))
	t.Put("float8_regr_combine(float8[],float8[])", function.Always(function.Try2(func(_ *function.Call, a, b types.Array) (types.Datum, error) {
		s, err := floats(a, 6)
		if err != nil {
			return nil, err
		}
		u, err := floats(b, 6)
		if err != nil {
			return nil, err
		}
		switch {
		case s[0] == 0:
			return floatArray(u)
		case u[0] == 0:
			return floatArray(s)
		}
		n, sx, sxx := combine(s[0], s[1], s[2], u[0], u[1], u[2])
		_, sy, syy := combine(s[0], s[3], s[4], u[0], u[3], u[4])
		dx, dy := s[1]/s[0]-u[1]/u[0], s[3]/s[0]-u[3]/u[0]
		sxy := s[5] + u[5] + s[0]*u[0]*dx*dy/n
		return floatArray([]float64{n, sx, sxx, sy, syy, sxy})
	})))
}

func floats(a types.Array, n int) ([]float64, error) {
	if len(a.Elems) != n {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "expected %d-element float8 array", n)
	}
	out := make([]float64, n)
	for i, e := range a.Elems {
		f, ok := e.(float64)
		if !ok {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "expected %d-element float8 array", n)
		}
		out[i] = f
	}
	return out, nil
}

func floatArray(v []float64) (types.Datum, error) {
	out := types.Array{Elem: types.Float8}
	for _, f := range v {
		out.Elems = append(out.Elems, f)
	}
	return out, nil
}

func addTo(s []float64, x float64) []float64 {
	n, sx, sxx := s[0], s[1], s[2]
	n1 := n + 1
	sx += x
	if n > 0 {
		d := x*n1 - sx
		sxx += d * d / (n1 * n)
	} else if math.IsNaN(x) || math.IsInf(x, 0) {
		sxx = math.NaN()
	}
	return []float64{n1, sx, sxx}
}

func combine(n1, sx1, sxx1, n2, sx2, sxx2 float64) (n, sx, sxx float64) {
	switch {
	case n1 == 0:
		return n2, sx2, sxx2
	case n2 == 0:
		return n1, sx1, sxx1
	}
	n = n1 + n2
	d := sx1/n1 - sx2/n2
	return n, sx1 + sx2, sxx1 + sxx2 + n1*n2*d*d/n
}
