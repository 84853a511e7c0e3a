package f32

import "math"

// Constants of the functions: reduction by ln 2 in two parts, and 1/k! for k = 7
// down to 2 of the series of e^r-1, whose rest is below 2e-8·r for |r| ≤ ln2/2.
const (
	log2e   = 1.4426950408889634
	ln2Hi   = 0x1.62e43p-1   // ln 2 as a float32
	ln2Lo   = -0x1.05c61p-29 // and what that lacks
	magic   = 0x1.8p23       // adding it leaves the rounded integer in the low bits
	expMin  = -87.33         // below: 0, so that no result is subnormal
	expMax  = 0x1.62e42ep+6  // 88.72: above: +Inf
	tanhMax = 10             // tanh is 1 from 9.02
	signBit = 1 << 31
)

var expC = [6]float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5}

// reduce decomposes x: e^x is e^r·2^n, n are the low bits of t, and e^r is 1+r+r²·q.
func reduce(x float32) (r, q, t float32) {
	t = fma(x, log2e, magic)
	n := t - magic
	r = fma(n, -ln2Lo, fma(n, -ln2Hi, x))
	q = expC[0]
	for _, c := range expC[1:] {
		q = fma(q, r, c)
	}
	return r, q, t
}

// scale returns x·2^n for the n of reduce.
func scale(x, t float32) float32 {
	return math.Float32frombits(math.Float32bits(x) + math.Float32bits(t)<<23)
}

// exp1 returns e to the x within one unit in the last place: 0 below -87.33, +Inf above 88.72.
func exp1(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < expMin:
		return 0
	case x > expMax:
		return float32(math.Inf(1))
	}
	r, q, t := reduce(x)
	return scale(fma(fma(q, r, 1), r, 1), t)
}

// tanh1 returns the hyperbolic tangent within 2.5 units in the last place: with e = e^2|x| - 1 it
// is e/(e+2).
func tanh1(x float32) float32 {
	if x != x {
		return x
	}
	r, q, t := reduce(2 * min(abs(x), tanhMax))
	s := scale(1, t)
	e := fma(s, fma(float32(r*r), q, r), s-1)
	return math.Float32frombits(math.Float32bits(e/(e+2)) | math.Float32bits(x)&signBit)
}

// sigmoid1 returns 1/(1+e^-x) within 2.5 units in the last place, 0 below -87.33.
func sigmoid1(x float32) float32 {
	t := exp1(-abs(x))
	if x < 0 {
		return t / (1 + t)
	}
	return 1 / (1 + t)
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ signBit) }

// Tanh and Sigmoid set dst to tanh1 and sigmoid1 of src, which may be dst and is as
// long.
func Tanh(dst, src []float32) { tanhAll(dst[:len(src)], src) }

// Sigmoid: see Tanh.
func Sigmoid(dst, src []float32) { sigmoidAll(dst[:len(src)], src) }

// Relu sets dst to src, or to 0 where that has its sign set.
func Relu(dst, src []float32) { reluAll(dst[:len(src)], src) }

// ReluBack sets the gradients d to 0 where made, the result of Relu, is 0.
func ReluBack(d, made []float32) { reluBack(d[:len(made)], made) }

// Add adds src to dst, which is as long.
func Add(dst, src []float32) { addAll(dst[:len(src)], src) }

func addGo(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func reluGo(dst, src []float32) {
	for i, v := range src {
		b := math.Float32bits(v)
		dst[i] = math.Float32frombits(b &^ uint32(int32(b)>>31))
	}
}

func reluBackGo(d, made []float32) {
	for i, v := range made {
		some := uint32(-int64(math.Float32bits(v)) >> 63)
		d[i] = math.Float32frombits(math.Float32bits(d[i]) & some)
	}
}

func tanhGo(dst, src []float32)    { each(dst, src, tanh1) }
func sigmoidGo(dst, src []float32) { each(dst, src, sigmoid1) }

func each(dst, src []float32, f func(float32) float32) {
	for i, x := range src {
		dst[i] = f(x)
	}
}
