package forecast

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins the bytes of a model: they are the same for every instruction set, and a
// change of them is noticed.
func TestGoldenBits(t *testing.T) {
	_, _, _, model := smooth(t, passengers, familytest.Spread{}, 1, "seasonal_periods", 12)
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(model)))[:16]; got != goldenBits {
		t.Errorf("the model is %s, want %s", got, goldenBits)
	}
}

const goldenBits = "e6144ae27a0e0a68"
