package expr

import (
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// Types.
func (e *Col) Type() types.Type       { return e.Typ }
func (e *Const) Type() types.Type     { return e.Typ }
func (e *Param) Type() types.Type     { return e.Typ }
func (e *Call) Type() types.Type      { return e.Typ }
func (e *Cast) Type() types.Type      { return e.Typ }
func (e *Case) Type() types.Type      { return e.Typ }
func (e *And) Type() types.Type       { return types.Bool }
func (e *Or) Type() types.Type        { return types.Bool }
func (e *Not) Type() types.Type       { return types.Bool }
func (e *IsNull) Type() types.Type    { return types.Bool }
func (e *BoolTest) Type() types.Type  { return types.Bool }
func (e *Distinct) Type() types.Type  { return types.Bool }
func (e *In) Type() types.Type        { return types.Bool }
func (e *AnyAll) Type() types.Type    { return types.Bool }
func (e *Coalesce) Type() types.Type  { return e.Typ }
func (e *MinMax) Type() types.Type    { return e.Typ }
func (e *ArrayCtor) Type() types.Type { return e.Typ }
func (e *RowCtor) Type() types.Type   { return e.Typ }
func (e *Subscript) Type() types.Type { return e.Typ }
func (e *Field) Type() types.Type     { return e.Typ }
func (e *Predict) Type() types.Type   { return e.Typ }
func (e *Subquery) Type() types.Type  { return e.Typ }

// Children, in the order With takes them; absent optional ones are left out.
func (e *Col) Children() []Expr   { return nil }
func (e *Const) Children() []Expr { return nil }
func (e *Param) Children() []Expr { return nil }
func (e *Call) Children() []Expr  { return e.Args }
func (e *Cast) Children() []Expr  { return []Expr{e.Arg} }
func (e *Case) Children() []Expr {
	out := make([]Expr, 0, 2*len(e.Whens)+1)
	for _, w := range e.Whens {
		out = append(out, w.Cond, w.Then)
	}
	if e.Else != nil {
		out = append(out, e.Else)
	}
	return out
}
func (e *And) Children() []Expr       { return e.Args }
func (e *Or) Children() []Expr        { return e.Args }
func (e *Not) Children() []Expr       { return []Expr{e.Arg} }
func (e *IsNull) Children() []Expr    { return []Expr{e.Arg} }
func (e *BoolTest) Children() []Expr  { return []Expr{e.Arg} }
func (e *Distinct) Children() []Expr  { return []Expr{e.L, e.R} }
func (e *In) Children() []Expr        { return append([]Expr{e.Arg}, e.List...) }
func (e *AnyAll) Children() []Expr    { return []Expr{e.Arg, e.Array} }
func (e *Coalesce) Children() []Expr  { return e.Args }
func (e *MinMax) Children() []Expr    { return e.Args }
func (e *ArrayCtor) Children() []Expr { return e.Elems }
func (e *RowCtor) Children() []Expr   { return e.Elems }
func (e *Subscript) Children() []Expr {
	out := []Expr{e.Array}
	if e.Index != nil {
		out = append(out, e.Index)
	}
	if e.Upper != nil {
		out = append(out, e.Upper)
	}
	return out
}
func (e *Field) Children() []Expr    { return []Expr{e.Arg} }
func (e *Predict) Children() []Expr  { return e.Args }
func (e *Subquery) Children() []Expr { return e.Args }

// With.
func (e *Col) With([]Expr) Expr   { return e }
func (e *Const) With([]Expr) Expr { return e }
func (e *Param) With([]Expr) Expr { return e }
func (e *Call) With(c []Expr) Expr {
	n := *e
	n.Args = c
	return &n
}
func (e *Cast) With(c []Expr) Expr {
	n := *e
	n.Arg = c[0]
	return &n
}
func (e *Case) With(c []Expr) Expr {
	n := *e
	n.Whens = make([]When, len(e.Whens))
	for i := range n.Whens {
		n.Whens[i] = When{c[2*i], c[2*i+1]}
	}
	if e.Else != nil {
		n.Else = c[len(c)-1]
	}
	return &n
}
func (e *And) With(c []Expr) Expr { return &And{Args: c} }
func (e *Or) With(c []Expr) Expr  { return &Or{Args: c} }
func (e *Not) With(c []Expr) Expr { return &Not{Arg: c[0]} }
func (e *IsNull) With(c []Expr) Expr {
	return &IsNull{Arg: c[0], Not: e.Not}
}
func (e *BoolTest) With(c []Expr) Expr {
	return &BoolTest{Arg: c[0], Kind: e.Kind, Not: e.Not}
}
func (e *Distinct) With(c []Expr) Expr {
	return &Distinct{L: c[0], R: c[1], Eq: e.Eq, Not: e.Not}
}
func (e *In) With(c []Expr) Expr {
	return &In{Arg: c[0], List: c[1:], Eq: e.Eq, Not: e.Not}
}
func (e *AnyAll) With(c []Expr) Expr {
	n := *e
	n.Arg, n.Array = c[0], c[1]
	return &n
}
func (e *Coalesce) With(c []Expr) Expr { return &Coalesce{Args: c, Typ: e.Typ} }
func (e *MinMax) With(c []Expr) Expr {
	return &MinMax{Args: c, Greatest: e.Greatest, Typ: e.Typ}
}
func (e *ArrayCtor) With(c []Expr) Expr { return &ArrayCtor{Elems: c, Typ: e.Typ} }
func (e *RowCtor) With(c []Expr) Expr   { return &RowCtor{Elems: c, Typ: e.Typ} }
func (e *Subscript) With(c []Expr) Expr {
	n := *e
	n.Array, c = c[0], c[1:]
	if e.Index != nil {
		n.Index, c = c[0], c[1:]
	}
	if e.Upper != nil {
		n.Upper = c[0]
	}
	return &n
}
func (e *Field) With(c []Expr) Expr {
	n := *e
	n.Arg = c[0]
	return &n
}
func (e *Predict) With(c []Expr) Expr {
	n := *e
	n.Args = c
	return &n
}
func (e *Subquery) With(c []Expr) Expr {
	n := *e
	n.Args = c
	return &n
}

// Walk calls f for e and its descendants, parents first; where f returns false for a node its
// children are left out.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range e.Children() {
		Walk(c, f)
	}
}

// Rewrite rebuilds e bottom up: f is called with each node, its children already rewritten, and
// returns the replacement.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	return f(MapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// MapChildren rebuilds e of what f makes of its children; it is e itself where all stay.
func MapChildren(e Expr, f func(Expr) Expr) Expr {
	kids := e.Children()
	var out []Expr
	for i, c := range kids {
		n := f(c)
		if n != c && out == nil {
			out = append(make([]Expr, 0, len(kids)), kids[:i]...)
		}
		if out != nil {
			out = append(out, n)
		}
	}
	if out != nil {
		return e.With(out)
	}
	return e
}

// Columns adds the columns e reads to set. Those of a subquery's plan are not included: see
// planner/plan.FreeColumns.
func Columns(e Expr, set map[ColID]bool) {
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Col); ok {
			set[c.ID] = true
		}
		return true
	})
}

// Volatile reports whether e, which has no subquery, may have another value each time it is evaluated.
func Volatile(e Expr) (found bool) {
	Walk(e, func(x Expr) bool {
		c, ok := x.(*Call)
		found = found || ok && c.Fn != nil && c.Fn.Vol == fn.Volatile
		return !found
	})
	return found
}
