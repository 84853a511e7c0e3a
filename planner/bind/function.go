package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/model"
	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Body binds the text of an SQL function for its errors, and returns what it reads and calls. The text of a
// polymorphic one is only parsed.
func Body(s *Session, u *catalog.Function) ([]plan.TableUse, error) {
	b := newBinder(s)
	sc := &scope.Scope{Binder: b, Level: &scope.Level{Depth: 1}}
	f := fn.Of(u)
	var args []expr.Expr
	for _, a := range u.Inputs() {
		if a.Type.OID.IsPolymorphic() {
			_, err := query.FunctionText(u)
			return nil, err
		}
		args = append(args, scope.Col(b.NewCol(sc.Level, a.Name, a.Type)))
	}
	if err := query.CheckBody(sc, f, args); err != nil {
		return nil, err
	}
	return b.Stmt.Tables(), nil
}

// Called are the users' functions that a kept expression calls, as far as it can be bound.
func Called(s *Session, text string, over *catalog.Relation, kind ScalarKind) []types.OID {
	return called(s, text, func(b *scope.Binder, n ast.Node) error {
		_, _, err := scalar(b, n, over, kind)
		return err
	})
}

// CalledByModel are the users' functions that the TRANSFORM of a version of a model calls.
func CalledByModel(s *Session, v *catalog.ModelVersion) (out []types.OID) {
	for _, in := range v.Inputs {
		out = append(out, called(s, in.Expr, func(b *scope.Binder, n ast.Node) error {
			lv := &scope.Level{Depth: 1}
			var cols []expr.Expr
			for _, f := range v.Features {
				cols = append(cols, scope.Col(b.NewCol(lv, f.Name, f.Type)))
			}
			_, err := model.Derived(b, n, v.Features, cols, lv)
			return err
		})...)
	}
	return out
}

func called(s *Session, text string, bind func(*scope.Binder, ast.Node) error) (out []types.OID) {
	n, err := typing.ParseExpr(text)
	if err != nil {
		return nil
	}
	b := newBinder(s)
	b.Plain, b.Text = true, nil
	if bind(b, n) != nil {
		return nil
	}
	for _, u := range b.Stmt.Uses {
		if s.State.Function(u.OID) != nil {
			out = append(out, u.OID)
		}
	}
	return out
}

// Part finds the function that a part of an aggregate names, for arguments of these types, and what it returns.
func Part(s *Session, schema, name string, in []types.Type) (*fn.Func, types.Type, error) {
	b := newBinder(s)
	lv := &scope.Level{Depth: 1}
	inv := &typing.Invocation{Schema: schema, Name: name, Names: make([]string, len(in)), Variadic: true}
	poly := false
	for _, t := range in {
		poly = poly || t.OID.IsPolymorphic()
		inv.Args = append(inv.Args, scope.Col(b.NewCol(lv, "", typing.PlainNumeric(typing.Result(&b.Resolver, t)))))
	}
	c, err := b.Resolve(inv)
	if err != nil {
		return nil, types.Type{}, err
	}
	f := c.Func
	if f == nil || f.Kind == fn.Aggregate || f.Kind == fn.Window {
		return nil, types.Type{}, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.Signature(name, inv.Args, nil))
	}
	if f.Kind == fn.SetReturning {
		return nil, types.Type{}, pgerr.New(pgerr.DatatypeMismatch, "function %s returns a set", b.Signature(name, inv.Args, nil))
	}
	for i, t := range in {
		if want := (types.Type{OID: f.Args[i], Mod: -1}); !want.OID.IsPolymorphic() && !SameBinary(t, want) {
			return nil, types.Type{}, pgerr.New(pgerr.DatatypeMismatch, "function %s requires run-time type coercion", b.Signature(name, inv.Args, nil))
		}
	}
	if poly {
		return f, types.Type{OID: f.Ret, Mod: -1}, nil
	}
	_, ret, err := b.Arguments(f, f.Args, inv.Args, inv.Pos)
	return f, ret, err
}

// SameBinary reports whether values of one type are values of another as they are.
func SameBinary(from, to types.Type) bool {
	return from.OID == to.OID || typing.TextLike(from.OID) && typing.TextLike(to.OID)
}
