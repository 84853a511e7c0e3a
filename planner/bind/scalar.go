package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ScalarKind says what a table's expression is for: what it may hold, and what
// errors call it.
type ScalarKind uint8

// The kinds of expression that a table's descriptor holds.
const (
	ForDefault ScalarKind = iota
	ForCheck
	ForGenerated
	ForIndex
	ForUsing // ALTER TABLE … ALTER COLUMN … TYPE … USING
)

// Scalar binds an expression over the columns of a table (nil for none): a
// DEFAULT, a CHECK, a generated column, an index key. The columns are those
// that the expression may read: all live ones, in order, with their attnums.
func Scalar(s *Session, n ast.Node, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	b := newBinder(s)
	b.plain = true
	return b.scalar(n, over, kind)
}

// ScalarText is Scalar of an expression's SQL text, as descriptors keep it.
func ScalarText(s *Session, text string, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	n, err := parseExpr(text)
	if err != nil {
		return nil, nil, err
	}
	b := newBinder(s)
	b.plain, b.text = true, nil
	return b.scalar(n, over, kind)
}

func (b *binder) scalar(n ast.Node, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	p := [...]place{inDefault, inCheck, inGenerated, inIndex, {name: "transform expressions"}}[kind]
	sc := &scope{b: b, lv: &level{depth: 1}}
	var cols []plan.Column
	if over != nil {
		rl := &rel{name: over.Name, system: tableOID(over.OID), table: over}
		for _, c := range over.Live() {
			nc := b.newCol(sc.lv, c.Name, c.Type)
			nc.Table, nc.Num = over.OID, c.Num
			cols = append(cols, nc)
			rl.cols = append(rl.cols, relCol{name: c.Name, e: col(nc), table: over.OID, num: c.Num})
		}
		rl.named, rl.open = true, true
		sc.rels = []*rel{rl}
	}
	e, err := sc.expr(n, p)
	if err != nil {
		if kind == ForDefault && over == nil && pgerr.Is(err, pgerr.UndefinedColumn) {
			return nil, nil, pgerr.Unsupported("cannot use column reference in DEFAULT expression").At(pgerr.From(err).Position)
		}
		return nil, nil, err
	}
	switch kind {
	case ForCheck:
		e, err = b.boolean(e, "CHECK", b.spotExpr(n))
	case ForIndex, ForUsing:
		e, err = b.known(e)
	}
	if err != nil {
		return nil, nil, err
	}
	if kind == ForGenerated || kind == ForIndex {
		bad := false
		expr.Walk(e, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Call:
				if x.Fn.Name == "textanycat" || x.Fn.Name == "anytextcat" {
					// As PostgreSQL, which sees through them: a || b::text.
					for _, a := range x.Args {
						bad = bad || fn.CastVolatility(a.Type().OID, types.TextOID) != fn.Immutable
					}
					break
				}
				bad = bad || x.Fn.Vol != fn.Immutable
			case *expr.Cast:
				bad = bad || fn.CastVolatility(x.Arg.Type().OID, x.Typ.OID) != fn.Immutable
			}
			return true
		})
		if bad && kind == ForGenerated {
			return nil, nil, pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
		}
		if bad {
			return nil, nil, pgerr.New(pgerr.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
		}
	}
	return e, cols, nil
}

// AssignTo makes an expression that Scalar bound fit a column: a default, or a
// USING clause.
func AssignTo(s *Session, e expr.Expr, column string, t types.Type) (expr.Expr, error) {
	return newBinder(s).assign(e, column, t, spot{})
}

// Convertible tells whether ALTER COLUMN TYPE may turn e into type t: by an
// assignment cast, or with USING by an assignment of what it gives.
func Convertible(s *Session, e expr.Expr, column string, t types.Type, using bool) error {
	b := newBinder(s)
	b.plain, b.text = true, nil
	if _, err := b.coerceMod(e, t, fn.AssignmentCast, spot{}); err == nil {
		return nil
	}
	if using {
		return pgerr.New(pgerr.DatatypeMismatch, "result of USING clause for column %q cannot be cast automatically to type %s", column, b.typeName(t)).
			WithHint("You might need to add an explicit cast.")
	}
	return pgerr.New(pgerr.DatatypeMismatch, "column %q cannot be cast automatically to type %s", column, b.typeName(t)).
		WithHint("You might need to specify \"USING %s::%s\".", column, b.typeName(t))
}

// Argument binds an expression without columns and assigns it to parameter
// number i (from 1) of type t, as EXECUTE does.
func Argument(s *Session, n ast.Node, i int, t types.Type) (expr.Expr, error) {
	b := newBinder(s)
	e, _, err := b.scalar(n, nil, ForDefault)
	if err != nil {
		return nil, err
	}
	if t.OID == types.RecordOID && t.Rec == nil {
		return nil, pgerr.Unsupported("parameter $%d is a record whose columns are not known", i).At(b.spotExpr(n).at())
	}
	if !b.canCoerce(e.Type().OID, t.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", i, b.typeName(e.Type()), b.typeName(t)).
			WithHint("You will need to rewrite or cast the expression.").At(b.spotExpr(n).at())
	}
	return b.coerce(e, t, fn.AssignmentCast, b.spotExpr(n))
}
