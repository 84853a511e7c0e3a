package parse

import (
	"strings"
	"testing"
)

// TestEstimateMemory: parsing a text of many small tokens takes more memory than parsing one long literal
// of the same length, and the estimate must say so.
func TestEstimateMemory(t *testing.T) {
	list, literal := strings.Repeat("1,", 50_000), "'"+strings.Repeat("1,", 50_000)+"'"
	if l, s := EstimateMemory(list), EstimateMemory(literal); l < 50*s || s < int64(len(literal)) {
		t.Errorf("%d bytes for a list, %d for a literal", l, s)
	}
	if EstimateMemory("") != 0 || EstimateMemory("'open") <= 0 || EstimateMemory("select 1") >= 1<<16 {
		t.Error(EstimateMemory(""), EstimateMemory("'open"), EstimateMemory("select 1"))
	}
}
