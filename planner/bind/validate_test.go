package bind

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// check checks the invariants of a bound query that later phases rely on:
// columns that are read are produced below or belong to an outer query, no node
// produces a column twice, and a column has the type of the expression that
// computes it.
func check(q *plan.Query) error {
	for _, d := range q.Buffers {
		if err := checkBuffer(d); err != nil {
			return err
		}
	}
	if err := checkNode(q.Root, nil); err != nil {
		return err
	}
	return emits(q.Root, q.Cols)
}

func checkBuffer(d plan.BufferDef) error {
	if d.DML != nil {
		return checkDML(d.DML)
	}
	if err := checkNode(d.Root, nil); err != nil {
		return err
	}
	return emits(d.Root, d.Cols)
}

func emits(n plan.Node, cols []plan.Column) error {
	made := typesOf(n.Schema())
	for _, c := range cols {
		t, ok := made[c.ID]
		if !ok {
			return fmt.Errorf("output %s#%d is not emitted", c.Name, c.ID)
		}
		if t.OID != c.Type.OID || t.Prec != c.Type.Prec || t.Scale != c.Type.Scale {
			return fmt.Errorf("output %s#%d is of type %v, emitted as %v", c.Name, c.ID, c.Type, t)
		}
	}
	return nil
}

func typesOf(cols []plan.Column) map[expr.ColID]physical {
	m := map[expr.ColID]physical{}
	for _, c := range cols {
		m[c.ID] = physical{c.Type.OID, c.Type.Prec, c.Type.Scale}
	}
	return m
}

func checkDML(d *plan.DML) error {
	for _, b := range d.Buffers {
		if err := checkBuffer(b); err != nil {
			return err
		}
	}
	if err := checkNode(d.Source, nil); err != nil {
		return err
	}
	made := typesOf(d.Source.Schema())
	has := func(ids ...expr.ColID) error {
		for _, id := range ids {
			if _, ok := made[id]; id != 0 && !ok {
				return fmt.Errorf("column #%d of the DML is not in its source", id)
			}
		}
		return nil
	}
	for _, list := range [][]expr.ColID{d.Values, d.Old, {d.RowID, d.Action}} {
		if err := has(list...); err != nil {
			return err
		}
	}
	if d.Values != nil {
		for i, c := range d.Table.Live() {
			if t := made[d.Values[i]]; t.OID != c.Type.OID || t.Prec != c.Type.Prec {
				return fmt.Errorf("new value of %s is of type %v, not %v", c.Name, t, c.Type)
			}
		}
	}
	for _, c := range d.Checks {
		if err := checkExpr(c.Expr, made); err != nil {
			return err
		}
	}
	for _, r := range d.Returning {
		if err := checkExpr(r.Expr, made); err != nil {
			return err
		}
	}
	if c := d.OnConflict; c != nil {
		over := map[expr.ColID]physical{}
		for id, t := range made { // subqueries are computed by the source
			over[id] = t
		}
		for i, lc := range d.Table.Live() {
			if c.Update {
				over[c.Existing[i]] = physical{lc.Type.OID, lc.Type.Prec, lc.Type.Scale}
				over[c.Excluded[i]] = physical{lc.Type.OID, lc.Type.Prec, lc.Type.Scale}
			}
		}
		for _, e := range append(append([]expr.Expr(nil), c.Set...), c.Where) {
			if e != nil {
				if err := checkExpr(e, over); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkNode(n plan.Node, outer map[expr.ColID]physical) error {
	in := map[expr.ColID]physical{}
	for k, v := range outer {
		in[k] = v
	}
	kids := n.Children()
	for i, k := range kids {
		scope := outer
		if _, ok := n.(*plan.Apply); ok && i == 1 {
			scope = map[expr.ColID]physical{}
			for k, v := range outer {
				scope[k] = v
			}
			for k, v := range typesOf(kids[0].Schema()) {
				scope[k] = v
			}
		}
		if err := checkNode(k, scope); err != nil {
			return err
		}
		for id, t := range typesOf(k.Schema()) {
			in[id] = t
		}
	}
	for id, t := range typesOf(scanCols(n)) {
		in[id] = t
	}
	seen := map[expr.ColID]bool{}
	for _, c := range n.Schema() {
		if seen[c.ID] {
			return fmt.Errorf("%T emits %s#%d twice", n, c.Name, c.ID)
		}
		seen[c.ID] = true
	}
	for _, e := range plan.Exprs(n) {
		if err := checkExpr(e, in); err != nil {
			return fmt.Errorf("in %T: %w", n, err)
		}
	}
	item := func(it plan.Item) error {
		a, c := it.Col.Type, it.Expr.Type()
		if !a.SamePhysical(c) {
			return fmt.Errorf("%s#%d is of type %v, made of %v", it.Col.Name, it.Col.ID, a, c)
		}
		return nil
	}
	switch x := n.(type) {
	case *plan.Project:
		for _, it := range x.Items {
			if err := item(it); err != nil {
				return err
			}
		}
	case *plan.Aggregate:
		for _, it := range x.Groups {
			if err := item(it); err != nil {
				return err
			}
		}
	case *plan.SetOp:
		for _, in := range x.Inputs {
			if err := alike(x.Cols, in.Schema()); err != nil {
				return err
			}
		}
	case *plan.RecursiveUnion:
		for _, in := range []plan.Node{x.Init, x.Step} {
			if err := alike(x.Cols, in.Schema()); err != nil {
				return err
			}
		}
	case *plan.Values:
		for _, r := range x.Rows {
			if len(r) != len(x.Cols) {
				return fmt.Errorf("a row of %d values for %d columns", len(r), len(x.Cols))
			}
			for i, e := range r {
				if err := item(plan.Item{Col: x.Cols[i], Expr: e}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func scanCols(n plan.Node) []plan.Column {
	switch n.(type) {
	case *plan.Scan, *plan.Virtual, *plan.Source:
		return n.Schema()
	}
	return nil
}

func alike(a, c []plan.Column) error {
	if len(a) != len(c) {
		return fmt.Errorf("an input of %d columns for %d", len(c), len(a))
	}
	for i := range a {
		if !a[i].Type.SamePhysical(c[i].Type) {
			return fmt.Errorf("column %d of type %v from an input of %v", i+1, a[i].Type, c[i].Type)
		}
	}
	return nil
}

func checkExpr(e expr.Expr, in map[expr.ColID]physical) error {
	var bad error
	expr.Walk(e, func(x expr.Expr) bool {
		if bad != nil {
			return false
		}
		switch x := x.(type) {
		case *expr.Col:
			t, ok := in[x.ID]
			if !ok {
				bad = fmt.Errorf("%s#%d is not there", x.Name, x.ID)
			} else if t.OID != x.Typ.OID || t.Prec != x.Typ.Prec || t.Scale != x.Typ.Scale {
				bad = fmt.Errorf("%s#%d is of type %v, read as %v", x.Name, x.ID, t, x.Typ)
			}
		case *expr.Subquery:
			n := x.Plan.(plan.Node)
			bad = checkNode(n, in)
			made := typesOf(n.Schema())
			for _, id := range x.Cols {
				if _, ok := made[id]; !ok && bad == nil {
					bad = fmt.Errorf("subquery does not emit #%d", id)
				}
			}
		}
		return true
	})
	return bad
}

// physical is the representation of a type.
type physical struct {
	OID         types.OID
	Prec, Scale uint8
}
