package write

import (
	"slices"

	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TakeTurn waits until other transactions of the node that have written the rows that the statement writes by
// their keys have ended, or have had them for long (txn.Turns). A view that is taken then has what they committed,
// and waited says that one taken before is older. p is the statement's generic plan, nil for none;
// st is the newest state.
func (x *Statement) TakeTurn(st *catalog.State, p *planner.Planned) (waited bool, err error) {
	t := x.Txn
	if p == nil || t.Turns == nil || t.Isolation != txn.ReadCommitted {
		return false, nil
	}
	for _, key := range x.writtenKeys(st, p) {
		w, err := t.Turns.Take(x.Ctx, t.Txn, key)
		if err != nil {
			return false, err
		}
		waited = waited || w
	}
	return waited, nil
}

// writtenKeys returns hashes of the keys by which a statement writes rows that may be there, or locks them until it
// writes them, in order; none where they are not known before it runs.
func (x *Statement) writtenKeys(st *catalog.State, p *planner.Planned) []uint64 {
	table, root := types.OID(0), plan.Node(nil)
	if p.DML != nil {
		table, root = p.DML.Table.OID, p.DML.Source
	} else {
		for _, l := range p.Query.Locks {
			if table != 0 || l.Share || l.Skip || l.NoWait {
				return nil
			}
			table, root = l.Table, p.Query.Root
		}
	}
	rel := st.RelationByOID(table)
	if rel == nil { // the transaction made it
		return nil
	}
	if p.DML != nil && p.DML.OnConflict != nil {
		return x.proposedKeys(rel, p.DML)
	}
	if p.Few != nil {
		return x.joinedKeys(rel, p.Few)
	}
	for root != nil {
		if s, ok := root.(*plan.Scan); ok {
			if s.Table == rel.OID {
				if k := store.KeyOf(s, rel, x.Env); k != nil {
					return []uint64{k.Hash()}
				}
			}
			return nil
		}
		kids := root.Children()
		if len(kids) != 1 {
			return nil
		}
		root = kids[0]
	}
	return nil
}

// proposedKeys are the keys of few rows with ON CONFLICT, by the constraints that decide.
func (x *Statement) proposedKeys(rel *catalog.Relation, d *plan.DML) (out []uint64) {
	v, ok := d.Source.(*plan.Values)
	if !ok {
		return nil
	}
	for i := range rel.Constraints {
		c := &rel.Constraints[i]
		if !isUnique(c) || c.Kind == 'e' || d.OnConflict.Arbiter != 0 && c.OID != d.OnConflict.Arbiter {
			continue
		}
		cols := make([]expr.ColID, len(c.Columns))
		for j, num := range c.Columns {
			live := slices.IndexFunc(rel.Live(), func(c catalog.Column) bool { return c.Num == num })
			if live < 0 || live >= len(d.Values) {
				return nil
			}
			cols[j] = d.Values[live]
		}
		out = append(out, x.givenKeys(rel, c, v, cols)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// joinedKeys are the keys of few given rows that are joined with the table, as by MERGE.
func (x *Statement) joinedKeys(rel *catalog.Relation, f *planner.FewJoin) []uint64 {
	c, at := joinedKey(rel, f)
	if c == nil || f.Scan.Table != rel.OID {
		return nil
	}
	cols := make([]expr.ColID, len(at))
	for i, at := range at {
		cols[i] = f.Given.Schema()[at].ID
	}
	for n := f.Given; n != nil; {
		switch g := n.(type) {
		case *plan.Values:
			out := x.givenKeys(rel, c, g, cols)
			slices.Sort(out)
			return slices.Compact(out)
		case *plan.Filter:
			n = g.Input
		case *plan.Project:
			for i, id := range cols {
				k := slices.IndexFunc(g.Items, func(it plan.Item) bool { return it.Col.ID == id })
				if k < 0 {
					return nil
				}
				of, ok := g.Items[k].Expr.(*expr.Col)
				if !ok {
					return nil
				}
				cols[i] = of.ID
			}
			n = g.Input
		default:
			return nil
		}
	}
	return nil
}

// givenKeys are the keys of the rows of a VALUES by a constraint whose columns are these.
func (x *Statement) givenKeys(rel *catalog.Relation, c *catalog.Constraint, v *plan.Values, cols []expr.ColID) (out []uint64) {
	if len(v.Rows) > fewValues {
		return nil
	}
	for _, row := range v.Rows {
		key := make([]types.Datum, len(cols))
		for j, id := range cols {
			k := slices.IndexFunc(v.Cols, func(c plan.Column) bool { return c.ID == id })
			if k >= 0 && isGiven(row[k]) {
				key[j], _ = eval.Constant(row[k], x.Env) // an error is the statement's, later
			}
		}
		if k := store.KeyFor(rel, c, key); k != nil {
			out = append(out, k.Hash())
		}
	}
	return out
}

// isGiven reports whether an expression is a constant or a parameter, cast or not.
func isGiven(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Const, *expr.Param:
		return true
	case *expr.Cast:
		return isGiven(e.Arg)
	}
	return false
}
