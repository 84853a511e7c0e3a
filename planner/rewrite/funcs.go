package rewrite

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// Operator finds the operator for exactly these operand types, or the one that
// serves them under a polymorphic or binary-compatible name; nil if there is
// none.
func Operator(name string, l, r types.Type) *fn.Operator {
	ops := fn.Operators(name)
	find := func(a, b types.OID) *fn.Operator {
		for _, o := range ops {
			if o.Left == a && o.Right == b {
				return o
			}
		}
		return nil
	}
	if o := find(l.OID, r.OID); o != nil {
		return o
	}
	a, b := l.OID.General(), r.OID.General()
	return find(a, b)
}

// Equals makes l = r; nil if the types have no equality.
func Equals(l, r expr.Expr) expr.Expr { return Compare("=", l, r) }

// Compare makes l op r; nil if there is no such operator for the types.
func Compare(op string, l, r expr.Expr) expr.Expr {
	o := Operator(op, l.Type(), r.Type())
	if o == nil {
		return nil
	}
	return CallOf(o.Func, op, l, r)
}

// CallOf makes a call with the arguments cast to the representation that the function requires.
func CallOf(f *fn.Func, op string, args ...expr.Expr) expr.Expr {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	physical, ret := bindTypes(f, ts)
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = ToPhysical(a, physical[i])
	}
	return &expr.Call{Fn: f, Args: out, Typ: ret, Op: op}
}

// bindTypes calls f's Bind for the representation of its arguments; without one numerics are
// variable.
func bindTypes(f *fn.Func, args []types.Type) (physical []types.Type, ret types.Type) {
	if f.Bind != nil {
		return f.Bind(args)
	}
	physical = make([]types.Type, len(args))
	for i, t := range args {
		if t.IsFixed() {
			t.Prec, t.Scale = 0, 0
		}
		physical[i] = t
	}
	return physical, types.Type{OID: f.Ret, Mod: -1}
}

// ToPhysical casts e to the physical representation of t where it differs.
func ToPhysical(e expr.Expr, t types.Type) expr.Expr {
	if e.Type().SamePhysical(t) || e.Type().OID != t.OID {
		return e
	}
	return &expr.Cast{Arg: e, Typ: t}
}

// CastTo casts e to t where it has another type or is represented otherwise.
func CastTo(e expr.Expr, t types.Type) expr.Expr {
	if e.Type().SamePhysical(t) {
		return e
	}
	return &expr.Cast{Arg: e, Typ: t}
}

// SameValue returns the expression that l and r are NULL or the very same value, which equal
// values of a type without exact equality, or with none at all, need not be.
func SameValue(l, r expr.Expr) expr.Expr { return SameGroup(Image(l), Image(r)) }

// SameGroup returns the expression that l and r, of one type whose groups joins find, are in the same group: equal, as 1.0
// and 1.00 are, or NULL.
func SameGroup(l, r expr.Expr) expr.Expr {
	return &expr.Distinct{L: l, R: r, Eq: Operator("=", l.Type(), r.Type()).Func, Not: true}
}

// JoinsGroups reports whether groups of a type are those that a join finds by its equality.
func JoinsGroups(t types.Type) bool {
	switch t.OID {
	case types.BpcharOID, types.NumericOID, types.Float4OID, types.Float8OID:
		return true
	}
	return t.EqualIsSame() && Operator("=", t, t) != nil
}

// Image returns an injective function of e with exact equality: e itself, or its text.
func Image(e expr.Expr) expr.Expr {
	if t := e.Type(); t.EqualIsSame() && Operator("=", t, t) != nil {
		return e
	}
	return &expr.Cast{Arg: e, Typ: types.Text}
}

// Function finds an overload by its argument types.
func Function(name string, args ...types.OID) *fn.Func {
	for _, f := range fn.Lookup(name) {
		if len(f.Args) != len(args) {
			continue
		}
		ok := true
		for i, a := range args {
			ok = ok && (f.Args[i] == a || f.Args[i] == types.AnyElementOID || f.Args[i] == types.AnyNonArrayOID || f.Args[i] == types.AnyOID)
		}
		if ok {
			return f
		}
	}
	return nil
}

// Negate returns the comparison that is true where c is false; nil if unknown.
func Negate(c *expr.Call) expr.Expr {
	if c.Op == "" || len(c.Args) != 2 {
		return nil
	}
	for _, o := range fn.Operators(c.Op) {
		if o.Func != c.Fn || o.Negator == "" {
			continue
		}
		for _, n := range fn.Operators(o.Negator) {
			if n.Left == o.Left && n.Right == o.Right {
				m := *c
				m.Fn, m.Op = n.Func, n.Name
				return &m
			}
		}
	}
	return nil
}

// Comparison takes l op r apart, where op is one of =, <, <=, > and >=.
func Comparison(e expr.Expr) (op string, l, r expr.Expr, ok bool) {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) != 2 || Mirrored[c.Op] == "" || c.Op == "<>" {
		return "", nil, nil, false
	}
	return c.Op, c.Args[0], c.Args[1], true
}

// Mirrored maps an operator to the one that means the same with its sides swapped.
var Mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
