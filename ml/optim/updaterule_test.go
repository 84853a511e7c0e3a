package optim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStepsInParts: a step over parts of the parameters, in any order, equals the step over all,
// for each update rule.
func TestStepsInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for rule := SGD; rule <= Adam; rule++ {
		whole, parts := Mover[float32]{Rule: rule, Constants: usual}, Mover[float32]{Rule: rule, Constants: usual}
		x, y := make([]float32, 100), make([]float32, 100)
		for range 20 {
			g := make([]float32, len(x))
			for i := range g {
				g[i] = float32(r.NormFloat64())
			}
			whole.Move(x, g, 0.01)
			parts.Begin(len(y))
			a, b := r.IntN(50), 50+r.IntN(50)
			for _, p := range [][2]int{{b, len(y)}, {0, a}, {a, b}} {
				parts.Part(y, g, 0.01, p[0], p[1])
			}
		}
		if !slices.Equal(x, y) || !slices.Equal(whole.M, parts.M) || !slices.Equal(whole.V, parts.V) || whole.Steps != parts.Steps {
			t.Errorf("rule %d in parts: other parameters, or another memory", rule)
		}
	}
}
