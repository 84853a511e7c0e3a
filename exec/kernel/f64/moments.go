package f64

import "math"

// MomentRows is the most rows that ClassMoments adds at once.
const MomentRows = 512

// momentBits are the low bits of an integer, of which ClassMoments has the products with the high ones.
const momentBits = 25

// ClassMoments adds, by class, the sums of whole numbers q and of their squares: q is (x-shift)·scale, rounded, at
// most 2^50 in size, of the column that begins at x[0], a tile stride columns behind the last one. class has eight
// rows of a tile each, at most MomentRows; rows of classes that to does not have do not count. Squares are added where
// they are asked for. It returns false, with to undefined, where one of those that count is NaN.
func ClassMoments[T Elem](to []Moments, x []T, stride int, shift, scale float64, class []uint8, squares bool) (ok bool) {
	tiles := len(class) / Lanes
	if tiles == 0 || len(to) == 0 {
		return true
	}
	_ = x[(tiles-1)*stride*Lanes+Lanes-1]
	switch x := any(x).(type) {
	case []float32:
		return classMoments32(to, x, stride, shift, scale, class, squares)
	case []float64:
		return classMoments64(to, x, stride, shift, scale, class, squares)
	}
	return false
}

// Moments is the sum of whole numbers q = high·2^25 + low, and those of the products of their halves, of few rows.
type Moments struct{ Sum, low, middle, high int64 }

// Squares is the sum of squares, in 128 bits.
func (m *Moments) Squares() (hi int64, lo uint64) {
	hi, lo = shifted(m.low, 0)
	for _, v := range [2][2]int64{{m.middle, momentBits + 1}, {m.high, 2 * momentBits}} {
		h, l := shifted(v[0], uint(v[1]))
		lo += l
		if hi += h; lo < l {
			hi++
		}
	}
	return hi, lo
}

// shifted is v·2^by in 128 bits, of by below 64.
func shifted(v int64, by uint) (hi int64, lo uint64) {
	return v >> (63 - by) >> 1, uint64(v) << by
}

func classMomentsGo[T Elem](to []Moments, x []T, stride int, shift, scale float64, class []uint8, squares bool) (ok bool) {
	for at := 0; at < len(class); at += Lanes {
		of := class[at : at+Lanes]
		for l, v := range x[at*stride : at*stride+Lanes] {
			if int(of[l]) >= len(to) {
				continue
			}
			if v != v {
				return false
			}
			q := int64(math.Float64bits(float64(float64(float64(v)-shift)*scale)+magic)) - magicBits
			m := &to[of[l]]
			if m.Sum += q; !squares {
				continue
			}
			low, high := q&(1<<momentBits-1), q>>momentBits
			m.low += low * low
			m.middle += low * high
			m.high += high * high
		}
	}
	return true
}

// magicBits are those of magic.
const magicBits = 0x4338000000000000

// SquareMargins adds to z, for each row, the squares of its distances from m times w: z = fma((x-m)², w, z) over
// ascending columns. len(z) is a multiple of Lanes, len(x) = len(z)·len(w).
func SquareMargins[T Elem](z []float64, x []T, m, w []float64) {
	if len(z) == 0 || len(w) == 0 {
		return
	}
	_, _ = x[len(z)*len(w)-1], m[len(w)-1]
	switch x := any(x).(type) {
	case []float32:
		squareMargins32(z, x, m, w)
	case []float64:
		squareMargins64(z, x, m, w)
	}
}

func squareMarginsGo[T Elem](z []float64, x []T, m, w []float64) {
	d := len(w)
	for i := 0; i < len(z); i += Lanes {
		t := (*[Lanes]float64)(z[i:])
		for j, by := range w {
			for l, v := range x[i*d+j*Lanes:][:Lanes] {
				v := float64(v) - m[j]
				t[l] = FMA(float64(v*v), by, t[l])
			}
		}
	}
}

// CenteredKeys sets keys to those of a column's numbers, which begins at x[0], a tile stride columns behind the last
// one: of float32(x-center) what bins.Key says, 0 having no sign, where NaN is above or below all others.
func CenteredKeys[T Elem](keys []uint32, x []T, stride int, center float64) {
	tiles := len(keys) / Lanes
	if tiles == 0 {
		return
	}
	_ = x[(tiles-1)*stride*Lanes+Lanes-1]
	switch x := any(x).(type) {
	case []float32:
		centeredKeys32(keys, x, stride, center)
	case []float64:
		centeredKeys64(keys, x, stride, center)
	}
}

func centeredKeysGo[T Elem](keys []uint32, x []T, stride int, center float64) {
	for at := 0; at < len(keys); at += Lanes {
		for l, v := range x[at*stride : at*stride+Lanes] {
			b := math.Float32bits(float32(float64(v)-center) + 0)
			keys[at+l] = b ^ (uint32(int32(b)>>31) | 1<<31)
		}
	}
}
