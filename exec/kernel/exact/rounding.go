package exact

import "math"

// WholeBits is the number of bits that Whole rounds to.
const WholeBits = 50

// Whole rounds a number below 2^WholeBits in magnitude to the nearest integer.
func Whole(v float64) int64 {
	const shift = 0x1.8p52
	return int64(math.Float64bits(float64(v)+shift)) - 0x4338000000000000 // float64: a product that v is must be rounded
}

// Exponent is the least e for which 2 to the e is not below v.
func Exponent(v float64) int {
	f, e := math.Frexp(v)
	if f == 0.5 {
		e--
	}
	return e
}

// Power is 2 to the e, within what is finite.
func Power(e int) float64 { return math.Ldexp(1, min(e, 1000)) }
