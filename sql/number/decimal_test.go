package number

import (
	"math"
	"math/big"
	"math/rand"
	"strconv"
	"testing"

	"github.com/tributarydb/tributary/sql/internal/golden"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func evalDecimal(op string, a, b Decimal) (string, error) {
	str := func(d Decimal, err error) (string, error) { return d.String(), err }
	n, _ := b.Int64()
	switch op {
	case "+":
		return str(a.Add(b))
	case "-":
		return str(a.Sub(b))
	case "*":
		return str(a.Mul(b))
	case "/":
		return str(a.Div(b))
	case "%":
		return str(a.Mod(b))
	case "div":
		return str(a.DivTrunc(b))
	case "cmp":
		return strconv.Itoa(a.Cmp(b)), nil
	case "power":
		return str(a.Pow(b))
	case "log":
		return str(Log(a, b))
	case "gcd":
		return a.GCD(b).String(), nil
	case "lcm":
		return str(a.LCM(b))
	case "sqrt":
		return str(a.Sqrt())
	case "exp":
		return str(a.Exp())
	case "ln":
		return str(a.Ln())
	case "log10":
		return str(a.Log10())
	case "ceil":
		return a.Ceil().String(), nil
	case "floor":
		return a.Floor().String(), nil
	case "sign":
		if a.IsNaN() {
			return "NaN", nil
		}
		return strconv.Itoa(a.Sign()), nil
	case "abs":
		return a.Abs().String(), nil
	case "neg":
		return a.Neg().String(), nil
	case "int8":
		v, err := a.ToInt(64)
		return strconv.FormatInt(v, 10), err
	case "float8":
		f, err := a.ToFloat(64)
		return string(AppendFloat(nil, f, 64, 1)), err
	case "trim_scale":
		return a.TrimScale().String(), nil
	case "min_scale":
		if !a.IsFinite() {
			return "", nil
		}
		return strconv.Itoa(int(a.MinScale())), nil
	case "round":
		return a.Round(int32(n)).String(), nil
	case "trunc":
		return a.Trunc(int32(n)).String(), nil
	}
	return "", pgerr.Internal("no operation %s", op)
}

func TestDecimalGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden.Read(t, "numeric.tsv") {
		a, err := ParseDecimal(r[1])
		if err != nil {
			t.Fatal(err)
		}
		b, _ := scanDecimal(r[2])
		s, err := evalDecimal(r[0], a, b)
		got := golden.Outcome(s, err)
		if r[3] == "NULL" {
			r[3] = "="
		}
		if got != r[3] {
			if bad[r[0]]++; bad[r[0]] < 6 {
				t.Errorf("%s(%s, %s)\n   got %s\n  want %s", r[0], r[1], r[2], got, r[3])
			}
		}
	}
	for op, n := range bad {
		t.Logf("%s: %d differ", op, n)
	}
}

// ratOf is the exact value of a finite decimal.
func ratOf(d Decimal) *big.Rat {
	return new(big.Rat).SetFrac(d.coefBig(), pow10Big(int(d.scale)))
}

// checkDecimal compares a value and its operations with exact fractions.
func checkDecimal(t *testing.T, a, b Decimal) {
	t.Helper()
	enc := a.AppendBinary(nil)
	if back, err := DecodeDecimal(enc); err != nil || back.String() != a.String() {
		t.Fatalf("%s: encoding %x reads back as %s (%v)", a, enc, back, err)
	}
	if back, err := ParseDecimalWire(a.AppendWire(nil)); err != nil || back.String() != a.String() {
		t.Fatalf("%s: wire form reads back as %s (%v)", a, back, err)
	}
	if back, err := ParseDecimal(a.String()); err != nil || back.Cmp(a) != 0 || back.scale != a.scale {
		t.Fatalf("%s: text reads back as %s (%v)", a, back, err)
	}
	if !a.IsFinite() || !b.IsFinite() {
		return
	}
	ra, rb := ratOf(a), ratOf(b)
	if a.Cmp(b) != ra.Cmp(rb) || CompareDecimalBytes(enc, b.AppendBinary(nil)) != ra.Cmp(rb) {
		t.Fatalf("%s and %s compare wrong", a, b)
	}
	if (string(a.HashKey(nil)) == string(b.HashKey(nil))) != (ra.Cmp(rb) == 0) {
		t.Fatalf("%s and %s: keys wrong", a, b)
	}
	type op struct {
		name string
		f    func(Decimal) (Decimal, error)
		want *big.Rat
	}
	ops := []op{{"+", a.Add, new(big.Rat).Add(ra, rb)}, {"-", a.Sub, new(big.Rat).Sub(ra, rb)}}
	if a.scale+b.scale <= maxDisplayScale {
		ops = append(ops, op{"*", a.Mul, new(big.Rat).Mul(ra, rb)})
	}
	for _, o := range ops {
		if got, err := o.f(b); err == nil && ratOf(got).Cmp(o.want) != 0 {
			t.Fatalf("%s %s %s = %s", a, o.name, b, got)
		}
	}
	if b.Sign() != 0 {
		if q, err := a.Div(b); err == nil {
			// within half a unit of the last place
			diff := new(big.Rat).Sub(ratOf(q), new(big.Rat).Quo(ra, rb))
			half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), pow10Big(int(q.scale))))
			if diff.Abs(diff).Cmp(half) > 0 {
				t.Fatalf("%s / %s = %s", a, b, q)
			}
		}
		q, err1 := a.DivTrunc(b)
		m, err2 := a.Mod(b)
		if err1 == nil && err2 == nil {
			sum := new(big.Rat).Add(new(big.Rat).Mul(ratOf(q), rb), ratOf(m))
			if sum.Cmp(ra) != 0 || m.Abs().Cmp(b.Abs()) >= 0 {
				t.Fatalf("%s div, mod %s = %s, %s", a, b, q, m)
			}
		}
	}
	for _, s := range []int32{-3, 0, 2, 7} {
		diff := new(big.Rat).Sub(ratOf(a.Round(s)), ra)
		half := new(big.Rat).SetFrac64(1, 2)
		scale := new(big.Rat).SetInt(pow10Big(int(max(s, -s))))
		if s > 0 {
			scale.Inv(scale)
		}
		if diff.Abs(diff).Cmp(half.Mul(half, scale)) > 0 {
			t.Fatalf("round(%s, %d) = %s", a, s, a.Round(s))
		}
	}
}

func FuzzDecimal(f *testing.F) {
	f.Add("1.50", "-0.003")
	f.Add("9223372036854775807", "-9223372036854775808")
	f.Add("1e300", "1e-300")
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 300 || len(y) > 300 {
			return
		}
		a, err := ParseDecimal(x)
		if err != nil {
			return
		}
		b, err := ParseDecimal(y)
		if err != nil || a.numDigits()+b.numDigits() > 2000 || a.scale+b.scale > 2000 {
			return
		}
		checkDecimal(t, a, b)
	})
}

func TestDecimalAgainstRat(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	gen := func() Decimal {
		v := rnd.Int63()
		d := DecimalFromInt64(v>>rnd.Intn(63), int32(rnd.Intn(22)))
		if rnd.Intn(3) == 0 {
			d = DecimalFromBig(new(big.Int).Mul(big.NewInt(v), big.NewInt(rnd.Int63()>>rnd.Intn(60))), int32(rnd.Intn(40)))
		}
		if rnd.Intn(4) == 0 {
			d = d.Round(int32(rnd.Intn(25)))
		}
		if rnd.Intn(2) == 0 {
			d = d.Neg()
		}
		return d
	}
	for range 20000 {
		checkDecimal(t, gen(), gen())
	}
}

func TestDecimalBytes(t *testing.T) {
	for _, c := range []struct{ a, b string }{{"1.0", "1.00"}, {"0", "0.000"}, {"100", "100.0"}, {"1e30", "1e30"}, {"-5.50", "-5.5"}} {
		a, _ := ParseDecimal(c.a)
		b, _ := ParseDecimal(c.b)
		ka := NormalizeDecimalBytes(nil, a.AppendBinary(nil))
		kb := NormalizeDecimalBytes(nil, b.AppendBinary(nil))
		if string(ka) != string(kb) {
			t.Errorf("%s and %s have keys %x and %x", c.a, c.b, ka, kb)
		}
	}
	for _, b := range [][]byte{nil, {3}, {2 | 3<<2}, {252}, {252, 255, 255}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0}, {1, 255, 255, 1}} {
		if d, err := DecodeDecimal(b); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("%x gives %s, %v", b, d, err)
		}
	}
}

func TestDecimalFromFloat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0.1, "0.1"}, {1.0 / 3, "0.333333333333333"}, {1e20, "100000000000000000000"}, {123456789.123456789, "123456789.123457"},
		{1e-7, "0.0000001"}, {-2.5, "-2.5"}, {100000, "100000"}, {0, "0"},
	} {
		if got := DecimalFromFloat64(c.f).String(); got != c.want {
			t.Errorf("%v gives %s, want %s", c.f, got, c.want)
		}
	}
	r := rand.New(rand.NewSource(8))
	for i := range 200_000 {
		f := math.Float64frombits(r.Uint64())
		switch i % 4 {
		case 0:
			f = float64(r.Int63()>>r.Intn(63)) / math.Pow10(r.Intn(9))
		case 1:
			f = r.NormFloat64() * math.Pow10(r.Intn(25)-5)
		case 2:
			f = math.Nextafter(float64(r.Intn(1e9))/1e4, float64(r.Intn(2e5)))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		single := float64(float32(f))
		for _, c := range []struct {
			f    float64
			prec int
			got  Decimal
		}{{f, 15, DecimalFromFloat64(f)}, {-f, 15, DecimalFromFloat64(-f)}, {single, 6, DecimalFromFloat32(float32(f))}} {
			want, _ := scanDecimal(strconv.FormatFloat(c.f, 'e', c.prec-1, 64))
			if want = want.trimZeros(); !math.IsInf(c.f, 0) && (c.got.Cmp(want) != 0 || c.got.Scale() != want.Scale()) {
				t.Fatalf("%v of %d digits gives %s, want %s", c.f, c.prec, c.got, want)
			}
		}
	}
	if got := DecimalFromFloat32(1.0 / 3).String(); got != "0.333333" {
		t.Errorf("float4 1/3 gives %s", got)
	}
}
