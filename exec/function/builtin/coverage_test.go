package builtin

import (
	"testing"

	"github.com/tributarydb/tributary/planner/fn"
)

// TestEveryFunctionIsImplemented: the functions implemented here are exactly the scalar and
// set-returning functions that planner/fn lists.
func TestEveryFunctionIsImplemented(t *testing.T) {
	known := map[string]bool{}
	for _, f := range fn.All() {
		known[f.ID] = true
		switch f.Kind {
		case fn.Scalar:
			if Scalars()[f.ID] == nil {
				t.Errorf("no implementation of %s", f.ID)
			}
		case fn.SetReturning:
			if Sets()[f.ID] == nil && ListSets()[f.ID] == nil {
				t.Errorf("no implementation of %s", f.ID)
			}
		}
	}
	for id := range Scalars() {
		if !known[id] {
			t.Errorf("%s is implemented but not listed", id)
		}
	}
	for id := range Sets() {
		if !known[id] {
			t.Errorf("%s is implemented but not listed", id)
		}
	}
}
