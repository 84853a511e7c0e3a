package exact

import "math/bits"

// Wide is a sum of integers in 128 bits.
type Wide struct {
	Hi int64
	Lo uint64
}

// Add adds a number.
func (w *Wide) Add(v int64) { w.Plus(Wide{v >> 63, uint64(v)}) }

// AddProduct adds a·b.
func (w *Wide) AddProduct(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The product of two's complements is that of unsigned numbers less what each sign bit stands for.
	hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a)
	w.Plus(Wide{int64(hi), lo})
}

// Plus adds another sum.
func (w *Wide) Plus(o Wide) {
	var c uint64
	w.Lo, c = bits.Add64(w.Lo, o.Lo, 0)
	w.Hi += o.Hi + int64(c)
}

// Float returns about the sum: both parts are rounded.
func (w Wide) Float() float64 { return float64(float64(w.Hi)*0x1p64) + float64(w.Lo) }
