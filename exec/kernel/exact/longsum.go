package exact

import (
	"encoding/binary"
	"math"
	"math/big"
)

// Long adds float64s without rounding (Kulisch, "An inherently problem-oriented approach to
// numerical computation", 1971): the sum is the true one, rounded once. Sum is a window of it; it
// is for few sums. The zero value is an empty one.
type Long struct {
	c    [longChunks]int64 // of 32 bits each, from 2^-1074 on, and what they carry
	n    int64
	adds int32 // since the last carry
	flag uint8
}

const longChunks = 68

// Add adds a value.
func (e *Long) Add(x float64) { e.n++; e.put(x) }

func (e *Long) put(x float64) {
	b := math.Float64bits(x)
	m, exp := b&(1<<52-1), int(b>>52)&0x7ff
	switch {
	case exp == 0x7ff:
		switch {
		case x != x:
			e.flag |= hasNaN
		case x > 0:
			e.flag |= hasPosInf
		default:
			e.flag |= hasNegInf
		}
		return
	case exp != 0:
		m |= 1 << 52
		exp--
	case m == 0:
		return
	}
	sign := int64(b) >> 63
	low, high := m<<(exp&31), m>>1>>(63-exp&31)
	c := e.c[exp>>5:][:3]
	c[0] += (int64(low&math.MaxUint32) ^ sign) - sign
	c[1] += (int64(low>>32) ^ sign) - sign
	c[2] += (int64(high) ^ sign) - sign
	if e.adds++; e.adds >= 1<<30 {
		e.carry()
	}
}

// AddProduct adds x·y with the part that rounding loses, as one value.
func (e *Long) AddProduct(x, y float64) {
	hi := x * y
	e.Add(hi)
	if lo := math.FMA(x, y, -hi); lo-lo == 0 {
		e.put(lo)
	}
}

// AddParts adds n values of which the sum is known in parts.
func (e *Long) AddParts(n int64, parts ...float64) {
	e.n += n
	for _, p := range parts {
		e.put(p)
	}
}

func (e *Long) carry() {
	for i := range longChunks - 1 {
		e.c[i+1] += e.c[i] >> 32
		e.c[i] &= math.MaxUint32
	}
	e.adds = 0
}

// Merge adds another sum.
func (e *Long) Merge(o *Long) {
	e.carry()
	c := *o
	c.carry()
	for i, v := range c.c {
		e.c[i] += v
	}
	e.n += o.n
	e.adds++
	e.flag |= o.flag
}

// N returns how many values were added.
func (e *Long) N() int64 { return e.n }

// Special reports whether there is an infinity or a NaN in the sum.
func (e *Long) Special() bool { return e.flag != 0 }

// Big returns the sum in full; there must be no infinity or NaN in it.
func (e *Long) Big() *big.Float {
	from, to := 0, longChunks // of the chunks that are not 0: most sums have a few
	for from < to && e.c[from] == 0 {
		from++
	}
	for from < to && e.c[to-1] == 0 {
		to--
	}
	v, chunk := new(big.Int), new(big.Int)
	for i := to - 1; i >= from; i-- {
		v.Lsh(v, 32).Add(v, chunk.SetInt64(e.c[i]))
	}
	f := new(big.Float).SetPrec(2400).SetInt(v)
	return f.SetMantExp(f, 32*from-1074)
}

// Value returns the sum, rounded to the nearest float64.
func (e *Long) Value() float64 {
	switch e.flag {
	case 0:
		f, _ := e.Big().Float64()
		return f
	case hasPosInf:
		return math.Inf(1)
	case hasNegInf:
		return math.Inf(-1)
	}
	return math.NaN()
}

// LongSpread returns Σxy − Σx Σy / N.
func LongSpread(xy, x, y *Long) float64 { return WeightedSpread(xy, x, y, nil) }

// WeightedSpread returns Σwxy − Σwx Σwy / Σw; w is nil where all weights are 1.
func WeightedSpread(xy, x, y, w *Long) float64 {
	if xy.flag|x.flag|y.flag != 0 {
		return math.NaN()
	}
	n := new(big.Float).SetPrec(2400).SetInt64(x.n)
	if w != nil {
		n = w.Big()
	}
	v := new(big.Float).SetPrec(5000).Mul(xy.Big(), n)
	v.Sub(v, new(big.Float).SetPrec(5000).Mul(x.Big(), y.Big()))
	f, _ := v.Quo(v, n).Float64()
	return f
}

// Append appends the sum's bytes, without the chunks at both ends that are empty.
func (e *Long) Append(dst []byte) []byte {
	e.carry()
	from, to := 0, longChunks
	for to > 0 && e.c[to-1] == 0 {
		to--
	}
	for from < to && e.c[from] == 0 {
		from++
	}
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, uint64(e.n))
	dst = append(dst, e.flag, byte(from))
	for _, c := range e.c[from:to] {
		dst = le.AppendUint64(dst, uint64(c))
	}
	return dst
}

// Decode reads what Append wrote, and reports whether b is well-formed.
func (e *Long) Decode(b []byte) bool {
	const head = 10
	if len(b) < head || (len(b)-head)%8 != 0 {
		return false
	}
	le := binary.LittleEndian
	*e = Long{n: int64(le.Uint64(b)), flag: b[8]}
	from, count := int(b[9]), (len(b)-head)/8
	if from+count > longChunks || e.n < 0 || e.flag > hasNaN|hasPosInf|hasNegInf {
		return false
	}
	for i := range count {
		e.c[from+i] = int64(le.Uint64(b[head+8*i:]))
	}
	return true
}
