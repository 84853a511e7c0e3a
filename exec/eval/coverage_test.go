package eval

import (
	"testing"

	"github.com/tributarydb/tributary/planner/fn"
)

// Every scalar and set-returning function that is listed is implemented, and
// nothing else is.
func TestEveryFunctionIsImplemented(t *testing.T) {
	known := map[string]bool{}
	for _, f := range fn.All() {
		known[f.ID] = true
		switch f.Kind {
		case fn.Scalar:
			if impls()[f.ID] == nil {
				t.Errorf("no implementation of %s", f.ID)
			}
		case fn.SetReturning:
			if setImpls()[f.ID] == nil && listMakers[f.ID] == nil {
				t.Errorf("no implementation of %s", f.ID)
			}
		}
	}
	for id := range impls() {
		if !known[id] {
			t.Errorf("%s is implemented but not listed", id)
		}
	}
	for id := range setImpls() {
		if !known[id] {
			t.Errorf("%s is implemented but not listed", id)
		}
	}
}
