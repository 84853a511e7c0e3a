package op

import (
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// NewWindow makes the lanes of window functions over inputs whose columns are
// in. It gives the columns in, then those of n.Items.
func NewWindow(rt *Runtime, st *Stats, n *plan.Window, in []plan.Column, env *eval.Env, inputs []Operator) ([]Operator, error) {
	return nil, pgerr.Unsupported("window functions are not supported yet")
}
