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

// ScalarKind is the purpose of a table's expression: it decides what it may contain, and its name
// in errors.
type ScalarKind uint8

// The kinds of expression that a table's descriptor holds.
const (
	ForDefault ScalarKind = iota
	ForCheck
	ForGenerated
	ForIndex
	ForPredicate // CREATE INDEX … WHERE
	ForUsing     // ALTER TABLE … ALTER COLUMN … TYPE … USING
)

// Scalar binds an expression over the columns of a table (nil for none): a
// DEFAULT, a CHECK, a generated column, an index key. The columns are those
// that the expression may read: all live ones, in order, with their attnums.
func Scalar(s *Session, n ast.Node, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	b := newBinder(s)
	b.Plain = true
	return scalar(b, n, over, kind)
}

// ScalarText is Scalar of an expression's SQL text, as descriptors keep it.
func ScalarText(s *Session, text string, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	n, err := typing.ParseExpr(text)
	if err != nil {
		return nil, nil, err
	}
	b := newBinder(s)
	b.Plain, b.Text = true, nil
	return scalar(b, n, over, kind)
}

func scalar(b *scope.Binder, n ast.Node, over *catalog.Relation, kind ScalarKind) (expr.Expr, []plan.Column, error) {
	p := [...]scope.Place{scope.InDefault, scope.InCheck, scope.InGenerated, scope.InIndex, scope.InPredicate, scope.InUsing}[kind]
	sc := &scope.Scope{Binder: b, Level: &scope.Level{Depth: 1}}
	var cols []plan.Column
	if over != nil {
		rl := &scope.Item{Name: over.Name, System: query.TableOID(over.OID), Table: over}
		for _, c := range over.Live() {
			nc := b.NewCol(sc.Level, c.Name, c.Type)
			nc.Table, nc.Num = over.OID, c.Num
			cols = append(cols, nc)
			rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(nc), Table: over.OID, Num: c.Num})
		}
		rl.Named, rl.Open = true, true
		sc.Items = []*scope.Item{rl}
	}
	e, err := sc.Expr(n, p)
	if err != nil {
		if kind == ForDefault && over == nil && pgerr.Is(err, pgerr.UndefinedColumn) {
			return nil, nil, pgerr.Unsupported("cannot use column reference in DEFAULT expression").At(pgerr.From(err).Position)
		}
		return nil, nil, err
	}
	switch kind {
	case ForCheck:
		e, err = b.Boolean(e, "CHECK", b.SpotExpr(n))
	case ForPredicate:
		e, err = b.Boolean(e, "WHERE", b.SpotExpr(n))
	case ForIndex:
		e, err = b.ResolveUnknown(e)
	}
	if err != nil {
		return nil, nil, err
	}
	if kind == ForGenerated || kind == ForIndex || kind == ForPredicate {
		bad := false
		var look func(x expr.Expr) bool
		look = func(x expr.Expr) bool {
			// What a function declares of its body is believed; one that is not declared immutable is looked through.
			if pr, ok := b.Stmt.Promised[x]; ok && pr.Func.Vol == fn.Immutable {
				for _, a := range pr.Args {
					expr.Walk(a, look)
				}
				return false
			}
			switch x := x.(type) {
			case *expr.Call:
				if x.Fn.Name == "textanycat" || x.Fn.Name == "anytextcat" {
					// As in PostgreSQL, which looks through them: a || b::text.
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
		}
		expr.Walk(e, look)
		if bad && kind == ForGenerated {
			return nil, nil, pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
		}
		if bad {
			what := map[ScalarKind]string{ForIndex: "expression", ForPredicate: "predicate"}[kind]
			return nil, nil, pgerr.New(pgerr.InvalidObjectDefinition, "functions in index %s must be marked IMMUTABLE", what)
		}
	}
	return e, cols, nil
}

// AssignTo converts an expression that Scalar bound to the type of its column. n is the expression as it is
// written, nil if it comes from the catalog.
func AssignTo(s *Session, e expr.Expr, column string, t types.Type, n ast.Node) (expr.Expr, error) {
	b := newBinder(s)
	var at typing.Position
	if n != nil {
		at = b.SpotExpr(n)
	} else {
		b.Text = nil
	}
	if !b.CanCoerce(e.Type().OID, t.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column %q is of type %s but default expression is of type %s", column, b.TypeName(t), b.TypeName(e.Type())).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return b.Assign(e, column, t, at)
}

// Loaded converts a column of a file, e, to the type of a table's column, as an assignment does. Text is read
// by the type's input function, since COPY writes values as text if the file's format has no type for them.
func Loaded(s *Session, e *expr.Col, column string, t types.Type) (expr.Expr, error) {
	b := newBinder(s)
	from, to := e.Typ, t
	if fe, ok := from.Elem(); ok {
		if te, ok := to.Elem(); ok {
			from, to = fe, te
		}
	}
	if from.OID == types.TextOID && !b.CanCoerce(from.OID, to.OID, fn.AssignmentCast) {
		read, err := b.Coerce(e, types.Type{OID: t.OID, Mod: -1, Rec: t.Rec}, fn.ExplicitCast, typing.Position{})
		if err != nil {
			return nil, err
		}
		return b.Assign(read, column, t, typing.Position{})
	}
	return b.Assign(e, column, t, typing.Position{})
}

// The names of what Convertible and Rewrite convert, for messages.
const (
	TheColumn  = ""
	ByUsing    = "result of USING clause for "
	ItsDefault = "default for "
)

// Convertible reports whether ALTER COLUMN TYPE may turn e into type t, which takes an
// assignment cast.
func Convertible(s *Session, e expr.Expr, what, column string, t types.Type) error {
	_, err := convert(newBinder(s), e, what, column, t)
	return err
}

func convert(b *scope.Binder, e expr.Expr, what, column string, t types.Type) (expr.Expr, error) {
	if b.CanCoerce(e.Type().OID, t.OID, fn.AssignmentCast) {
		return b.Assign(e, column, t, typing.Position{})
	}
	err := pgerr.New(pgerr.DatatypeMismatch, "%scolumn %q cannot be cast automatically to type %s", what, column, b.TypeName(t))
	switch what {
	case TheColumn:
		return nil, err.WithHint("You might need to specify \"USING %s::%s\".", column, b.TypeName(t))
	case ByUsing:
		return nil, err.WithHint("You might need to add an explicit cast.")
	}
	return nil, err
}

// Argument binds an expression without columns and converts it to type t, the type of parameter i (from 1),
// as EXECUTE does.
func Argument(s *Session, n ast.Node, i int, t types.Type) (expr.Expr, error) {
	b := newBinder(s)
	e, _, err := scalar(b, n, nil, ForDefault)
	if err != nil {
		return nil, err
	}
	if t.OID == types.RecordOID && t.Rec == nil {
		return nil, pgerr.Unsupported("parameter $%d is a record whose columns are not known", i).At(b.SpotExpr(n).At())
	}
	if !b.CanCoerce(e.Type().OID, t.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", i, b.TypeName(e.Type()), b.TypeName(t)).
			WithHint("You will need to rewrite or cast the expression.").At(b.SpotExpr(n).At())
	}
	return b.Coerce(e, t, fn.AssignmentCast, b.SpotExpr(n))
}

// Derive checks an expression of TRANSFORM over the columns of the training query, and returns
// which of them it reads. Prediction must compute the same as training: it may contain no subquery,
// no parameter and nothing volatile.
func Derive(s *Session, n ast.Node, cols []catalog.ModelFeature) (reads []int, err error) {
	b := newBinder(s)
	b.Plain = true
	from := make([]expr.Expr, len(cols))
	at := map[expr.ColID]int{}
	lv := &scope.Level{Depth: 1}
	for i, c := range cols {
		nc := b.NewCol(lv, c.Name, c.Type)
		at[nc.ID], from[i] = i, scope.Col(nc)
	}
	e, err := model.Derived(b, n, cols, from, lv)
	switch {
	case err != nil:
		return nil, err
	case scope.HasSubquery(e):
		return nil, pgerr.Unsupported("subqueries in TRANSFORM are not supported").WithHint("Compute them in the query.").At(b.PosExpr(n))
	case scope.Volatile(e):
		return nil, pgerr.New(pgerr.InvalidParameterValue, "an expression of TRANSFORM must give the same for the same row").
			WithHint("Leave out volatile functions such as random().").At(b.PosExpr(n))
	}
	seen := make([]bool, len(cols))
	b.EachCol(e, func(id expr.ColID) { seen[at[id]] = true })
	for i, ok := range seen {
		if ok {
			reads = append(reads, i)
		}
	}
	return reads, nil
}

// TypeName resolves a type's name as written in a statement: a built-in type,
// a user's enum, or a table's row type, with its modifier and array bounds.
func TypeName(s *Session, n *ast.TypeName) (types.Type, error) {
	return newBinder(s).ResolveType(n)
}
