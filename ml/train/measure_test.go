package train

import (
	"testing"

	"github.com/tributarydb/tributary/ml/family"
)

// TestScoresAreCharged: kept scores are charged for their arrays; for two classes there may be a
// single one.
func TestScoresAreCharged(t *testing.T) {
	p := make([]float64, 100)
	for want, probs := range map[int64][][]float64{800: {nil, p}, 1600: {p, p}, 2400: {p, p, p}} {
		if got := scoresBytes(&family.Scores{Rows: 100, Probs: probs}); got != want {
			t.Errorf("scores of %d classes are charged as %d bytes, want %d", len(probs), got, want)
		}
	}
}
