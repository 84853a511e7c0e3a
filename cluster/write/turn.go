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
	rel := st.RelationByOID(p.DML.Table.OID)
	if rel == nil { // the transaction made it
		return false, nil
	}
	for _, key := range x.writtenKeys(rel, p.DML) {
		w, err := t.Turns.Take(x.Ctx, t.Txn, key)
		if err != nil {
			return false, err
		}
		waited = waited || w
	}
	return waited, nil
}

// writtenKeys returns hashes of the keys by which a statement writes rows that may be there, in order; none where they
// are not known before it runs.
func (x *Statement) writtenKeys(rel *catalog.Relation, d *plan.DML) (out []uint64) {
	if d.OnConflict != nil {
		return x.proposedKeys(rel, d)
	}
	n := d.Source
	for {
		if s, ok := n.(*plan.Scan); ok {
			if s.Table == rel.OID {
				if k := store.KeyOf(s, rel, x.Env); k != nil {
					out = append(out, k.Hash())
				}
			}
			return out
		}
		kids := n.Children()
		if len(kids) != 1 {
			return nil
		}
		n = kids[0]
	}
}

// proposedKeys are the keys of few rows with ON CONFLICT, by the constraints that decide.
func (x *Statement) proposedKeys(rel *catalog.Relation, d *plan.DML) (out []uint64) {
	v, ok := d.Source.(*plan.Values)
	if !ok || len(v.Rows) > fewValues {
		return nil
	}
	for i := range rel.Constraints {
		c := &rel.Constraints[i]
		if !isUnique(c) || c.Kind == 'e' || d.OnConflict.Arbiter != 0 && c.OID != d.OnConflict.Arbiter {
			continue
		}
		at := make([]int, len(c.Columns))
		for j, num := range c.Columns {
			live := slices.IndexFunc(rel.Live(), func(c catalog.Column) bool { return c.Num == num })
			if live < 0 || live >= len(d.Values) {
				return nil
			}
			at[j] = slices.IndexFunc(v.Cols, func(c plan.Column) bool { return c.ID == d.Values[live] })
		}
		for _, row := range v.Rows {
			key := make([]types.Datum, len(at))
			for j, k := range at {
				if k >= 0 && isGiven(row[k]) {
					key[j], _ = eval.Constant(row[k], x.Env) // an error is the statement's, later
				}
			}
			if k := store.KeyFor(rel, c, key); k != nil {
				out = append(out, k.Hash())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
