package eval

import (
	"github.com/tributarydb/tributary/exec/function/jsonfn"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// inPlace returns the arguments of a function of jsonb with the json of which its first one is made, where it reads that as
// it lies, and the others are constants: for them the value is always made.
func inPlace(id string, args []expr.Expr) []expr.Expr {
	if len(args) == 0 || !jsonfn.InPlace(id) {
		return args
	}
	c, ok := args[0].(*expr.Cast)
	if !ok || c.Typ.OID != types.JSONBOID || c.Arg.Type().OID != types.JSONOID {
		return args
	}
	for _, e := range args[1:] {
		if k, ok := e.(*expr.Const); !ok || k.Val == nil {
			return args
		}
	}
	return append([]expr.Expr{c.Arg}, args[1:]...)
}
