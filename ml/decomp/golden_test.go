package decomp

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins the bytes of models: they are the same for every instruction set, and a
// change of them is noticed.
func TestGoldenBits(t *testing.T) {
	for _, solver := range solvers {
		m, err := familytest.Train(t, pca, mixed(), familytest.Spread{Narrow: true}, "solver", solver, "n_components", 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(m.Bytes))[:16]; got != goldenBits[solver] {
			t.Errorf("the model of %s is %s, want %s", solver, got, goldenBits[solver])
		}
	}
}

var goldenBits = map[string]string{full: "0d27972fbf6ae250", tsqr: "7c70f4db4c486a2f", randomized: "1f0e964aa2d39196"}
