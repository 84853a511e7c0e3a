package plan

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
)

// TestPredictionsHaveNames: EXPLAIN names what is asked of a model.
func TestPredictionsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for mode := expr.PredictValue; mode <= expr.PredictPlace; mode++ {
		name, _, ok := strings.Cut(ExprString(&expr.Predict{Model: "m", Mode: mode}, false), "(m: ")
		if !ok || name == "" || seen[name] {
			t.Errorf("mode %d is %q", mode, name)
		}
		seen[name] = true
	}
}
