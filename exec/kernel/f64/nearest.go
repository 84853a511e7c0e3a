package f64

import "math"

// nearestGroup is how many centres Nearest's kernels compare at a time.
const nearestGroup = 4

// Centers are K points of D coordinates, interleaved by groups of four as
// Nearest reads them.
type Centers struct {
	K, D int
	c    []float64
}

// NewCenters makes K points at the origin.
func NewCenters(k, d int) *Centers {
	c := &Centers{K: k, D: d}
	c.c = make([]float64, c.Padded()*d)
	return c
}

// CentersBytes returns the memory that NewCenters takes.
func CentersBytes(k, d int) int64 { return 8 * int64(k+nearestGroup-1) * int64(d) }

// Padded returns K rounded up to whole groups: the number of centres in Nearest's start values.
func (c *Centers) Padded() int { return (c.K + nearestGroup - 1) / nearestGroup * nearestGroup }

// Set sets point k.
func (c *Centers) Set(k int, coord []float64) {
	g := c.c[k/nearestGroup*nearestGroup*c.D:]
	for j, v := range coord[:c.D] {
		g[j*nearestGroup+k%nearestGroup] = v
	}
}

// Starts returns start values for one tile: 0, and infinity for what pads.
func (c *Centers) Starts() []float64 {
	z := make([]float64, c.Padded()*Lanes)
	for i := c.K * Lanes; i < len(z); i++ {
		z[i] = math.Inf(1)
	}
	return z
}

// Nearest finds, for each row of tiles x of c.D float64 columns, the square of
// the distance to the nearest centre, its number, the lowest of equals, and the
// square of the distance to the nearest of the others. A square is z =
// fma(x[j]-c[j], x[j]-c[j], z) over ascending j, from the start value
// z[centre*Lanes+row] of its tile. Tiles share their start values where there
// are those of one tile only. len(best) is a multiple of Lanes. Nothing may be
// NaN.
func Nearest(best, second []float64, at []int64, x []float64, c *Centers, z []float64) {
	n := len(best)
	if n == 0 {
		return
	}
	_, _ = second[n-1], at[n-1]
	if c.D > 0 {
		_ = x[n*c.D-1]
	}
	zstep := 0
	if len(z) > c.Padded()*Lanes {
		zstep = c.Padded() * Lanes
		_ = z[zstep*(n/Lanes)-1]
	}
	_ = z[c.Padded()*Lanes-1]
	nearest(best, second, at, x, c, z, zstep)
}

// Widen converts float32s to float64s; their number is a multiple of Lanes.
func Widen(dst []float64, src []float32) {
	if len(src) > 0 {
		_ = dst[len(src)-1]
		widen(dst, src)
	}
}

func widenGo(dst []float64, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func nearestGo(best, second []float64, at []int64, x []float64, c *Centers, z []float64, zstep int) {
	for t := 0; t*Lanes < len(best); t++ {
		xt, zt := x[t*Lanes*c.D:], z[t*zstep:]
		for l := range Lanes {
			b, s, n := math.Inf(1), math.Inf(1), at[t*Lanes+l]
			for k := range c.K {
				g := k/nearestGroup*nearestGroup*c.D + k%nearestGroup
				v := zt[k*Lanes+l]
				for j := range c.D {
					e := xt[j*Lanes+l] - c.c[g+j*nearestGroup]
					v = math.FMA(e, e, v)
				}
				if v < b {
					b, s, n = v, b, int64(k)
				} else {
					s = min(s, v)
				}
			}
			best[t*Lanes+l], second[t*Lanes+l], at[t*Lanes+l] = b, s, n
		}
	}
}
