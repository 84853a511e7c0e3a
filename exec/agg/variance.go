package agg

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// exactVariance is var and stddev of variable numerics: N, Σx and Σx² exactly, as in PostgreSQL's
// numeric_stddev_internal.
type exactVariance struct {
	pop, root bool
	n         []int64
	sx, sxx   []number.Decimal
}

func (v *exactVariance) Resize(groups int) {
	v.n, v.sx, v.sxx = grown(v.n, groups), grown(v.sx, groups), grown(v.sxx, groups)
}

func (v *exactVariance) Update(groups []uint32, args []arrow.Array) error {
	for i, g := range groups {
		x, ok := types.DatumAt(types.Numeric, args[0], i).(number.Decimal)
		if !ok {
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

func (v *exactVariance) add(g uint32, n int64, x, xx number.Decimal) (err error) {
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
	for g, state := range stored(groups, states) {
		n, rest, err := getU64(state)
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
		x, err := number.DecodeDecimal(rest[:size])
		if err != nil {
			return err
		}
		xx, err := number.DecodeDecimal(rest[size:])
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
	return numericColumn(from, to, func(g int) bool { return enough(v.n[g], v.pop) }, func(g int) (number.Decimal, error) {
		return variance(v.n[g], v.sx[g], v.sxx[g], v.pop, v.root)
	})
}

func (v *exactVariance) Bytes() int64 { return int64(cap(v.n)) * 136 }

// MergeFrom implements Merger.
func (v *exactVariance) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*exactVariance)
	for i, g := range groups {
		if k := ids[i]; o.n[k] > 0 {
			if err := v.add(g, o.n[k], o.sx[k], o.sxx[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// enough reports whether n values have a variance.
func enough(n int64, pop bool) bool { return n > 1 || n == 1 && pop }

// variance returns (N Σx² − (Σx)²) / (N (N−1)), or N² for the population, or its root.
func variance(n int64, sx, sxx number.Decimal, pop, root bool) (number.Decimal, error) {
	if sx.IsNaN() || sx.IsInf(0) {
		return number.DecimalNaN, nil
	}
	nd := number.DecimalFromInt64(n, 0)
	a, err := nd.Mul(sxx)
	if err != nil {
		return a, err
	}
	b, err := sx.Mul(sx)
	if err != nil {
		return b, err
	}
	if a, err = a.Sub(b); err != nil {
		return a, err
	}
	m := n - 1
	if pop {
		m = n
	}
	d, err := nd.Mul(number.DecimalFromInt64(m, 0))
	if err != nil {
		return d, err
	}
	return spread(a, d, root)
}

// spread returns a / d, or its root; 0 where a is not positive.
func spread(a, d number.Decimal, root bool) (number.Decimal, error) {
	if a.Sign() <= 0 {
		return number.DecimalFromInt64(0, 0), nil
	}
	var err error
	if a, err = a.Div(d); err != nil || !root {
		return a, err
	}
	return a.SqrtAt(a.Scale()) // not at the scale that a root has by itself
}

// intVariance is var and stddev of integers and fixed numerics, in words: sums as intSum
// has them, of which sum and avg are too (View), and Σx² modulo 2^128, a square's words in the state beside.
type intVariance struct {
	sums      intSum
	pop, root bool
	over      map[uint32]uint64 // of the few groups that need it: how often 2^128 is to be added
}

func (v *intVariance) Resize(groups int) { v.sums.Resize(groups) }

// xx returns Σx² modulo 2^128.
func (v *intVariance) xx(g int) (lo, hi uint64) {
	p := &v.sums.s[2*g+1]
	return uint64(p.sum), uint64(p.n)
}

// addSquares adds lo + 2^64 hi + 2^128 top.
func (v *intVariance) addSquares(g uint32, lo, hi, top uint64) {
	p := &v.sums.s[2*int(g)+1]
	lo, c := bits.Add64(uint64(p.sum), lo, 0)
	hi, c = bits.Add64(uint64(p.n), hi, c)
	if p.sum, p.n = int64(lo), int64(hi); top|c != 0 {
		v.addTop(g, top+c)
	}
}

// addTop adds 2^128 so many times.
func (v *intVariance) addTop(g uint32, times uint64) {
	if v.over == nil {
		v.over = map[uint32]uint64{}
	}
	v.over[g] += times
}

func addIntSquares[T int16 | int32 | int64](v *intVariance, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) {
		for from < to {
			if from += squareRun(v.sums.s, groups[from:to], vals[from:to]); from < to { // beyond the words
				x := int64(vals[from])
				v.sums.add(groups[from], x, 1)
				hi, lo := bits.Mul64(magnitude(x), magnitude(x))
				v.addSquares(groups[from], lo, hi, 0)
				from++
			}
		}
	})
}

// squareRun adds values and their squares up to the first that words do not hold, and returns how many. It calls
// nothing, so that what the loop needs is in registers.
func squareRun[T int16 | int32 | int64](states []intState, groups []uint32, vals []T) int {
	vals = vals[:len(groups)]
	for i, g := range groups {
		p, x := (*[2]intState)(states[2*int(g):]), int64(vals[i])
		sum, u := p[0].sum+x, uint64((x^x>>63)-x>>63)
		hi, lo := bits.Mul64(u, u)
		lo, c := bits.Add64(uint64(p[1].sum), lo, 0)
		hi, c = bits.Add64(uint64(p[1].n), hi, c)
		if (sum^p[0].sum)&(sum^x) < 0 || c != 0 {
			return i
		}
		p[0].sum, p[1].sum, p[1].n = sum, int64(lo), int64(hi)
		p[0].n++
	}
	return len(groups)
}

func (v *intVariance) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Int64:
		addIntSquares(v, groups, a.Int64Values(), a)
	case *array.Int32:
		addIntSquares(v, groups, a.Int32Values(), a)
	case *array.Int16:
		addIntSquares(v, groups, a.Int16Values(), a)
	default:
		return pgerr.Internal("variance of %s", args[0].DataType())
	}
	return nil
}

func (v *intVariance) MergeStates(groups []uint32, states *array.Binary) error {
	le := binary.LittleEndian
	for g, b := range stored(groups, states) {
		if len(b) != intSumBytes+24 {
			return badState()
		}
		v.sums.mergeState(g, b)
		b = b[intSumBytes:]
		v.addSquares(g, le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]))
	}
	return nil
}

// MergeFrom implements Merger.
func (v *intVariance) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*intVariance)
	for i, g := range groups {
		lo, hi := o.xx(int(ids[i]))
		v.addSquares(g, lo, hi, o.top(ids[i]))
	}
	return v.sums.MergeFrom(groups, &o.sums, ids)
}

func (v *intVariance) top(g uint32) uint64 {
	if v.over == nil {
		return 0
	}
	return v.over[g]
}

func (v *intVariance) States(from, to int) (arrow.Array, error) {
	le := binary.LittleEndian
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		dst = v.sums.appendState(dst, g)
		lo, hi := v.xx(g)
		dst = le.AppendUint64(le.AppendUint64(dst, lo), hi)
		return le.AppendUint64(dst, v.top(uint32(g))), true
	}), nil
}

// squares returns Σx² at twice the scale of the values.
func (v *intVariance) squares(g int, scale int32) number.Decimal {
	lo, hi := v.xx(g)
	top := v.top(uint32(g))
	if top|hi == 0 && lo <= math.MaxInt64 {
		return number.DecimalFromInt64(int64(lo), 2*scale)
	}
	b := new(big.Int)
	for _, w := range []uint64{top, hi, lo} {
		b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(w))
	}
	return number.DecimalFromBig(b, 2*scale)
}

func (v *intVariance) Results(from, to int) (arrow.Array, error) {
	scale := int32(0)
	if v.sums.in.IsFixed() {
		scale = int32(v.sums.in.Scale)
	}
	return numericColumn(from, to, func(g int) bool { return enough(v.sums.at(g).n, v.pop) }, func(g int) (number.Decimal, error) {
		n := v.sums.at(g).n
		if a, d, ok := v.small(g); ok {
			return spread(number.DecimalFromInt64(a, 2*scale), number.DecimalFromInt64(d, 0), v.root)
		}
		return variance(n, v.sums.decimal(g, scale), v.squares(g, scale), v.pop, v.root)
	})
}

// small returns N Σx² − (Σx)² and its divisor; false where words do not hold them.
func (v *intVariance) small(g int) (a, d int64, ok bool) {
	s := v.sums.at(g)
	lo, hi := v.xx(g)
	if s.n >= 1<<31 || hi|v.top(uint32(g)) != 0 || v.sums.over != nil {
		return 0, 0, false
	}
	h1, l1 := bits.Mul64(lo, uint64(s.n))
	h2, l2 := bits.Mul64(magnitude(s.sum), magnitude(s.sum))
	l, c := bits.Sub64(l1, l2, 0)
	if h, _ := bits.Sub64(h1, h2, c); h != 0 || l > math.MaxInt64 {
		return 0, 0, false
	}
	if v.pop {
		return int64(l), s.n * s.n, true
	}
	return int64(l), s.n * (s.n - 1), true
}

func (v *intVariance) Bytes() int64 { return v.sums.Bytes() }
