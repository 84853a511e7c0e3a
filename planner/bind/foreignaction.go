package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// ForeignAction is the action of a foreign key on rows that refer to changed or deleted keys: the rows are
// deleted, or some of their columns are set.
type ForeignAction struct {
	Table  *catalog.Relation // that refers
	Schema string            // its schema's name
	Key    *catalog.Constraint
	// Old are the types of the old keys. New are those of the new keys, nil if the keys are deleted.
	Old, New []types.Type
	// Set are the columns to set; nil means that the rows are deleted. To says to what they are set, as in
	// Constraint.OnUpdate.
	Set []int16
	To  byte
	// Buffer is the buffer from which the plan reads the keys: the columns of Old, then those of New.
	Buffer int
}

// Action returns the statement that carries out a foreign key's action, and the columns
// of the buffer that it reads:
//
//	UPDATE child c SET a = k.n1 FROM buffer k WHERE c.a = k.o1 AND k.o1 IS DISTINCT FROM k.n1
func Action(s *Session, a ForeignAction) (*plan.DML, []plan.Column, error) {
	b := newBinder(s)
	sc := (&scope.Scope{Binder: b}).Child(scope.Place{Name: "FOREIGN KEY"})
	w := &dmlBinder{sc: sc, b: b, table: a.Table, schema: a.Schema, live: a.Table.Live(), d: &plan.DML{Table: a.Table, Kind: plan.UpdateRows},
		name: &ast.RangeVar{SchemaName: a.Schema, RelName: a.Table.Name}}
	node, err := w.scanTarget()
	if err != nil {
		return nil, nil, err
	}
	var keys []plan.Column
	for _, t := range slices.Concat(a.Old, a.New) {
		keys = append(keys, b.NewCol(sc.Level, "k", t))
	}
	own := func(num int16) int {
		return slices.IndexFunc(w.live, func(c catalog.Column) bool { return c.Num == num })
	}
	var on, moved []expr.Expr
	for i, num := range a.Key.Columns {
		c := w.live[own(num)]
		same, err := b.Operator("=", &expr.Col{ID: w.d.Old[own(num)], Typ: c.Type, Name: c.Name}, scope.Col(keys[i]), typing.Position{})
		if err != nil {
			return nil, nil, err
		}
		on = append(on, same)
		if a.New != nil {
			other, err := b.DistinctFrom(scope.Col(keys[i]), scope.Col(keys[len(a.Old)+i]), false, typing.Position{})
			if err != nil {
				return nil, nil, err
			}
			moved = append(moved, other)
		}
	}
	var in plan.Node = &plan.Buffer{ID: a.Buffer, Name: "keys", Cols: slices.Clone(keys)}
	if len(moved) == 1 {
		in = &plan.Filter{Input: in, Conds: moved}
	} else if len(moved) > 1 {
		in = &plan.Filter{Input: in, Conds: []expr.Expr{&expr.Or{Args: moved}}}
	}
	node = query.Joined(plan.Inner, node, in, on)
	if a.Set == nil {
		w.d.Kind, w.d.Source = plan.DeleteRows, node
	} else if err := w.setKeys(node, a, keys, own); err != nil {
		return nil, nil, err
	}
	w.d.Tables, w.d.NextCol = b.Stmt.Tables(), b.Stmt.Next
	return w.d, keys, nil
}

// setKeys makes the new rows of a foreign key's action.
func (w *dmlBinder) setKeys(node plan.Node, a ForeignAction, keys []plan.Column, own func(num int16) int) (err error) {
	vals := make([]expr.Expr, len(w.live))
	for i, c := range w.live {
		if c.Generated == "" {
			vals[i] = &expr.Col{ID: w.d.Old[i], Typ: c.Type, Name: c.Name}
		}
	}
	for i, num := range a.Key.Columns {
		at := own(num)
		c := &w.live[at]
		switch {
		case !slices.Contains(a.Set, num) || a.To == 'd' && c.Generated != "":
			continue
		case a.To == 'd':
			vals[at], err = w.defaultOf(c)
		default:
			if err = settable(c); err != nil {
				break
			}
			var e expr.Expr = &expr.Const{Typ: c.Type}
			if a.To == 'c' {
				e = scope.Col(keys[len(a.Old)+i])
			}
			vals[at], err = w.b.Assign(e, c.Name, c.Type, typing.Position{})
		}
		if err != nil {
			return err
		}
	}
	w.d.Source, err = w.newRow(node, vals, true)
	return err
}
