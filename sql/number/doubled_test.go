package number

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestDoubled compares logarithms, exponentials and powers by pairs of floats with those of math/big, of random
// numbers of usual sizes, and demands that most are found by pairs.
func TestDoubled(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	number := func(digits, scale int) Decimal {
		return DecimalFromInt64(1+r.Int64N(int64(pow10Big(digits).Uint64())), int32(r.IntN(scale+1)))
	}
	exact := func(f *big.Float, scale int32) string { return fromFloat(f, scale).String() }
	const prec, rounds = 320, 1_500
	tried, found := map[string]int{}, map[string]int{}
	check := func(name string, d, e Decimal, got Decimal, ok bool, want func() string) {
		t.Helper()
		if tried[name]++; !ok {
			return
		}
		found[name]++
		if w := want(); got.String() != w {
			t.Fatalf("%s of %s, %s: %s, want %s", name, d, e, got, w)
		}
	}
	for range rounds {
		d, e := number(1+r.IntN(14), 6), number(1+r.IntN(4), 3)
		if r.IntN(4) == 0 {
			d = number(18, 18)
		}
		if r.IntN(2) == 0 {
			e = e.Neg()
		}
		scale := int32(8 + r.IntN(14))
		got, ok := lnQuickly(d, scale)
		check("ln", d, e, got, ok, func() string { return exact(lnFloat(d.float(prec), prec), scale) })
		got, ok = expQuickly(e, scale)
		check("exp", d, e, got, ok, func() string { return exact(expFloat(e.float(prec), prec), scale) })
		got, ok = logQuickly(DecimalFromInt64(10, 0), d, scale)
		check("log", d, e, got, ok, func() string {
			q := new(big.Float).SetPrec(prec).Quo(lnFloat(d.float(prec), prec), lnFloat(DecimalFromInt64(10, 0).float(prec), prec))
			return exact(q, scale)
		})
		got, ok = powQuickly(d, e)
		check("pow", d, e, got, ok, func() string {
			x := new(big.Float).SetPrec(prec).Mul(lnFloat(d.float(prec), prec), e.float(prec))
			return exact(expFloat(x, prec), got.scale)
		})
		n := 2 + r.IntN(60)
		b := number(3, 2)
		for _, n := range []int{n, -n} {
			got, ok = powIntQuickly(b, n, 16)
			check("power", b, DecimalFromInt64(int64(n), 0), got, ok, func() string {
				p := new(big.Float).SetPrec(2000).SetInt64(1)
				x := b.float(2000)
				for range max(n, -n) {
					p.Mul(p, x)
				}
				if n < 0 {
					p.Quo(big.NewFloat(1).SetPrec(2000), p)
				}
				return exact(p, 16)
			})
		}
	}
	for name, least := range map[string]float64{"ln": 0.8, "exp": 0.2, "log": 0.8, "pow": 0.2, "power": 0.1} {
		if share := float64(found[name]) / float64(tried[name]); share < least {
			t.Errorf("%s: %.2f were found, want %.2f", name, share, least)
		}
	}
}

// TestDoubledErrors measures the errors of logarithms and exponentials by pairs of floats, which rounded relies on.
func TestDoubledErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	const prec = 300
	worst := func(got double, want *big.Float, unit *big.Float) int {
		g := new(big.Float).SetPrec(prec).Add(new(big.Float).SetPrec(prec).SetFloat64(got.hi), new(big.Float).SetPrec(prec).SetFloat64(got.lo))
		g.Sub(g, want)
		if g.Sign() == 0 {
			return -200
		}
		return g.Quo(g, unit).MantExp(nil)
	}
	for range 4_000 {
		d := DecimalFromInt64(1+r.Int64()>>r.IntN(62), int32(r.IntN(19)))
		x, ok := doubleOf(d)
		if !ok || !x.within() {
			continue
		}
		one := big.NewFloat(1)
		want := lnFloat(d.float(prec), prec)
		unit := one
		if want.MantExp(nil) > 0 {
			unit = want
		}
		if e := worst(x.log(), want, unit); e > -98 {
			t.Fatalf("ln %s: error 2^%d", d, e)
		}
		d = DecimalFromInt64(r.Int64N(90_000_000_000)-45_000_000_000, 9)
		x, _ = doubleOf(d)
		want = expFloat(d.float(prec), prec)
		if e := worst(x.exp(), want, want); e > -96 {
			t.Fatalf("exp %s: error 2^%d", d, e)
		}
	}
}

func BenchmarkMath(b *testing.B) {
	d, half, power := DecimalFromInt64(4527, 2), DecimalFromInt64(5, 1), DecimalFromInt64(-17, 0)
	for _, c := range []struct {
		name string
		f    func() (Decimal, error)
	}{
		{"ln", d.Ln},
		{"exp", half.Exp},
		{"log10", d.Log10},
		{"sqrt", d.Sqrt},
		{"square", func() (Decimal, error) { return d.Pow(DecimalFromInt64(2, 0)) }},
		{"power", func() (Decimal, error) { return half.Pow(power) }},
		{"root", func() (Decimal, error) { return d.Pow(half) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
