package parse

import (
	"strings"
	"testing"
)

// TestWeight: parsing a text of many small tokens takes more memory than parsing one long literal
// of the same length, and the estimate must say so.
func TestWeight(t *testing.T) {
	list, literal := strings.Repeat("1,", 50_000), "'"+strings.Repeat("1,", 50_000)+"'"
	if l, s := Weight(list), Weight(literal); l < 50*s || s < int64(len(literal)) {
		t.Errorf("%d bytes for a list, %d for a literal", l, s)
	}
	if Weight("") != 0 || Weight("'open") <= 0 || Weight("select 1") >= 1<<16 {
		t.Error(Weight(""), Weight("'open"), Weight("select 1"))
	}
}
