package eval

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// minMaxNode is GREATEST and LEAST: NULL arguments do not count.
type minMaxNode struct {
	args     []node
	greatest bool
	typ      types.Type
}

func (n *minMaxNode) eval(fr *frame) (*vector.Vec, error) {
	vs := make([]*vector.Vec, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	if v := n.floats(fr, vs); v != nil {
		return v, nil
	}
	if t := n.typ; t.IsInteger() || t.IsFixed() || t.IsStamp() || t.OID == types.DateOID {
		switch kind := vs[0].Kind; {
		case slices.ContainsFunc(vs, func(v *vector.Vec) bool { return v.Kind != kind && !v.AllNull() }):
		case kind == vector.I64:
			return minMaxOf(fr, kind, vs, n.greatest, int64(math.MinInt64), math.MaxInt64), nil
		case kind == vector.I32:
			return minMaxOf(fr, kind, vs, n.greatest, int32(math.MinInt32), math.MaxInt32), nil
		case kind == vector.I16:
			return minMaxOf(fr, kind, vs, n.greatest, int16(math.MinInt16), math.MaxInt16), nil
		}
	}
	// which argument wins each row, then pick
	win := vector.Alloc[int32](fr.a, fr.n)
	for i := range win {
		win[i] = -1
	}
	cmp := compare.Comparer(n.typ, fr.env)
	for k, v := range vs {
		if v.AllNull() {
			continue
		}
		for i := range win {
			if v.Null(i) {
				continue
			}
			if w := win[i]; w < 0 {
				win[i] = int32(k)
			} else if c := cmp(v, i, vs[w], i); n.greatest && c > 0 || !n.greatest && c < 0 {
				win[i] = int32(k)
			}
		}
	}
	parts := make([]vector.Part, 0, len(vs))
	for k, v := range vs {
		rows := vector.Alloc[int32](fr.a, fr.n)
		c := 0
		for i, w := range win {
			if int(w) == k {
				rows[c] = int32(i)
				c++
			}
		}
		if c == 0 {
			continue
		}
		pv, err := vector.TakeVec(fr.a, v, rows[:c], n.typ)
		if err != nil {
			return nil, err
		}
		parts = append(parts, vector.Part{Rows: rows[:c], V: pv})
	}
	if len(parts) == 0 {
		return vector.NewNull(fr.n), nil
	}
	return vector.Scatter(fr.a, fr.n, n.typ, parts)
}

// floats is eval of floats; nil of others. NaN is greatest.
func (n *minMaxNode) floats(fr *frame, vs []*vector.Vec) *vector.Vec {
	for _, v := range vs {
		if v.Kind != vector.F64 {
			return nil
		}
	}
	// Where there is no argument yet, there is what loses to all. Which of two wins is often not to be foretold:
	// the loops without NULLs have no branch.
	out, some, all := vector.Alloc[float64](fr.a, fr.n), make([]bool, fr.n), false
	loses := math.NaN()
	if n.greatest {
		loses = math.Inf(-1)
	}
	for i := range out {
		out[i] = loses
	}
	for _, v := range vs {
		if v.AllNull() {
			continue
		}
		vals := vector.Values[float64](v)
		if v.One {
			c := vals[0]
			vals = vector.Alloc[float64](fr.a, fr.n)
			for i := range vals {
				vals[i] = c
			}
		}
		vals = vals[:len(out)]
		switch {
		case v.Valid != nil && !v.One:
			for i, x := range vals {
				if batch.Bit(v.Valid, i) {
					if some[i] = true; n.wins(x, out[i]) {
						out[i] = x
					}
				}
			}
			continue
		case n.greatest:
			for i, x := range vals {
				was, to := math.Float64bits(out[i]), math.Float64bits(x)
				if x > out[i] {
					was = to
				}
				if x != x {
					was = to
				}
				out[i] = math.Float64frombits(was)
			}
		default:
			for i, x := range vals {
				was, to := math.Float64bits(out[i]), math.Float64bits(x)
				if x < out[i] {
					was = to
				}
				if out[i] != out[i] {
					was = to
				}
				out[i] = math.Float64frombits(was)
			}
		}
		all = true
	}
	return vector.NewFixed(vector.F64, out, someValid(fr, some, all))
}

// wins reports whether x takes the place of another argument.
func (n *minMaxNode) wins(x, was float64) bool {
	if n.greatest {
		return x > was || x != x && was == was
	}
	return x < was || was != was && x == x
}

// minMaxOf is eval of integers, and of what orders as they do, from least to most.
func minMaxOf[T int16 | int32 | int64](fr *frame, kind vector.Kind, vs []*vector.Vec, greatest bool, least, most T) *vector.Vec {
	out, some, all := vector.Alloc[T](fr.a, fr.n), make([]bool, fr.n), false
	loses := most
	if greatest {
		loses = least
	}
	for i := range out {
		out[i] = loses
	}
	for _, v := range vs {
		if v.AllNull() {
			continue
		}
		vals := vector.Values[T](v)
		switch {
		case v.One && greatest:
			for i, k := 0, vals[0]; i < len(out); i++ {
				out[i] = max(out[i], k)
			}
		case v.One:
			for i, k := 0, vals[0]; i < len(out); i++ {
				out[i] = min(out[i], k)
			}
		case v.Valid != nil:
			for i, x := range vals[:len(out)] {
				has := batch.Bit(v.Valid, i)
				some[i] = some[i] || has
				if !has {
					x = loses
				}
				if greatest {
					out[i] = max(out[i], x)
				} else {
					out[i] = min(out[i], x)
				}
			}
			continue
		case greatest:
			for i, x := range vals[:len(out)] {
				out[i] = max(out[i], x)
			}
		default:
			for i, x := range vals[:len(out)] {
				out[i] = min(out[i], x)
			}
		}
		all = true
	}
	return vector.NewFixed(kind, out, someValid(fr, some, all))
}

// someValid is the bitmap of rows that have a value: some, or all.
func someValid(fr *frame, some []bool, all bool) []byte {
	if all || !slices.Contains(some, false) {
		return nil
	}
	valid := vector.Alloc[byte](fr.a, batch.BitmapBytes(fr.n))
	clear(valid)
	for i, has := range some {
		if has {
			batch.SetBit(valid, i)
		}
	}
	return valid
}
