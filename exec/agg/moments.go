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
		return &intVariance{sums: intSum{in: in, beside: 1}, pop: pop, root: root}
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

	spreads *pairSpreads // nil: none has been computed since the sums changed
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
	p.spreads = nil
	y, x := args[0].(*array.Float64), args[1].(*array.Float64)
	ys, xs := y.Float64Values(), x.Float64Values()
	if y.NullN()+x.NullN() == 0 {
		p.s.Add(groups, xs, ys)
		return nil
	}
	p.room(len(groups))
	gs, kx, ky, n := p.groups[:len(groups)], p.xs[:len(groups)], p.ys[:len(groups)], 0
	xs, ys = xs[:len(groups)], ys[:len(groups)]
	vx, vy := bitsOf(x), bitsOf(y)
	for i, g := range groups { // without a branch, for nothing foretells NULLs
		gs[n], kx[n], ky[n] = g, xs[i], ys[i]
		n += vx.at(i) & vy.at(i)
	}
	p.s.Add(gs[:n], kx[:n], ky[:n])
	return nil
}

// UpdateList implements Lister.
func (p *pair) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	p.spreads = nil
	y, x := args[0].(*array.Float64), args[1].(*array.Float64)
	ys, xs := y.Float64Values(), x.Float64Values()
	if y.NullN()+x.NullN() == 0 {
		p.s.AddList(g, rows, xs, ys)
		return nil
	}
	p.room(n)
	kx, ky, k := p.xs[:n], p.ys[:n], 0
	vx, vy := bitsOf(x), bitsOf(y)
	if rows == nil {
		for i, v := range xs[:n] {
			kx[k], ky[k] = v, ys[i]
			k += vx.at(i) & vy.at(i)
		}
	}
	for _, r := range rows {
		i := int(r)
		kx[k], ky[k] = xs[i], ys[i]
		k += vx.at(i) & vy.at(i)
	}
	p.s.AddList(g, nil, kx[:k], ky[:k])
	return nil
}

// room has room for n rows that have both values.
func (p *pair) room(n int) {
	if cap(p.xs) < n {
		p.groups, p.xs, p.ys = make([]uint32, n), make([]float64, n), make([]float64, n)
	}
}

// validBits are the bits of the values that are not NULL; those of a column without NULLs repeat.
type validBits struct {
	bm        []byte
	off, mask int
}

func bitsOf(arr arrow.Array) validBits {
	if arr.NullN() == 0 {
		return validBits{bm: []byte{255}}
	}
	return validBits{bm: arr.NullBitmapBytes(), off: arr.Data().Offset(), mask: -1}
}

// at returns 1 for a value, 0 for NULL.
func (v *validBits) at(i int) int {
	i = (v.off + i) & v.mask
	return int(v.bm[i>>3]>>(i&7)) & 1
}

func (p *pair) MergeStates(groups []uint32, states *array.Binary) error {
	p.spreads = nil
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

// floatColumn builds a column of floats, NULL where ok is false.
func floatColumn(from, to int, value func(g int) (v float64, ok bool, err error)) (arrow.Array, error) {
	out := make([]float64, to-from)
	valid := make([]byte, batch.BitmapBytes(len(out)))
	for i := range out {
		v, ok, err := value(from + i)
		if err != nil {
			return nil, err
		}
		if ok {
			out[i] = v
			batch.SetBit(valid, i)
		}
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, valid), nil
}

func (p *pair) Bytes() int64 {
	return p.s.Held() + 4*int64(cap(p.groups)) + 8*int64(cap(p.xs)+cap(p.ys))
}

// floatVariance is var and stddev of floats, from Σx and Σx².
type floatVariance struct {
	in        types.Type
	pop, root bool
	s         exact.Squares

	groups []uint32 // of the rows of a batch that have values
	xs     []float64
}

func (v *floatVariance) Resize(groups int) { v.s.Resize(groups) }

// addVariances adds values, of which some may be NULL, densely: the runs between NULLs are short, and sums of many
// groups are read ahead.
func addVariances[T float32 | float64](v *floatVariance, groups []uint32, vals []T, arr arrow.Array) {
	if arr.NullN() == 0 {
		exact.AddSquares(&v.s, groups, vals)
		return
	}
	if cap(v.groups) < len(vals) {
		v.groups, v.xs = make([]uint32, len(vals)), make([]float64, len(vals))
	}
	gs, xs, valid, n := v.groups[:len(vals)], v.xs[:len(vals)], bitsOf(arr), 0
	groups = groups[:len(vals)]
	for i, x := range vals {
		gs[n], xs[n] = groups[i], float64(x)
		n += valid.at(i)
	}
	exact.AddSquares(&v.s, gs[:n], xs[:n])
}

func (v *floatVariance) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		addVariances(v, groups, a.Float64Values(), a)
	case *array.Float32:
		addVariances(v, groups, a.Float32Values(), a)
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
	return floatColumn(from, to, func(g int) (float64, bool, error) {
		n := float64(v.s.N(g))
		if !v.pop {
			n--
		}
		if n <= 0 {
			return 0, false, nil
		}
		r, err := finite(v.s.Spread(g), v.s.N(g), v.s.Finite(g))
		if r /= n; v.root {
			r = math.Sqrt(r)
		}
		return r, true, err
	})
}

func (v *floatVariance) Bytes() int64 {
	return v.s.Held() + 4*int64(cap(v.groups)) + 8*int64(cap(v.xs))
}
