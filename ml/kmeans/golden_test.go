package kmeans

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins a model's bytes: they are the same with every body of the
// kernels, and a change of them is seen.
func TestGoldenBits(t *testing.T) {
	m, err := familytest.Train(t, kmeans{}, mixed(), familytest.Spread{Narrow: true}, "k", 7, "max_iterations", 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(m.Bytes))[:16]; got != goldenBits {
		t.Errorf("the model is %s, want %s", got, goldenBits)
	}
}

const goldenBits = "e0676de85ee61c2c"
