package scope

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func arrayNode(n ast.Node) ([]ast.Node, bool) {
	switch n := n.(type) {
	case *ast.ArrayExpr:
		return typing.Items(n.Elements), true
	case *ast.A_ArrayExpr:
		return typing.Items(n.Elements), true
	}
	return nil, false
}

// array binds ARRAY[…]; to is the element type that a cast requires, or nil.
func (sc *Scope) array(elems []ast.Node, to *types.Type, p Place) (expr.Expr, error) {
	b := sc.Binder
	pos := b.SpotWord("array")
	if len(elems) == 0 && to == nil {
		return nil, pgerr.New(pgerr.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].").At(pos.At())
	}
	es := make([]expr.Expr, len(elems))
	for i, n := range elems {
		e, err := sc.Expr(n, p)
		if err != nil {
			return nil, err
		}
		if b.IsArray(e.Type()) {
			return nil, pgerr.Unsupported("multidimensional arrays are not supported").At(pos.At())
		}
		es[i] = e
	}
	var t types.Type
	var err error
	if to != nil {
		t = *to
		for i := range es {
			if !b.CanCoerce(es[i].Type().OID, t.OID, fn.ExplicitCast) {
				return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.TypeName(es[i].Type()), b.TypeName(t)).At(pos.At())
			}
			if es[i], err = b.Coerce(es[i], t, fn.ExplicitCast, typing.Position{}); err != nil {
				return nil, err
			}
		}
		if es, t, err = b.UnifyTo("ARRAY", es, t, pos); err != nil {
			return nil, err
		}
		t.Mod = to.Mod
	} else if es, t, err = b.Unify("ARRAY", es, pos); err != nil {
		return nil, err
	}
	a, ok := b.ArrayOf(t)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(t)).At(pos.At())
	}
	return &expr.ArrayCtor{Elems: es, Typ: a}, nil
}

// RowItems binds the fields of a row; t.* among them is spread.
func (sc *Scope) RowItems(ns []ast.Node, p Place) ([]expr.Expr, error) {
	var out []expr.Expr
	for _, n := range ns {
		if cols, ok, err := sc.Star(n, p); err != nil {
			return nil, err
		} else if ok {
			for _, c := range cols {
				out = append(out, c.Expr)
			}
			continue
		}
		e, err := sc.Expr(n, p)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Row makes a record value; its fields are named f1, f2, ….
func (b *Binder) Row(es []expr.Expr) (expr.Expr, error) {
	rec := &types.Record{}
	for i := range es {
		e, err := b.ResolveUnknown(es[i])
		if err != nil {
			return nil, err
		}
		es[i] = e
		rec.Fields = append(rec.Fields, types.Field{Name: "f" + typing.Itoa(i+1), Type: e.Type()})
	}
	t := types.RecordT
	t.Rec = rec
	return &expr.RowCtor{Elems: es, Typ: t}, nil
}

// Star expands *, rel.* and (record).* where they may be expanded.
func (sc *Scope) Star(n ast.Node, p Place) ([]Column, bool, error) {
	for {
		x, ok := n.(*ast.ParenExpr)
		if !ok {
			break
		}
		n = x.Expr
	}
	switch n := n.(type) {
	case *ast.ColumnRef:
		before, except, ok := parse.Star(typing.Items(n.Fields))
		if !ok {
			return nil, false, nil
		}
		if len(before) > 0 {
			names, rest := typing.SplitFields(ast.NewColumnRef(before...))
			if len(rest) > 0 {
				return nil, false, nil
			}
			r, err := sc.starRel(names)
			if err != nil {
				return nil, false, err
			}
			out, err := sc.Binder.expand([]*Item{r}, except)
			return out, true, err
		}
		var open []*Item
		for _, r := range sc.Items {
			if r.Open && !r.Blocked {
				open = append(open, r)
			}
		}
		if len(open) == 0 {
			return nil, false, pgerr.New(pgerr.SyntaxError, "SELECT * with no tables specified is not valid").At(sc.Binder.PosOp("*"))
		}
		out, err := sc.Binder.expand(open, except)
		return out, true, err
	case *ast.A_Indirection:
		ind, except, ok := parse.Star(typing.Items(n.Indirection))
		if !ok {
			return nil, false, nil
		}
		e, err := sc.Expr(n.Arg, p)
		if err != nil {
			return nil, false, err
		}
		if e, err = sc.indirect(e, ind, p); err != nil {
			return nil, false, err
		}
		t := e.Type()
		if t.OID != types.RecordOID {
			return nil, false, pgerr.New(pgerr.WrongObjectType, "type %s is not composite", sc.Binder.TypeName(t))
		}
		if t.Rec == nil {
			return nil, false, pgerr.New(pgerr.UndefinedFunction, "record type has not been registered")
		}
		out := make([]Column, len(t.Rec.Fields))
		for i, f := range t.Rec.Fields {
			if i > 0 && HasSubquery(e) { // its plan may stand once only
				if e, err = sc.Expr(n.Arg, p); err != nil {
					return nil, false, err
				}
				if e, err = sc.indirect(e, ind, p); err != nil {
					return nil, false, err
				}
			}
			out[i] = Column{Name: f.Name, Expr: FieldOf(e, i, f.Type)}
		}
		out, err = sc.Binder.except(out, except)
		return out, true, err
	}
	return nil, false, nil
}

// expand lists the columns of FROM items except those of some names, and records that they are
// read.
func (b *Binder) expand(rels []*Item, except []string) ([]Column, error) {
	var all, out []Column
	for _, r := range rels {
		for i := range r.Cols {
			if r.Cols[i].Hidden {
				continue
			}
			all = append(all, r.Cols[i])
			if !slices.Contains(except, r.Cols[i].Name) {
				b.Use(Found{r, &r.Cols[i]})
				out = append(out, r.Cols[i])
			}
		}
	}
	_, err := b.except(all, except)
	return out, err
}

// except leaves the columns of these names out of a star's.
func (b *Binder) except(cols []Column, names []string) ([]Column, error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", name).At(b.PosIdent(name))
		}
		n := len(cols)
		cols = slices.DeleteFunc(slices.Clone(cols), func(c Column) bool { return c.Name == name })
		if len(cols) == n {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\", which * is to leave out, does not exist", name).At(b.PosIdent(name))
		}
	}
	if len(names) > 0 && len(cols) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "* leaves out every column").At(b.PosIdent(names[0]))
	}
	return cols, nil
}

func FieldOf(e expr.Expr, i int, t types.Type) expr.Expr {
	if r, ok := e.(*expr.RowCtor); ok {
		return r.Elems[i]
	}
	return &expr.Field{Arg: e, Index: i, Typ: t}
}

// indirect applies field names and subscripts.
func (sc *Scope) indirect(e expr.Expr, ind []ast.Node, p Place) (expr.Expr, error) {
	b := sc.Binder
	subscripted := false
	for _, n := range ind {
		switch n := n.(type) {
		case *ast.String:
			t := e.Type()
			if t.OID != types.RecordOID {
				return nil, pgerr.New(pgerr.WrongObjectType, "column notation .%s applied to type %s, which is not a composite type", n.SVal, b.TypeName(t)).At(b.PosIdent(n.SVal))
			}
			i := -1
			if t.Rec != nil {
				for k, f := range t.Rec.Fields {
					if f.Name == n.SVal {
						i = k
						break
					}
				}
			}
			if i < 0 {
				return nil, pgerr.New(pgerr.UndefinedColumn, "could not identify column \"%s\" in record data type", n.SVal).At(b.PosIdent(n.SVal))
			}
			e, subscripted = FieldOf(e, i, t.Rec.Fields[i].Type), false
		case *ast.A_Indices:
			x, err := sc.subscript(e, n, subscripted, p)
			if err != nil {
				return nil, err
			}
			e, subscripted = x, !n.IsSlice
		case *ast.A_Star:
			return nil, pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here")
		}
	}
	return e, nil
}

// nameChar binds name[i]: a name is an array of "char" that counts from 0.
func (sc *Scope) nameChar(name expr.Expr, at ast.Node, bound func(ast.Node) (expr.Expr, error)) (expr.Expr, error) {
	b := sc.Binder
	i, err := bound(at)
	if err != nil {
		return nil, err
	}
	if i, err = b.Operator("+", i, &expr.Const{Val: int64(1), Typ: types.Int4}, typing.Position{}); err != nil {
		return nil, err
	}
	text, err := b.Coerce(name, types.Text, fn.ExplicitCast, typing.Position{})
	if err != nil {
		return nil, err
	}
	c, err := b.Call("substr", typing.Position{}, text, i, &expr.Const{Val: int64(1), Typ: types.Int4})
	if err != nil {
		return nil, err
	}
	return b.Coerce(c, types.Char, fn.ExplicitCast, typing.Position{})
}

// subscript binds e[i] and e[l:u].
func (sc *Scope) subscript(e expr.Expr, n *ast.A_Indices, nested bool, p Place) (expr.Expr, error) {
	b := sc.Binder
	e, err := b.ResolveUnknown(e)
	if err != nil {
		return nil, err
	}
	t := e.Type()
	bound := func(x ast.Node) (expr.Expr, error) {
		if x == nil {
			return nil, nil
		}
		i, err := sc.Expr(x, p)
		if err != nil {
			return nil, err
		}
		if !b.CanCoerce(i.Type().OID, types.Int4OID, fn.AssignmentCast) {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "array subscript must have type integer").At(b.PosExpr(x))
		}
		return b.Coerce(i, types.Int4, fn.AssignmentCast, typing.Position{})
	}
	if t.OID == types.JSONBOID {
		if n.IsSlice {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		key, err := sc.Expr(n.Uidx, p)
		if err != nil {
			return nil, err
		}
		return b.Operator("->", e, key, typing.Position{})
	}
	if t.OID == types.NameOID && !n.IsSlice {
		return sc.nameChar(e, n.Uidx, bound)
	}
	el, ok := b.Elem(t)
	if !ok {
		if nested {
			// With one more subscript than the array has dimensions the result is NULL.
			return &expr.Const{Typ: t}, nil
		}
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", b.TypeName(t)).At(0)
	}
	lo, err := bound(n.Lidx)
	if err != nil {
		return nil, err
	}
	hi, err := bound(n.Uidx)
	if err != nil {
		return nil, err
	}
	if n.IsSlice {
		return &expr.Subscript{Array: e, Index: lo, Upper: hi, Slice: true, Typ: t}, nil
	}
	if hi == nil {
		hi = lo
	}
	return &expr.Subscript{Array: e, Index: hi, Typ: el}, nil
}
