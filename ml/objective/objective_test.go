package objective

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

func pass(o Objective, z, y, w []float64) (loss float64, r, h []float64) {
	r, h = slices.Clone(z), make([]float64, len(z))
	l := make([]float64, len(y))
	o.Pass(r, h, l, y, w)
	for _, v := range l {
		loss += v
	}
	return loss, r, h
}

// TestGradientsAgainstCentralDifferences checks first derivatives of the loss
// and second derivatives of the gradient, output by output.
func TestGradientsAgainstCentralDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, o := range []Objective{Squared{}, Logistic{}, Softmax{K: 2}, Softmax{K: 5}, SquaredHinge{K: 2}, SquaredHinge{K: 4},
		Tweedie{0}, Tweedie{1}, Tweedie{1.3}, Tweedie{2}, Tweedie{2.5}, Huber{1.35, 1}, Quantile{0.3, 2}} {
		const n, eps = 16, 1e-5
		z, y, w := make([]float64, n*o.Outputs()), make([]float64, n), make([]float64, n)
		for i := range z {
			z[i] = r.NormFloat64() * 3
		}
		for i := range y {
			y[i], w[i] = float64(r.IntN(max(o.Outputs(), 2))), r.Float64()
			if _, ok := o.(Tweedie); ok {
				z[i], y[i] = z[i]/3, 0.1+r.ExpFloat64()
				if i%2 == 0 { // where the expected second derivative is the second derivative
					y[i] = math.Exp(z[i])
				}
			}
		}
		_, grad, curv := pass(o, z, y, w)
		for i := range z {
			up, down := slices.Clone(z), slices.Clone(z)
			up[i] += eps
			down[i] -= eps
			lu, gu, _ := pass(o, up, y, w)
			ld, gd, _ := pass(o, down, y, w)
			if want := (lu - ld) / (2 * eps); math.Abs(grad[i]-want) > 1e-6 {
				t.Errorf("%s: gradient[%d] = %v, differences give %v", o.Name(), i, grad[i], want)
			}
			if _, ok := o.(Tweedie); ok && i%2 == 1 {
				continue
			}
			if want := (gu[i] - gd[i]) / (2 * eps); math.Abs(curv[i]-want) > 1e-6 {
				t.Errorf("%s: curvature[%d] = %v, differences give %v", o.Name(), i, curv[i], want)
			}
		}
	}
}

func TestSoftmaxOfTwoIsLogistic(t *testing.T) {
	z2 := []float64{0, 0, 0, 0, 0, 0, 0, 0, 3, -2, 0.5, 700, -700, 40, -40, 0}
	y := []float64{0, 1, 1, 1, 0, 0, 1, 0}
	w := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	l2, g2, _ := pass(Softmax{K: 2}, z2, y, w)
	l1, g1, _ := pass(Logistic{}, z2[8:], y, w)
	if math.Abs(l1-l2) > 1e-12 {
		t.Errorf("losses %v and %v", l1, l2)
	}
	for i := range g1 {
		if math.Abs(g1[i]-g2[8+i]) > 1e-15 {
			t.Errorf("gradients %v and %v", g1[i], g2[8+i])
		}
	}
	p := slices.Clone(z2)
	Softmax{K: 2}.Link(p, 8)
	for i := range 8 {
		if s := p[i] + p[8+i]; math.Abs(s-1) > 1e-15 || math.Abs(p[8+i]-f64.Sigmoid1(z2[8+i])) > 1e-15 {
			t.Errorf("probabilities of %v: %v and %v", z2[8+i], p[i], p[8+i])
		}
	}
}

func TestLogisticLinkIsTheSigmoid(t *testing.T) {
	for _, n := range []int{1, 8, 300, 513} {
		z := make([]float64, n)
		for i := range z {
			z[i] = float64(i-n/2) / 3
		}
		p := slices.Clone(z)
		Logistic{}.Link(p, n)
		for i := range z {
			if p[i] != f64.Sigmoid1(z[i]) {
				t.Fatalf("link of %v = %v", z[i], p[i])
			}
		}
	}
}
