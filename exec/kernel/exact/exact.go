package exact

import (
	"encoding/binary"
	"math"
	"math/big"
)

// Sum adds float64s so that the sum does not depend on their order, and so neither on SIMD lanes
// nor on nodes: a model trained on avg(x) has the same bytes on a laptop and on a cluster. It is a
// window of a long accumulator (Kulisch 1971; Neal 2015, "Fast exact summation using small and
// large superaccumulators"): bits are counted from the least of all float64s, 2^-1074, in chunks of
// 32.
//
//	chunk      top−3      top−2      top−1      top
//	         c[0] int64  c[1] int64 c[2] int64 c[3] int64
//
// A value puts up to three parts of at most 32 bits into its own chunks, the highest of which is
// fixed by its exponent. top is the highest chunk of any value so far; what lies below the window
// is dropped. As top only rises, a part is kept exactly if the final window has its chunk, whenever
// it was added. Of each value less than 2^-32 ulps of the greatest one are dropped: sums of up to a
// thousand million values without cancellation are the true sum, correctly rounded. The zero value
// is an empty sum.
type Sum struct {
	c    [4]int64
	n    int64
	top  int32 // 0: no value but zeros yet
	flag uint8
}

const (
	hasNaN = 1 << iota
	hasPosInf
	hasNegInf
)

// add adds a value.
func (e *Sum) Add(x float64) {
	e.n++
	b := math.Float64bits(x)
	m, exp := b&(1<<52-1), int32(b>>52)&0x7ff
	switch {
	case exp == 0x7ff:
		e.special(x)
		return
	case exp != 0:
		m |= 1 << 52
		exp--
	case m == 0:
		return
	}
	sign := int64(b) >> 63
	low, high := m<<(exp&31), m>>(64-exp&31)
	if exp&31 == 0 {
		high = 0
	}
	c0, c1, c2 := int64(low&math.MaxUint32), int64(low>>32), int64(high)
	c0, c1, c2 = (c0^sign)-sign, (c1^sign)-sign, (c2^sign)-sign
	top := exp>>5 + 3 // so that no value's is 0
	if top > e.top {
		e.raise(top)
	}
	switch e.top - top {
	case 0:
		e.c[1] += c0
		e.c[2] += c1
		e.c[3] += c2
	case 1:
		e.c[0] += c0
		e.c[1] += c1
		e.c[2] += c2
	case 2:
		e.c[0] += c1
		e.c[1] += c2
	case 3:
		e.c[0] += c2
	}
	if e.n&(1<<30-1) == 0 {
		e.carry()
	}
}

// AddTimes adds x so many times, less than 2^30.
func (e *Sum) AddTimes(x float64, times int) {
	if times == 0 {
		return
	}
	var o Sum
	o.Add(x)
	o.n = int64(times)
	for i := range o.c {
		o.c[i] *= o.n
	}
	e.Merge(&o)
}

// AddProduct adds x·y with the part that rounding loses.
func (e *Sum) AddProduct(x, y float64) {
	hi := x * y
	e.Add(hi)
	if lo := math.FMA(x, y, -hi); lo-lo == 0 {
		e.Add(lo)
	}
}

func (e *Sum) special(x float64) {
	switch {
	case x != x:
		e.flag |= hasNaN
	case x > 0:
		e.flag |= hasPosInf
	default:
		e.flag |= hasNegInf
	}
}

// raise moves the window up to a new top.
func (e *Sum) raise(top int32) {
	d := top - e.top
	for i := range e.c {
		if at := i + int(d); at < len(e.c) {
			e.c[i] = e.c[at]
		} else {
			e.c[i] = 0
		}
	}
	e.top = top
}

// carry keeps chunks from overflowing, which 2^31 parts of 32 bits could cause.
func (e *Sum) carry() {
	for i := range 3 {
		e.c[i+1] += e.c[i] >> 32
		e.c[i] &= math.MaxUint32
	}
}

// Merge adds another sum.
func (e *Sum) Merge(o *Sum) {
	if e.n>>30 != (e.n+o.n)>>30 {
		e.carry()
		c := *o
		c.carry()
		o = &c
	}
	e.n += o.n
	e.flag |= o.flag
	if o.top > e.top {
		e.raise(o.top)
	}
	for i, d := 0, int(e.top-o.top); i+d < len(e.c); i++ {
		e.c[i] += o.c[i+d]
	}
}

// unit returns the exponent of the window's least bit.
func (e *Sum) unit() int { return 32*(int(e.top)-4) - 1074 }

// Value returns the sum as a float64, rounded to the nearest, ties to even; beyond the greatest it
// is infinite.
func (e *Sum) Value() float64 {
	if e.flag != 0 {
		return e.infinite()
	}
	c := e.c
	neg := false
	for range 2 {
		for i := range 3 {
			c[i+1] += c[i] >> 32
			c[i] &= math.MaxUint32
		}
		if c[3] >= 0 {
			break
		}
		neg = true
		for i := range c {
			c[i] = -c[i]
		}
	}
	if c[3] > math.MaxUint32 {
		f, _ := e.Big().Float64() // a sum of very many
		return f
	}
	v := roundBits(uint64(c[3])<<32|uint64(c[2]), uint64(c[1])<<32|uint64(c[0]), e.unit())
	if neg {
		return -v
	}
	return v
}

func (e *Sum) infinite() float64 {
	switch e.flag {
	case hasPosInf:
		return math.Inf(1)
	case hasNegInf:
		return math.Inf(-1)
	}
	return math.NaN()
}

// Big returns the sum in full; there must be no infinity or NaN in it.
func (e *Sum) Big() *big.Float {
	v := new(big.Int)
	for i := len(e.c) - 1; i >= 0; i-- {
		v.Lsh(v, 32).Add(v, big.NewInt(e.c[i]))
	}
	f := new(big.Float).SetPrec(512).SetInt(v)
	return f.SetMantExp(f, e.unit())
}

// Bytes is the size of an encoded sum.
const Bytes = 6 * 8

// Append appends the encoded sum, Bytes long.
func (e *Sum) Append(dst []byte) []byte {
	le := binary.LittleEndian
	for _, c := range e.c {
		dst = le.AppendUint64(dst, uint64(c))
	}
	dst = le.AppendUint64(dst, uint64(e.n))
	return le.AppendUint64(dst, uint64(uint32(e.top))|uint64(e.flag)<<32)
}

// Decode reads what Append wrote; len(b) is Bytes.
func (e *Sum) Decode(b []byte) {
	le := binary.LittleEndian
	for i := range e.c {
		e.c[i] = int64(le.Uint64(b[8*i:]))
	}
	e.n = int64(le.Uint64(b[32:]))
	w := le.Uint64(b[40:])
	e.top, e.flag = int32(uint32(w)), uint8(w>>32)
}

// Spread returns Σxy − Σx Σy / N. It is 0 where it is less than what Σxy has lost of the products, two parts each:
// a constant column has no spread.
func Spread(xy, x, y *Sum) float64 {
	if xy.flag|x.flag|y.flag != 0 {
		return math.NaN()
	}
	f, ok := spreadOf(xy.words(), xy.unit(), x.words(), x.unit(), y.words(), y.unit(), x.n)
	if !ok {
		f = bigSpread(xy, x, y)
	}
	if math.Abs(f) < math.Ldexp(2*float64(x.n), int(xy.unit())) {
		return 0
	}
	return f
}

// bigSpread is Spread in numbers of any length.
func bigSpread(xy, x, y *Sum) float64 {
	n := new(big.Float).SetPrec(512).SetInt64(x.n)
	v := new(big.Float).SetPrec(512).Mul(xy.Big(), n)
	v.Sub(v, new(big.Float).SetPrec(1024).Mul(x.Big(), y.Big()))
	v.Quo(v, n)
	f, _ := v.Float64()
	return f
}

// Finite reports whether all values are finite.
func (e *Sum) Finite() bool { return e.flag == 0 }

// N returns how many values were added.
func (e *Sum) N() int64 { return e.n }

// words returns the sum in units of 2^unit(): there must be no infinity or NaN in it.
func (e *Sum) words() (f fixed) {
	c := e.c
	for i := range 3 {
		c[i+1] += c[i] >> 32
		c[i] &= 1<<32 - 1
	}
	f.fill(uint64(c[0])|uint64(c[1])<<32, uint64(c[2])|uint64(c[3])<<32, uint64(c[3]>>32))
	return f
}
