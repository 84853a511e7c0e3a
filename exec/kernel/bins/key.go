package bins

import "math"

// Key returns an integer that orders as a number does that is not NaN; 0 and -0 tie.
func Key(v float32) uint32 {
	b := math.Float32bits(v + 0)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// Number is the number with a key, or NaN.
func Number(key uint32) float32 {
	if key>>31 != 0 {
		return math.Float32frombits(key &^ (1 << 31))
	}
	return math.Float32frombits(^key)
}
