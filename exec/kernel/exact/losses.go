package exact

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Losses adds results of f64.CrossEntropy, 0 or from 2^-53 to 2^10 or NaN, without rounding: the
// sum is in 192 bits, in units of 2^-105. The zero value is an empty one.
type Losses struct {
	c [3]uint64
	n int64
	// nan: a NaN, or a value that is no such loss, was added.
	nan bool
}

const (
	lossUnit  = 105
	leastLoss = 1023 - 53 // exponents, as they are written
	mostLoss  = 1023 + 10
)

// Add adds a loss.
func (e *Losses) Add(x float64) {
	e.n++
	e.put(x)
}

func (e *Losses) put(x float64) {
	b := math.Float64bits(x)
	shift := uint(b>>52) - leastLoss
	if shift >= mostLoss-leastLoss { // also what is negative
		e.nan = e.nan || x != 0
		return
	}
	m := b&mantissa | 1<<52
	e.carry(m<<(shift&63), m>>1>>(63-shift&63), 0)
}

func (e *Losses) carry(a, b, c uint64) {
	var over uint64
	e.c[0], over = bits.Add64(e.c[0], a, 0)
	e.c[1], over = bits.Add64(e.c[1], b, over)
	e.c[2] += c + over
}

// AddAll adds losses, many at once.
func (e *Losses) AddAll(x []float64) {
	e.n += int64(len(x))
	for len(x) >= f64.Lanes {
		n := min(f64.LossRows, len(x)&^(f64.Lanes-1))
		high, middle, low := f64.LossParts(x[:n])
		if high <= f64.LossRows<<10 { // not where there is a NaN
			e.part(high, 30)
			e.part(middle, 70)
			e.part(low, lossUnit)
		} else {
			for _, v := range x[:n] {
				e.put(v)
			}
		}
		x = x[n:]
	}
	for _, v := range x {
		e.put(v)
	}
}

// part adds a multiple of 2^-unit that is less than 2^53 of them.
func (e *Losses) part(v float64, unit int) {
	k := int64(math.Ldexp(v, unit))
	shift := uint(lossUnit - unit) // up to 75
	sign := uint64(k >> 63)
	w := [3]uint64{uint64(k), sign, sign}
	if shift >= 64 {
		w = [3]uint64{0, uint64(k), sign}
		shift -= 64
	}
	e.carry(w[0]<<shift, w[1]<<shift|w[0]>>1>>(63-shift), w[2]<<shift|w[1]>>1>>(63-shift))
}

// Merge adds another sum.
func (e *Losses) Merge(o *Losses) {
	e.n += o.n
	e.nan = e.nan || o.nan
	e.carry(o.c[0], o.c[1], o.c[2])
}

// N returns how many losses were added.
func (e *Losses) N() int64 { return e.n }

// Value returns the sum, rounded to the nearest float64.
func (e *Losses) Value() float64 {
	if e.nan {
		return math.NaN()
	}
	v := new(big.Int)
	for i := len(e.c) - 1; i >= 0; i-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(e.c[i]))
	}
	f := new(big.Float).SetPrec(192).SetInt(v)
	out, _ := f.SetMantExp(f, -lossUnit).Float64()
	return out
}

// LossesBytes is the size of an encoded sum.
const LossesBytes = 4 * 8

// Append appends the sum's bytes.
func (e *Losses) Append(dst []byte) []byte {
	le := binary.LittleEndian
	for _, c := range e.c {
		dst = le.AppendUint64(dst, c)
	}
	n := uint64(e.n) << 1
	if e.nan {
		n |= 1
	}
	return le.AppendUint64(dst, n)
}

// Decode reads what Append wrote; len(b) is LossesBytes.
func (e *Losses) Decode(b []byte) {
	le := binary.LittleEndian
	for i := range e.c {
		e.c[i] = le.Uint64(b[8*i:])
	}
	n := le.Uint64(b[24:])
	e.n, e.nan = int64(n>>1), n&1 != 0
}
