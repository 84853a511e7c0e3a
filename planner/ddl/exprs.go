package ddl

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// columnExpr binds a default or generation expression and its assignment to
// the column, for their errors. It returns the sequence whose next value the
// default is, if that is all it is: the default is of that sequence from then
// on, whatever its name becomes.
func (p *planner) columnExpr(e exprCheck, over *catalog.Relation) (sequence types.OID, err error) {
	kind := bind.ForDefault
	if e.allowCols {
		kind = bind.ForGenerated
	}
	x, cols, err := p.scalar(e.spot, e.text, over, kind)
	if err != nil {
		return 0, err
	}
	if e.kind == "GENERATED" {
		for _, num := range numbers(x, cols) {
			if c := over.ColumnNum(num); c.Generated != "" {
				return 0, pgerr.New(pgerr.InvalidObjectDefinition, "cannot use generated column %q in column generation expression", c.Name).
					WithDetail("A generated column cannot reference another generated column.").At(e.find(c.Name))
			}
		}
	}
	if _, err = bind.AssignTo(p.at(e.spot), x, e.column, e.typ, e.node); err != nil {
		return 0, err
	}
	if c, ok := x.(*expr.Call); ok && kind == bind.ForDefault && c.Fn.Name == "nextval" && p.env.Bind.Fold != nil {
		switch c.Args[0].(type) {
		case *expr.Const, *expr.Cast:
			d, err := p.env.Bind.Fold(c.Args[0])
			if err != nil {
				return 0, err
			}
			if oid, ok := d.(int64); ok {
				if r := p.env.Bind.State.RelationByOID(types.OID(oid)); r != nil && r.Kind == catalog.KindSequence {
					return r.OID, nil
				}
			}
		}
	}
	return 0, nil
}

// find is the place of a name in the expression, 0 where it has none.
func (s spot) find(name string) int {
	if s.text == nil {
		return 0
	}
	return s.text.FindIdent(name)
}

// at is the session for binding what is written at a spot.
func (p *planner) at(s spot) *bind.Session {
	if s.node == nil {
		return p.env.Bind
	}
	at := *p.env.Bind
	at.Text = s.text
	return &at
}

// scalar binds an expression where it is written, or its text as it is kept.
func (p *planner) scalar(s spot, text string, over *catalog.Relation, kind bind.ScalarKind) (expr.Expr, []plan.Column, error) {
	if s.node != nil {
		return bind.Scalar(p.at(s), s.node, over, kind)
	}
	return bind.ScalarText(p.env.Bind, text, over, kind)
}

// used returns the attribute numbers that an expression reads, sorted.
func (p *planner) used(s spot, text string, over *catalog.Relation, kind bind.ScalarKind) ([]int16, error) {
	x, cols, err := p.scalar(s, text, over, kind)
	if err != nil {
		return nil, err
	}
	return numbers(x, cols), nil
}

func numbers(x expr.Expr, cols []plan.Column) []int16 {
	set := map[expr.ColID]bool{}
	expr.Columns(x, set)
	var out []int16
	for _, c := range cols {
		if set[c.ID] {
			out = append(out, c.Num)
		}
	}
	slices.Sort(out)
	return out
}

// convertible binds the conversions of ALTER COLUMN TYPE, of the rows by USING, which may
// be nil, and of the default, for their errors.
func (p *planner) convertible(using ast.Node, over *catalog.Relation, col *catalog.Column, t types.Type) error {
	what, x := bind.TheColumn, expr.Expr(&expr.Col{Typ: col.Type})
	if using != nil {
		var err error
		if x, _, err = bind.Scalar(p.env.Bind, using, over, bind.ForUsing); err != nil {
			return err
		}
		what = bind.ByUsing
	}
	err := bind.Convertible(p.env.Bind, x, what, col.Name, t)
	if err == nil && col.Default != "" {
		err = bind.Convertible(p.env.Bind, &expr.Col{Typ: col.Type}, bind.ItsDefault, col.Name, t)
	}
	return err
}
