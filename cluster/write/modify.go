package write

import (
	"io"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Modify carries out a bound statement. What it returns must be closed.
func (r *Executor) Modify(d *plan.DML) (*ModifyTable, error) {
	d, err := r.PlanDML(d)
	if err != nil {
		return nil, err
	}
	return r.modify(d, nil)
}

// ModifyBound is Modify for a statement that may come again.
func (r *Executor) ModifyBound(b *planner.Bound) (*ModifyTable, error) {
	r.writes(b.DML.Table, b.DML.Buffers)
	p, err := r.Executor.Plan(r.x.Ctx, b)
	if err != nil {
		return nil, err
	}
	d := p.DML
	if p.Staged != nil && d.OnConflict != nil { // it may be shared, and is run as a part of others
		mine := *d
		d, mine.Source = &mine, own(d.Source, nil)
	}
	return r.modify(d, p)
}

// modify runs an optimised statement; p has the plan of its source, if it is not nil and
// that is made.
func (r *Executor) modify(d *plan.DML, p *planner.Planned) (w *ModifyTable, err error) {
	first, last := plan.Unread(d.Buffers, d.Source)
	if err := r.buffers(first); err != nil {
		return nil, err
	}
	w = r.modifying(d)
	w.idle = p.Idle()
	defer func() {
		if err != nil {
			w.abort()
			w.Close()
		}
	}()
	w.watchKeys()
	if v, ok := d.Source.(*plan.Values); ok {
		r.x.short(int64(len(v.Rows)))
	}
	if err := w.seeEarlier(); err != nil {
		return w, err
	}
	if d.OnConflict != nil {
		err = w.onConflict()
	} else if err = w.execute(d.Source, p); err == nil {
		err = w.finish()
	}
	if err != nil {
		return w, err
	}
	return w, r.buffers(last)
}

// execute changes the table's rows as an optimised source says; p is as for modify.
func (w *ModifyTable) execute(source plan.Node, p *planner.Planned) error {
	var staged *plan.Staged
	if p != nil {
		staged = p.Staged
	}
	var few *planner.FewJoin
	switch {
	case w.later || w.r.Analyze:
	case staged != nil:
		few = p.Few
	default:
		few = planner.FewJoinOf(source, props.Constraints(w.r.st))
	}
	if few == nil && staged == nil && w.r.inThreads(source) {
		return w.inThreads(source)
	}
	w.over(source.Schema())
	if err := w.prepare(); err != nil {
		return err
	}
	if few != nil || staged != nil || areFewValues(source) {
		if known, err := w.inPlace(source, few); known || err != nil {
			return err
		}
	}
	var again plan.Node // of a COPY
	if w.r.copied != nil {
		again = copied(source)
	}
	var rows op.BatchReader
	var err error
	switch {
	case few != nil:
		if source, err = w.lookedUp(source, few); err == nil {
			rows, err = w.r.few(source, w.src, nil)
		}
	case staged != nil:
		rows, err = w.r.Staged(w.r.x.Ctx, staged)
	default:
		rows, err = w.r.start(source, w.src, w.reads)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(w.r.x.Ctx)
		if err == io.EOF {
			w.r.Note(w.d)
			return w.flush()
		}
		if err == nil && b.Rows() > 0 {
			err = w.rows.Rows(w.r.x.Ctx, b)
			if err == nil && w.r.copied != nil {
				w.r.copied.wrote(b.Rows())
			}
		}
		if err != nil {
			_ = rows.Close() // its plan, for another may have to run
			return w.inContext(again, err)
		}
	}
}

// fewValues is how many rows are written without a task that gives them.
const fewValues = 8

func areFewValues(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Rows) <= fewValues
}

// inPlace writes the rows of a source that is computed in place; known is false where its plan must run. few is
// the join that it has, nil for none.
func (w *ModifyTable) inPlace(source plan.Node, few *planner.FewJoin) (known bool, err error) {
	b, found, known, err := rowsInPlace(w.r, w.idle, source, few)
	if err != nil || !known {
		return false, err
	}
	w.found = found
	if b.Rows() > 0 {
		if err := op.Guard("rows in place", func() error { return w.rows.Rows(w.r.x.Ctx, b) }); err != nil {
			return true, err
		}
	}
	return true, w.flush()
}

// Into writes a query's rows into segments of a table, whose live columns they
// are in order, and says how many they are; segmentRows as in plan.TableWrite. The
// transaction's view has them once they are added to it (Append).
func (r *Executor) Into(rel *catalog.Relation, q *plan.Query, segmentRows int64) (segs []*catalog.Segment, n int64, err error) {
	o, next, err := r.Plan(q)
	if err != nil {
		return nil, 0, err
	}
	if err := r.buffers(o.Buffers); err != nil {
		return nil, 0, err
	}
	w := r.modifying(&plan.DML{Kind: plan.InsertRows, Table: rel})
	defer w.Close()
	w.segmentRows = segmentRows
	source := &plan.Project{Input: o.Root}
	for i, c := range o.Cols {
		to := plan.Column{ID: next, Name: w.live[i].Name, Type: w.live[i].Type}
		var e expr.Expr = colRef(c)
		if !c.Type.SamePhysical(to.Type) { // as a numeric whose scale the query knew
			e = &expr.Cast{Arg: e, Typ: to.Type}
		}
		source.Items = append(source.Items, plan.Item{Col: to, Expr: e})
		w.d.Values = append(w.d.Values, next)
		next++
	}
	w.d.NextCol = next
	if err = w.execute(source, nil); err != nil {
		w.abort()
	}
	return w.segments(), w.count, err
}

// Select plans and starts a bound query that is run once. The reader gives its
// columns in order.
func (r *Executor) Select(q *plan.Query) (op.BatchReader, []plan.Column, error) {
	return r.SelectBound(planner.Once(q))
}

// SelectBound is Select for a query that may come again.
func (r *Executor) SelectBound(b *planner.Bound) (op.BatchReader, []plan.Column, error) {
	r.writes(nil, b.Query.Buffers)
	p, err := r.Executor.Plan(r.x.Ctx, b)
	if err != nil {
		return nil, nil, err
	}
	if idle := p.Idle(); idle != nil {
		rows, err := keyedRow(r, p.Query, idle)
		if rows != nil || err != nil {
			return rows, p.Query.Cols, err
		}
	}
	return r.Planned(r.x.Ctx, p, r.returning)
}

// buffers fills the statement's buffers, in order.
func (r *Executor) buffers(defs []plan.BufferDef) error {
	return r.Buffers(r.x.Ctx, defs, r.returning)
}

// returning runs a data-modifying CTE and gives its RETURNING rows, or reads rows that are locked. The statement's
// other parts keep reading the state from before.
func (r *Executor) returning(d plan.BufferDef) (op.BatchReader, error) {
	if d.DML == nil {
		return r.lockedBuffer(d)
	}
	w, err := r.modify(d.DML, nil)
	if err != nil {
		return nil, err
	}
	return w.Returned()
}
