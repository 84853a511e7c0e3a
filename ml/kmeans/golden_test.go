package kmeans

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins the bytes of a model: they are the same for every instruction set, and a
// change of them is noticed.
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
