package eval

import (
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

func TestBasics(t *testing.T) {
	one := &expr.Const{Val: int64(1), Typ: types.Int4}
	add := &expr.Call{Fn: fn.ByID("int4pl(int4,int4)"), Args: []expr.Expr{one, one}, Typ: types.Int4}
	d, err := Constant(add, nil)
	if err != nil || d != int64(2) {
		t.Fatal(d, err)
	}
}
