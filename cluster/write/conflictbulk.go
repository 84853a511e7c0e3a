package write

import (
	"errors"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// conflictsInThreads reports whether ON CONFLICT is executed in the threads that produce the proposed
// rows: if their plan is large and has no order, and one constraint decides. With several, the order
// of the rows matters, since a row that one constraint excludes does not occupy the keys of others
// (choose).
func (w *ModifyTable) conflictsInThreads(arbiters []*uniqueKey) bool {
	if len(arbiters) != 1 || w.there != nil || !w.r.inThreads(w.d.Source) {
		return false
	}
	a, oc := arbiters[0], w.d.OnConflict
	if a.NullsNotDistinct && a.where != nil {
		return false
	}
	if !oc.Update { // it may be executed a second time, which must read the same rows
		return !scope.VolatilePlan(w.d.Source)
	}
	// A violation of the constraint is reported as two proposed rows with equal keys. That is right
	// only if DO UPDATE does not change the key, as it may then equal another row's.
	read := map[expr.ColID]bool{}
	for _, e := range a.keys {
		expr.Columns(e, read)
	}
	if a.where != nil {
		expr.Columns(a.where, read)
	}
	for i := range oc.Set {
		if c, ok := w.set(i).(*expr.Col); read[expr.ColID(i+1)] && !(ok && c.ID == oc.Existing[i]) {
			return false
		}
	}
	return true
}

// conflictInThreads executes ON CONFLICT as a MERGE, on all nodes:
//
//	scan(table, rowid) ⟖ proposed   on the arbiter's columns
//	   → action := CASE WHEN rowid IS NULL THEN 1 WHEN <where> THEN 2 END
//	   → values := CASE action WHEN 1 THEN proposed WHEN 2 THEN <set> END
//	   → TableWrite
//
// The join's hash table has the proposed rows, whose keys are a runtime filter of the scan. The check
// of the unique constraint finds equal keys of new rows when all are written. DO UPDATE then fails, as
// it does for a row of the table that two proposed rows match. DO NOTHING is executed again on the
// gateway (again), which inserts the first of equal rows. To find them beforehand would take a
// grouping of all rows by key.
func (w *ModifyTable) conflictInThreads(k *uniqueKey) (again bool, err error) {
	was, oc := w.d, w.d.OnConflict
	made := &newColumns{was.NextCol + 1000}
	a := w.arbiter(k, made)
	proposed := copied(was.Source)
	if len(a.computed) > 0 {
		proposed = &plan.Project{Input: proposed, Items: append(kept(proposed), a.computed...)}
	}
	rowid := plan.Column{ID: a.scan.RowID, Name: "rowid", Type: types.Int8}
	join := &plan.Join{Kind: plan.Right, L: a.scan, R: proposed, LKeys: a.theirs, RKeys: a.mine(), NullSafe: a.nullSafe}
	if !oc.Update {
		narrow := &plan.Scan{Table: a.scan.Table, Name: a.scan.Name, RowID: rowid.ID, Filter: a.scan.Filter}
		for _, e := range a.scan.Filter {
			expr.Columns(e, a.read)
		}
		for i, c := range a.scan.Cols {
			if a.read[c.ID] {
				narrow.Cols, narrow.Missing = append(narrow.Cols, c), append(narrow.Missing, a.scan.Missing[i])
			}
		}
		join.L = narrow
	}

	number := func(n int64) expr.Expr { return &expr.Const{Val: n, Typ: types.Int4} }
	choice := &expr.Case{Typ: types.Int4, Whens: []expr.When{{Cond: &expr.IsNull{Arg: colRef(rowid)}, Then: number(1)}}}
	if oc.Update {
		hit := expr.Expr(&expr.IsNull{Arg: colRef(rowid), Not: true})
		if oc.Where != nil {
			hit = &expr.And{Args: []expr.Expr{hit, w.proposed(oc.Where)}}
		}
		choice.Whens = append(choice.Whens, expr.When{Cond: hit, Then: number(2)})
	}
	action := made.column("action", types.Int4)
	source := plan.Node(&plan.Project{Input: join, Items: append(kept(join), plan.Item{Col: action, Expr: choice})})

	d := *was
	d.Kind, d.RowID, d.Action, d.OnConflict = plan.MergeRows, rowid.ID, action.ID, nil
	w.conflict = &proposedRows{values: was.Values, checks: was.Checks}
	if oc.Update {
		d.Old, d.Values, d.Checks, d.Returning = oc.Existing, nil, nil, nil
		to := map[expr.ColID]expr.ColID{}
		values := kept(source)
		for i, live := range w.live {
			c := made.column(live.Name, live.Type)
			d.Values, to[was.Values[i]] = append(d.Values, c.ID), c.ID
			mine := &expr.Col{ID: was.Values[i], Typ: live.Type, Name: live.Name}
			values = append(values, plan.Item{Col: c, Expr: &expr.Case{Typ: live.Type, Whens: []expr.When{
				{Cond: equals(action, int64(1)), Then: mine}, {Cond: equals(action, int64(2)), Then: w.set(i)}}}})
		}
		source = &plan.Project{Input: source, Items: values}
		written := func(e expr.Expr) expr.Expr {
			return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
				if c, ok := x.(*expr.Col); ok && to[c.ID] != 0 {
					return &expr.Col{ID: to[c.ID], Typ: c.Typ, Name: c.Name}
				}
				return x
			})
		}
		for _, c := range was.Checks {
			c.Expr = written(c.Expr)
			d.Checks = append(d.Checks, c)
		}
		for _, it := range was.Returning {
			d.Returning = append(d.Returning, plan.Item{Col: it.Col, Expr: written(it.Expr)})
		}
	}
	d.Source, d.NextCol = source, made.next
	w.d = &d
	err = w.inThreads(source)
	w.d = was
	if err == nil {
		err = w.finish()
	}
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Code != pgerr.UniqueViolation || e.Table != w.rel.Name || e.Constraint != a.Name {
		return false, err
	}
	if oc.Update {
		return false, op.ErrConflictTwice()
	}
	w.acct.Resize(0)
	w.dropReturned()
	w.written, w.count, w.conflict, w.old = nil, 0, nil, op.RowIDs{}
	w.watchKeys()
	return true, nil
}

// copied copies a tree except its leaves, since running a tree changes it.
func copied(n plan.Node) plan.Node {
	var kids []plan.Node
	for _, k := range n.Children() {
		kids = append(kids, copied(k))
	}
	if kids == nil {
		return n
	}
	return n.WithChildren(kids)
}
