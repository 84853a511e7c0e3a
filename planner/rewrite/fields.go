package rewrite

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// FieldCall takes extract('field', value) apart.
func FieldCall(e expr.Expr) (name string, of expr.Expr, ok bool) {
	call, isCall := e.(*expr.Call)
	if !isCall || call.Fn == nil || !strings.HasPrefix(call.Fn.ID, "extract(text,") || len(call.Args) != 2 {
		return "", nil, false
	}
	k, isConst := call.Args[0].(*expr.Const)
	if !isConst || IsConstant(call.Args[1]) {
		return "", nil, false
	}
	name, ok = k.Val.(string)
	return name, call.Args[1], ok
}

// ConstantsOf reports whether all of a list are constants of a type.
func ConstantsOf(list []expr.Expr, oid types.OID) bool {
	for _, x := range list {
		if k, ok := x.(*expr.Const); !ok || k.Typ.OID != oid {
			return false
		}
	}
	return true
}
