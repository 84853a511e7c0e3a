package f64

import "math"

// Centers32 are points as Stays compares them, in float32.
type Centers32 struct {
	d     int
	c     []float32 // -2·coordinate, interleaved by groups of four
	start []float32 // squared lengths; infinity for padding
	err   [2]float32
}

// NewCenters32 makes centres of points of d coordinates, d above 0, one after
// the other. ok is false where they are too large for float32.
func NewCenters32(points []float64, d int) (c *Centers32, ok bool) {
	k := len(points) / d
	pad := (k + nearestGroup - 1) / nearestGroup * nearestGroup
	c = &Centers32{d: d, c: make([]float32, pad*d), start: make([]float32, pad)}
	longest := 0.0
	for i := range pad {
		if i >= k {
			c.start[i] = float32(math.Inf(1))
			continue
		}
		long := 0.0
		for j, v := range points[i*d : (i+1)*d] {
			long = FMA(v, v, long)
			c.c[i/nearestGroup*nearestGroup*d+j*nearestGroup+i%nearestGroup] = float32(-2 * v)
		}
		c.start[i] = float32(long)
		longest = max(longest, long)
	}
	// |c|² - 2x·c in float32 has an error of at most (d+4)·2^-24·(2|c|² + |x|²), and two of them are
	// compared. Twice that, and a term for underflow.
	e := float64(d+8) * 0x1p-22
	c.err = [2]float32{float32(float64(2*e*longest) + 0x1p-100), float32(e)}
	return c, longest < 1e30
}

// Stays finds the rows of tiles x whose nearest centre is certainly still the one in was; the bits
// of the others are set in doubt, a byte a tile. It computes in float32 with a bound of its
// rounding error. The number of tiles is even.
func Stays(doubt []uint8, x []float32, was []int32, c *Centers32) {
	n := len(doubt)
	if n == 0 {
		return
	}
	_, _ = x[n*Lanes*c.d-1], was[n*Lanes-1]
	stays(doubt, x, was, c)
}

// Narrow makes float32s of float64s, a multiple of Lanes of them.
func Narrow(dst []float32, src []float64) {
	if len(src) > 0 {
		_ = dst[len(src)-1]
		narrow(dst, src)
	}
}

func narrowGo(dst []float32, src []float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// staysGo may differ from the assembly, whose fused float32 operations Go does not have. Both are
// correct where they differ: a doubt costs time and nothing else.
func staysGo(doubt []uint8, x []float32, was []int32, c *Centers32) {
	for t := range doubt {
		doubt[t] = 0
		for l := range Lanes {
			best, second, at := float32(math.Inf(1)), float32(math.Inf(1)), int32(-1)
			for k, z := range c.start {
				for j := range c.d {
					z += float32(c.c[k/nearestGroup*nearestGroup*c.d+j*nearestGroup+k%nearestGroup] * x[(t*c.d+j)*Lanes+l])
				}
				if z < best {
					best, second, at = z, best, int32(k)
				} else if z < second {
					second = z
				}
			}
			norm := float32(0)
			for j := range c.d {
				v := x[(t*c.d+j)*Lanes+l]
				norm += float32(v * v)
			}
			if !(second-best > c.err[0]+float32(c.err[1]*norm)) || at != was[t*Lanes+l] {
				doubt[t] |= 1 << l
			}
		}
	}
}
