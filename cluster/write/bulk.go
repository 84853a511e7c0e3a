package write

import (
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// bulkRows is how many rows a plan must read for its threads to write the rows that they produce, each
// thread segments of its own on its own node; fewer if plans over fewer run on several nodes
// (tributary.distribute_rows). Otherwise, and if the rows are in an order, one writer on the gateway
// writes them, in that order.
const bulkRows = 64 << 10

// inThreads reports whether the threads that produce the rows of an optimised tree also write them.
func (r *Executor) inThreads(root plan.Node) bool {
	n := root
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			n = x.Input
		case *plan.ProjectSet:
			n = x.Input
		case *plan.Scan, *plan.Source, *plan.Join, *plan.Aggregate, *plan.Window, *plan.SetOp:
			least := min(bulkRows, r.x.Caller.DistributeRows)
			return r.LeafRows(root, nil, least, true) >= least
		default:
			return false
		}
	}
}

// inThreads executes the statement in the threads that produce its source's rows.
func (w *ModifyTable) inThreads(source plan.Node) error {
	n := w.node(source)
	n.Again = (n.Kind == plan.UpdateRows || n.Kind == plan.DeleteRows) &&
		!props.CoversKey(props.UniqueKeys(source, props.FromState(w.r.st)), plan.ColSet{n.RowID: true})
	next := w.d.NextCol
	column := func(name string, t types.Type) plan.Column {
		next++
		return plan.Column{ID: next - 1, Name: name, Type: t}
	}
	n.Out = column("written", types.Bytea)
	for _, it := range w.d.Returning {
		n.Returning = append(n.Returning, plan.Item{Col: column(it.Col.Name, it.Col.Type), Expr: it.Expr})
	}
	keys := w.r.x.Txn.foreign.keys
	if keys != nil && keys.pairs {
		for _, ids := range [][]expr.ColID{w.d.Old, w.d.Values} {
			for _, num := range keys.nums {
				c := w.live[keys.column(num)]
				to := column(c.Name, c.Type)
				n.Updated = append(n.Updated, plan.Item{Col: to, Expr: &expr.Col{ID: ids[keys.column(num)], Typ: c.Type, Name: c.Name}})
			}
		}
	}
	cols := n.Schema()
	rows, err := w.r.start(n, cols, w.reads)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(w.r.x.Ctx)
		if err == io.EOF {
			w.r.Note(w.d)
			return nil
		}
		if err != nil {
			return err
		}
		// A row has either changed columns, or in the first column a catalog.Written (NewTableWrite).
		told := b.Cols[0]
		var changed []int32
		for k := range b.Rows() {
			row := k
			if b.Sel != nil {
				row = int(b.Sel[k])
			}
			if told.IsNull(row) {
				changed = append(changed, int32(row))
				continue
			}
			enc, ok := types.DatumAt(types.Bytea, told, row).([]byte)
			if !ok {
				return pgerr.Internal("a table write tells of nothing")
			}
			x, err := catalog.UnmarshalWritten(enc)
			if err == nil {
				err = w.addWritten(x)
			}
			if err != nil {
				return err
			}
		}
		if len(changed) == 0 {
			continue
		}
		b = kernel.Compact(&batch.Batch{Cols: b.Cols, N: b.N, Sel: changed, Seq: -1})
		at := 1 + len(n.Returning)
		if at > 1 {
			if err := w.keep(batch.New(b.Cols[1:at:at], b.N)); err != nil {
				return err
			}
		}
		if len(n.Updated) > 0 {
			if err := keys.keep(w.r.x.Ctx, batch.New(b.Cols[at:], b.N)); err != nil {
				return err
			}
		}
	}
}
