package parse

import (
	"strings"
	"testing"
)

// TestWeight: many small tokens weigh more than one long literal.
func TestWeight(t *testing.T) {
	list, literal := strings.Repeat("1,", 50_000), "'"+strings.Repeat("1,", 50_000)+"'"
	if l, s := Weight(list), Weight(literal); l < 50*s || s < int64(len(literal)) {
		t.Errorf("a list weighs %d, a literal %d", l, s)
	}
	if Weight("") != 0 || Weight("'open") <= 0 || Weight("select 1") >= 1<<16 {
		t.Error(Weight(""), Weight("'open"), Weight("select 1"))
	}
}
