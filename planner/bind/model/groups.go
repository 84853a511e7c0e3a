package model

import (
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// keys binds the columns that say of which of a model's groups a row is, and notes them in used.
func keys(sc *scope.Scope, m *model, fields []scope.Column, used map[int]bool, pos typing.Position) (out []expr.Expr, err error) {
	b := sc.Binder
	for _, k := range m.groupKeys() {
		at, n := findField(fields, k.Name)
		switch {
		case n == 0:
			return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" has groups by \"%s\", which is not among the columns", m.name, k.Name).
				WithDetail("Its groups are by %s.", m.keyNames()).At(pos.At())
		case n > 1:
			return nil, pgerr.New(pgerr.AmbiguousColumn, "the grouping column \"%s\" of model \"%s\" is given more than once", k.Name, m.name).At(pos.At())
		}
		used[at] = true
		e, want := fields[at].Expr, k.Key
		// A key is looked up as it is: a value that would be rounded is of no group, and not of another one.
		cast := fn.ImplicitCast
		if b.IsEnum(e.Type().OID) && want.OID == types.TextOID {
			cast = fn.ExplicitCast
		}
		if !b.CanCoerce(e.Type().OID, want.OID, cast) {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the grouping column \"%s\" of model \"%s\" is of type %s but the value is of type %s",
				k.Name, m.name, b.TypeName(k.Type), b.TypeName(e.Type())).WithHint("Cast the value.").At(pos.At())
		}
		if e, err = b.Coerce(e, want, cast, typing.Position{}); err != nil {
			return nil, err
		}
		out = append(out, b.AsPhysical(e, want))
	}
	return out, nil
}
