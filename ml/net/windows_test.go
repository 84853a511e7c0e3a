package net

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

// echoes returns sequences of noise and a category; the target is a sum of values up to three rows
// before.
func echoes(n int) *familytest.Data {
	r := rand.New(rand.NewPCG(2, 6))
	d := &familytest.Data{Cats: []int{2}}
	for key := 0; len(d.X) < n; key++ {
		var past [4]float64
		for range 8 + r.IntN(40) {
			c := r.IntN(2)
			copy(past[1:], past[:3])
			past[0] = r.NormFloat64() * (0.5 + float64(c))
			d.X, d.Code = append(d.X, []float64{past[0] / (0.5 + float64(c)), r.NormFloat64()}), append(d.Code, []int32{int32(c)})
			d.Y = append(d.Y, 50+10*(past[0]-past[2]+0.5*past[3]))
			d.Key, d.Held = append(d.Key, key), append(d.Held, key%5 == 1)
		}
	}
	return d
}

// windowsOf is a block of all complete windows within equal keys.
func windowsOf(d *familytest.Data, length int) *block.Block {
	b := d.All(true)
	b.Windows, b.Length = []int32{}, length
	for i := range d.X {
		if i+length <= len(d.X) && d.Key[i] == d.Key[i+length-1] {
			b.Windows = append(b.Windows, int32(i))
		}
	}
	return b
}

func ints(v ...int64) types.Array {
	a := types.Array{Elem: types.Int8}
	for _, x := range v {
		a.Elems = append(a.Elems, x)
	}
	return a
}

// TestLSTMSame: the model is the same on any number of nodes and when resumed after every step, and
// it learns a target that depends on earlier rows.
func TestLSTMSame(t *testing.T) {
	for name, c := range map[string]struct {
		most    float64 // the largest unexplained share of the variance allowed
		options []any
	}{
		"last":    {0.12, []any{"units", ints(12), "epochs", 12}},
		"every":   {0.12, []any{"units", ints(12), "epochs", 6, "return_sequences", true}},
		"stacked": {0.6, []any{"units", ints(8, 6), "epochs", 4, "stride", 2, "dropout", 0.05, "l2_reg", 1e-5}},
	} {
		t.Run(name, func(t *testing.T) {
			d := echoes(3000)
			r := familytest.Same(t, lstmFamily, d, append(c.options, "window", 5, "order_by", "at", "learn_rate", 0.02, "batch_size", 32)...)
			b := windowsOf(d, 5)
			s := r.Score(b)
			if s.Rows != len(b.Windows) || len(s.Value) != s.Rows {
				t.Fatalf("%d scores of %d windows", len(s.Value), len(b.Windows))
			}
			var left, all, mean float64
			for k := range b.Windows {
				mean += d.Y[b.Last(k)] / float64(s.Rows)
			}
			for k, v := range s.Value {
				left += (v - d.Y[b.Last(k)]) * (v - d.Y[b.Last(k)])
				all += (mean - d.Y[b.Last(k)]) * (mean - d.Y[b.Last(k)])
			}
			if left > c.most*all {
				t.Errorf("%v of the variance is left", left/all)
			}
		})
	}
}

// TestLSTMClasses: a class for each window.
func TestLSTMClasses(t *testing.T) {
	d := echoes(2000)
	d.Classes = 2
	for i, y := range d.Y {
		d.Y[i] = 0
		if y > 50 {
			d.Y[i] = 1
		}
	}
	r := familytest.Same(t, lstmFamily, d, "units", ints(10), "epochs", 8, "window", 5, "order_by", "at", "learn_rate", 0.02, "batch_size", 32)
	b := windowsOf(d, 5)
	s, ok := r.Score(b), 0
	for k := range b.Windows {
		if s.Class(k) == int(d.Y[b.Last(k)]) {
			ok++
		}
	}
	if accuracy := float64(ok) / float64(s.Rows); accuracy < 0.88 {
		t.Errorf("%v of the windows are given their class", accuracy)
	}
}

// turning returns sequences of two numbers that rotate, each sequence at its speed; some jump in
// between.
func turning(n int) (d *familytest.Data, odd []bool) {
	r := rand.New(rand.NewPCG(3, 9))
	d = &familytest.Data{}
	for key := 0; len(d.X) < n; key++ {
		a, speed, stumble := r.Float64()*6, 0.3+0.2*r.Float64(), key%10 == 9
		for i := range 30 {
			if a += speed; stumble && i%3 == 1 {
				a += 2
			}
			d.X, d.Key = append(d.X, []float64{math.Sin(a), math.Cos(a)}), append(d.Key, key)
			odd = append(odd, stumble)
		}
	}
	return d, odd
}

// TestLSTMAutoencoderSame: windows unlike the others are reconstructed with a larger error.
func TestLSTMAutoencoderSame(t *testing.T) {
	d, odd := turning(3000)
	for name, options := range map[string][]any{
		"narrow": {"units", ints(10, 5), "epochs", 15},
		"every":  {"units", ints(6, 3), "epochs", 10, "return_sequences", true, "loss", "mse"},
		"long":   {"units", ints(6, 3), "epochs", 4, "return_sequences", true}, // processed in smaller micro-batches
	} {
		t.Run(name, func(t *testing.T) {
			length := 6
			if name == "long" {
				length = fewSteps
			}
			r := familytest.Same(t, lstmAutoencoder, d, append(options, "window", length, "stride", 2, "order_by", "at", "learn_rate", 0.02, "batch_size", 64)...)
			if m := r.State.Metrics; len(m) != 2 || m[0].Name != "mean_absolute_error" || !(m[0].Value > 0 && m[0].Value < 0.4) {
				t.Errorf("metrics %v", m)
			}
			b := windowsOf(d, length)
			s := r.Score(b)
			if len(s.Vector) != 2*length || len(s.Vector[0]) != len(b.Windows) {
				t.Fatalf("%d numbers of %d windows", len(s.Vector), len(b.Windows))
			}
			var sum, count [2]float64
			for k, first := range b.Windows {
				at, err := 0, 0.0
				if odd[first] {
					at = 1
				}
				for j, v := range s.Vector {
					d := d.X[int(first)+j/2][j%2] - v[k]
					if name == "every" {
						err += d * d / float64(2*length)
					} else {
						err += math.Abs(d) / float64(2*length)
					}
				}
				if math.Abs(err-s.Extra[0][k]) > 1e-5*(1+err) {
					t.Fatalf("window %d: error %v, not %v", k, s.Extra[0][k], err)
				}
				sum[at], count[at] = sum[at]+err, count[at]+1
			}
			if usual, strange := sum[0]/count[0], sum[1]/count[1]; strange < 1.3*usual {
				t.Errorf("errors of %v, of stumbling ones %v", usual, strange)
			}
		})
	}
}

// TestGrainOfWindows: micro-batches are small where the cost of adding up their gradients is small
// beside computing them, and the weights stay in a near cache.
func TestGrainOfWindows(t *testing.T) {
	for _, c := range []struct {
		steps, want int
		units       []int
	}{{50, 16, []int{100, 40}}, {4, 64, []int{100, 40}}, {50, 64, []int{40, 1000}}} {
		if got := grainOf(&recurrent{steps: c.steps, units: c.units}); got != c.want {
			t.Errorf("%d steps of %v units: parts of %d, not %d", c.steps, c.units, got, c.want)
		}
	}
}

// TestWindowsBytes: bytes that are not a model, truncated or changed, are refused.
func TestWindowsBytes(t *testing.T) {
	d := echoes(300)
	for _, f := range []*nets{lstmFamily, lstmAutoencoder} {
		d := *d
		if f.self {
			d.Y = nil
		}
		r, err := familytest.Train(t, f, &d, familytest.Spread{}, "units", ints(3), "epochs", 1, "window", 4, "order_by", "at")
		if err != nil {
			t.Fatal(err)
		}
		b, fit := windowsOf(&d, 4), d.Fitted(true)
		for n := range r.Bytes {
			c := canon.Read(r.Bytes[:n])
			if _, err := f.Decode(fit, c); err == nil && c.Done("a model") == nil {
				t.Fatalf("a model cut at %d was read", n)
			}
			bad := append([]byte{}, r.Bytes...)
			bad[n] ^= 0x81
			if p, err := f.Decode(fit, canon.Read(bad)); err == nil && p.(*predictor).Length() <= 4 {
				p.Score(b)
			}
		}
	}
}

func TestWindowsErrors(t *testing.T) {
	d := echoes(100)
	for _, c := range []struct {
		options []any
		want    string
	}{
		{[]any{"window", 5}, `"order_by" is missing`},
		{[]any{"order_by", "at"}, `"window" is missing`},
		{[]any{"window", 5, "order_by", "at", "activation", "relu"}, "unrecognized"},
		{[]any{"window", 5, "order_by", "at", "units", ints()}, "invalid value"},
		{[]any{"window", 1000000, "order_by", "at", "units", ints(4000)}, "too long"},
	} {
		if _, err := familytest.Train(t, lstmFamily, d, familytest.Spread{}, c.options...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}
