package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// tryCast binds try_cast(CAST(x AS t)), which package parse makes of try_cast(x AS t): CAST whose value is NULL where x
// is no t. It returns nil for calls of other functions.
func tryCast(sc *Scope, n *ast.FuncCall, schema, name string, p Place) (expr.Expr, error) {
	args := typing.Items(n.Args)
	if name != "try_cast" || schema != "" && schema != "pg_catalog" || len(args) != 1 {
		return nil, nil
	}
	b := sc.Binder
	cast, ok := args[0].(*ast.TypeCast)
	switch {
	case !ok && len(typing.UserFunctions(&b.Resolver, schema, name)) > 0:
		return nil, nil
	case !ok:
		return nil, pgerr.New(pgerr.SyntaxError, "try_cast needs a type").WithHint("Write try_cast(value AS type).").At(b.SpotFunc(name).At())
	}
	t, err := b.ResolveType(cast.TypeName)
	if err != nil {
		return nil, err
	}
	from, err := sc.Expr(cast.Arg, p)
	if err != nil {
		return nil, err
	}
	if from, err = b.ResolveUnknown(from); err != nil { // a literal is no error either
		return nil, err
	}
	if !b.CanCoerce(from.Type().OID, t.OID, fn.ExplicitCast) {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.TypeName(from.Type()), b.TypeName(t)).At(b.SpotFunc(name).At())
	}
	e, err := b.Coerce(from, t, fn.ExplicitCast, typing.Position{})
	if err != nil {
		return nil, err
	}
	made, ok := e.(*expr.Cast)
	if _, plain := e.(*expr.Const); e == from || plain {
		return e, nil // there is nothing that could fail
	}
	if !ok || made.Arg != from {
		return nil, pgerr.Unsupported("try_cast from %s to %s is not supported", b.TypeName(from.Type()), b.TypeName(t)).At(b.SpotFunc(name).At())
	}
	which := "try_cast"
	if fn.CastVolatility(from.Type().OID, t.OID) != fn.Immutable {
		which = "try_cast_stable"
	}
	call := &expr.Call{Fn: fn.Lookup(which)[0], Args: []expr.Expr{from}, Typ: made.Typ}
	if tr := b.Trace(); tr != nil {
		tr.Calls[n] = &expr.Call{Fn: fn.Lookup("try_cast")[0], Args: call.Args, Typ: call.Typ}
	}
	return call, nil
}
