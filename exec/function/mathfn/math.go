package mathfn

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addMath registers the functions of float8, integers and random numbers.
func addMath(t function.Table) {
	f1 := func(f func(float64) (float64, error)) function.Maker {
		return function.Always(function.Try1(func(_ *function.Call, x float64) (float64, error) { return f(x) }))
	}
	pure := func(f func(float64) float64) function.Maker { return function.Always(function.Strict1(f)) }
	t.Put("cos(float8)", function.Always(function.Doubted(f64.CosAll, false, finite(math.Cos))))
	t.Put("sin(float8)", function.Always(function.Doubted(f64.SinAll, false, finite(math.Sin))))
	t.Put("tan(float8)", f1(finite(math.Tan)))
	t.Put("cot(float8)", f1(finite(func(x float64) float64 { return 1 / math.Tan(x) })))
	t.Put("acos(float8)", f1(within1(math.Acos)))
	t.Put("asin(float8)", f1(within1(math.Asin)))
	t.Put("atan(float8)", pure(math.Atan))
	t.Put("atan2(float8,float8)", function.Always(function.Strict2(math.Atan2)))
	t.Put("sind(float8)", f1(finite(sind)))
	t.Put("cosd(float8)", f1(finite(cosd)))
	t.Put("tand(float8)", f1(finite(tand)))
	t.Put("cotd(float8)", f1(finite(cotd)))
	t.Put("asind(float8)", f1(within1(asind)))
	t.Put("acosd(float8)", f1(within1(acosd)))
	t.Put("atand(float8)", pure(atand))
	t.Put("atan2d(float8,float8)", function.Always(function.Strict2(func(y, x float64) float64 {
		return math.Atan2(y, x) / math.Atan(1) * 45
	})))
	t.Put("sinh(float8)", pure(math.Sinh))
	t.Put("cosh(float8)", pure(math.Cosh))
	t.Put("tanh(float8)", pure(math.Tanh))
	t.Put("asinh(float8)", pure(math.Asinh))
	t.Put("acosh(float8)", f1(func(x float64) (float64, error) {
		if x < 1 {
			return 0, errInput()
		}
		return math.Acosh(x), nil
	}))
	t.Put("atanh(float8)", f1(func(x float64) (float64, error) {
		if x < -1 || x > 1 {
			return 0, errInput()
		}
		return math.Atanh(x), nil
	}))
	t.Puts(pure(math.Cbrt), "cbrt(float8)", "dcbrt(float8)")
	t.Puts(function.Always(function.Floats(func(in, out []float64) bool {
		negative := false
		for i, x := range in {
			out[i] = math.Sqrt(x)
			negative = negative || x < 0
		}
		return !negative
	}, func(x float64) (float64, error) {
		if x < 0 {
			return 0, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
		}
		return math.Sqrt(x), nil
	})), "sqrt(float8)", "dsqrt(float8)")
	t.Puts(function.Always(function.Doubted(f64.ExpAll, true, func(x float64) (float64, error) {
		r := math.Exp(x)
		switch {
		case math.IsInf(r, 0) && !math.IsInf(x, 0):
			return 0, ErrFloatOver()
		case r == 0 && !math.IsInf(x, 0):
			return 0, ErrFloatUnder()
		}
		return r, nil
	})), "exp(float8)", "dexp(float8)")
	t.Puts(function.Always(function.Doubted(f64.LogAll, false, logarithm(math.Log))), "ln(float8)", "dlog1(float8)")
	t.Puts(f1(logarithm(math.Log10)), "log(float8)", "log10(float8)", "dlog10(float8)")
	t.Puts(function.Always(function.Try2(func(_ *function.Call, x, y float64) (float64, error) { return power(x, y) })),
		"pow(float8,float8)", "power(float8,float8)", "dpow(float8,float8)")
	whole := func(f func(in, out []float64) bool, one func(float64) float64) function.Maker {
		return function.Always(function.Floats(f, func(x float64) (float64, error) { return one(x), nil }))
	}
	t.Puts(whole(func(in, out []float64) bool {
		for i, x := range in {
			out[i] = math.Ceil(x)
		}
		return true
	}, math.Ceil), "ceil(float8)", "ceiling(float8)")
	t.Put("floor(float8)", whole(func(in, out []float64) bool {
		for i, x := range in {
			out[i] = math.Floor(x)
		}
		return true
	}, math.Floor))
	t.Puts(whole(func(in, out []float64) bool {
		for i, x := range in {
			out[i] = math.RoundToEven(x)
		}
		return true
	}, math.RoundToEven), "round(float8)", "dround(float8)")
	t.Puts(whole(func(in, out []float64) bool {
		for i, x := range in {
			out[i] = math.Trunc(x)
		}
		return true
	}, math.Trunc), "trunc(float8)", "dtrunc(float8)")
	t.Put("sign(float8)", pure(func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return 0
	}))
	t.Put("degrees(float8)", f1(func(x float64) (float64, error) {
		r := x / (math.Pi / 180)
		if math.IsInf(r, 0) && !math.IsInf(x, 0) {
			return 0, ErrFloatOver()
		}
		return r, nil
	}))
	t.Put("radians(float8)", pure(func(x float64) float64 { return x * (math.Pi / 180) }))
	t.Put("pi()", function.Always(function.Try0(func(*function.Call) (float64, error) { return math.Pi, nil })))
	for _, w := range []string{"4", "8"} {
		a := "(int" + w + ",int" + w + ")"
		t.Put("gcd"+a, function.Always(function.Try2(func(c *function.Call, x, y int64) (int64, error) {
			g := gcd64(x, y)
			if g > math.MaxInt64 {
				return 0, vector.ErrRange(c.Ret)
			}
			return int64(g), nil
		})))
		t.Put("lcm"+a, function.Always(function.Try2(func(c *function.Call, x, y int64) (int64, error) {
			if x == 0 || y == 0 {
				return 0, nil
			}
			g := gcd64(x, y)
			if g > math.MaxInt64 || overflows(arMul, x/int64(g), y) {
				return 0, vector.ErrRange(c.Ret)
			}
			r := x / int64(g) * y
			if r < 0 {
				r = -r
			}
			if r < 0 {
				return 0, vector.ErrRange(c.Ret)
			}
			return r, nil
		})))
	}
	t.Put("random()", function.Always(function.Try0(func(*function.Call) (float64, error) { return random.next(), nil })))
	t.Put("setseed(float8)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		x := a[0].(float64)
		if !(x >= -1 && x <= 1) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "setseed parameter %v is out of allowed range [-1,1]", x)
		}
		random.seed(x)
		return nil, nil
	})))
	t.Put("width_bucket(float8,float8,float8,int4)", function.Always(function.Try4(widthBucketFloat)))
	t.Put("width_bucket(anycompatible,anycompatiblearray)", function.Always(function.Datums(widthBucketArray)))
}

func errInput() error { return pgerr.New(pgerr.NumericValueOutOfRange, "input is out of range") }

// finite adapts a function that is not defined for infinities: they are an error.
func finite(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		switch {
		case math.IsInf(x, 0):
			return 0, errInput()
		case math.IsNaN(x):
			return x, nil
		}
		return f(x), nil
	}
}

func within1(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		switch {
		case x < -1 || x > 1:
			return 0, errInput()
		case math.IsNaN(x):
			return x, nil
		}
		return f(x), nil
	}
}

func logarithm(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		switch {
		case x == 0:
			return 0, pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of zero")
		case x < 0:
			return 0, pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of a negative number")
		}
		return f(x), nil
	}
}

// The functions of degrees are exact at multiples of 30 and 45: they reduce the angle to the first
// quadrant, and scale the result so that the known values are exact.
func sinQ(x float64) float64 {
	if x <= 30 {
		return math.Sin(x*(math.Pi/180)) / math.Sin(30*(math.Pi/180)) / 2
	}
	return cosQ(90 - x)
}

func cosQ(x float64) float64 {
	if x <= 60 {
		return 1 - (1-math.Cos(x*(math.Pi/180)))/(1-math.Cos(60*(math.Pi/180)))/2
	}
	return sinQ(90 - x)
}

func sind(x float64) float64 {
	x = math.Mod(x, 360)
	s := 1.0
	if x < 0 {
		x, s = -x, -s
	}
	if x > 180 {
		x, s = 360-x, -s
	}
	if x > 90 {
		x = 180 - x
	}
	return s * sinQ(x)
}

func cosd(x float64) float64 {
	x = math.Abs(math.Mod(x, 360))
	s := 1.0
	if x > 180 {
		x = 360 - x
	}
	if x > 90 {
		x, s = 180-x, -s
	}
	return s * cosQ(x)
}

func tand(x float64) float64 {
	x, s := tangent(x)
	return s * (sinQ(x) / cosQ(x)) / (sinQ(45) / cosQ(45))
}

func cotd(x float64) float64 {
	x, s := tangent(x)
	return s * (cosQ(x) / sinQ(x)) / (cosQ(45) / sinQ(45))
}

// tangent returns an angle of the first quadrant, and the sign for the tangent of x to be its.
func tangent(x float64) (angle, sign float64) {
	x, sign = math.Mod(x, 360), 1
	if x < 0 {
		x, sign = -x, -sign
	}
	if x > 180 {
		x, sign = 360-x, -sign
	}
	if x > 90 {
		x, sign = 180-x, -sign
	}
	return x, sign
}

func asinQ(x float64) float64 {
	if x <= 0.5 {
		return math.Asin(x) / math.Asin(0.5) * 30
	}
	return 90 - math.Acos(x)/math.Acos(0.5)*60
}

func acosQ(x float64) float64 {
	if x <= 0.5 {
		return 90 - math.Asin(x)/math.Asin(0.5)*30
	}
	return math.Acos(x) / math.Acos(0.5) * 60
}

func asind(x float64) float64 {
	if x < 0 {
		return -asinQ(-x)
	}
	return asinQ(x)
}

func acosd(x float64) float64 {
	if x < 0 {
		return 90 + asinQ(-x)
	}
	return acosQ(x)
}

func atand(x float64) float64 { return math.Atan(x) / math.Atan(1) * 45 }

func power(x, y float64) (float64, error) {
	if s := x * x; y == 2 && s > 1e-300 && s <= math.MaxFloat64 {
		return s, nil
	}
	switch {
	case x == 0 && y < 0:
		return 0, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	case x < 0 && y != math.Floor(y) && !math.IsNaN(y):
		return 0, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "a negative number raised to a non-integer power yields a complex result")
	}
	if x == -1 && math.IsInf(y, 0) {
		return 1, nil
	}
	var r float64
	if y == 2 {
		r = x * x
	} else {
		r = math.Pow(x, y)
	}
	if !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		switch {
		case math.IsInf(r, 0):
			return 0, ErrFloatOver()
		case r == 0 && x != 0:
			return 0, ErrFloatUnder()
		}
	}
	return r, nil
}

func gcd64(x, y int64) uint64 {
	a, b := Abs64(x), Abs64(y)
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Abs64 returns |x|, for the least int64 too.
func Abs64(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// random is the generator of random(), one for the process. setseed() makes its
// sequence repeat, but which row gets which number is not determined where
// several threads compute rows.
var random = newRandom()

type randomSource struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newRandom() *randomSource {
	return &randomSource{r: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

func (s *randomSource) next() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Float64()
}

func (s *randomSource) seed(x float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r = rand.New(rand.NewPCG(math.Float64bits(x), 0x9e3779b97f4a7c15))
}

func errBuckets(s string) error { return pgerr.New(pgerr.InvalidArgumentForWidthBucket, "%s", s) }

func widthBucketFloat(_ *function.Call, x, lo, hi float64, n int64) (int64, error) {
	switch {
	case n <= 0:
		return 0, errBuckets("count must be greater than zero")
	case math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi):
		return 0, errBuckets("operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return 0, errBuckets("lower and upper bounds must be finite")
	case lo == hi:
		return 0, errBuckets("lower bound cannot equal upper bound")
	}
	var r int64
	if lo < hi {
		switch {
		case x < lo:
			return 0, nil
		case x >= hi:
			r = n + 1
		default:
			r = int64(float64(n)*((x/2-lo/2)/(hi/2-lo/2))) + 1
			if hi-lo < math.MaxFloat64 {
				r = int64(float64(n)*((x-lo)/(hi-lo))) + 1
			}
			r = min(r, n)
		}
	} else {
		switch {
		case x > lo:
			return 0, nil
		case x <= hi:
			r = n + 1
		default:
			r = min(int64(float64(n)*((lo-x)/(lo-hi)))+1, n)
		}
	}
	if r > math.MaxInt32 {
		return 0, vector.ErrRange(types.Int4)
	}
	return r, nil
}

func widthBucketNumeric(_ *function.Call, x, lo, hi number.Decimal, n int64) (int64, error) {
	if v, ok := number.Share(x, lo, hi, n); ok {
		return v + 1, nil
	}
	switch {
	case n <= 0:
		return 0, errBuckets("count must be greater than zero")
	case x.IsNaN() || lo.IsNaN() || hi.IsNaN():
		return 0, errBuckets("operand, lower bound, and upper bound cannot be NaN")
	case !lo.IsFinite() || !hi.IsFinite():
		return 0, errBuckets("lower and upper bounds must be finite")
	case lo.Cmp(hi) == 0:
		return 0, errBuckets("lower bound cannot equal upper bound")
	}
	if lo.Cmp(hi) > 0 {
		x, lo, hi = x.Neg(), lo.Neg(), hi.Neg()
	}
	var r int64
	switch {
	case x.Cmp(lo) < 0:
		return 0, nil
	case x.Cmp(hi) >= 0:
		r = n + 1
	default:
		num, err := x.Sub(lo)
		if err == nil {
			num, err = num.Mul(number.DecimalFromInt64(n, 0))
		}
		if err != nil {
			return 0, err
		}
		den, err := hi.Sub(lo)
		if err != nil {
			return 0, err
		}
		// The quotient is rounded, as PostgreSQL rounds it: a value just below the upper bound may be in
		// the bucket above the last.
		q, err := num.Div(den)
		if err != nil {
			return 0, err
		}
		v, _ := q.Floor().Int64()
		r = v + 1
	}
	if r > math.MaxInt32 {
		return 0, vector.ErrRange(types.Int4)
	}
	return r, nil
}

func widthBucketArray(c *function.Call, a []types.Datum) (types.Datum, error) {
	arr := a[1].(types.Array)
	lo, hi := 0, len(arr.Elems)
	for _, e := range arr.Elems {
		if e == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
		}
	}
	for lo < hi {
		m := (lo + hi) / 2
		if types.Compare(c.Types[0], a[0], arr.Elems[m]) < 0 {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return int64(lo), nil
}

// Register registers the functions of numbers.
func Register(t function.Table) {
	addArithmetic(t)
	addMath(t)
	addNumeric(t)
	addStates(t)
}
