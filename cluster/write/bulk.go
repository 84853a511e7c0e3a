package write

import (
	"io"
	"slices"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// bulkRows is how many rows a plan reads for the lanes that read them to write
// what comes of them, each its own segments and each on its own node. With
// fewer, and where rows come in an order, they go through one writer at the
// gateway, which keeps the order.
const bulkRows = 64 << 10

// inLanes tells whether the rows of an optimised tree are written where they
// are made.
func (r *Run) inLanes(root plan.Node) bool {
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
			return r.Reads(root, nil, bulkRows, true) >= bulkRows
		default:
			return false
		}
	}
}

// writeLanes runs a TableWrite and gives the segments it wrote, in the order of
// their rows as far as there is one.
func (r *Run) writeLanes(n *plan.TableWrite) ([]*catalog.Segment, int64, error) {
	n.Out = plan.Column{ID: n.Out.ID, Name: "segment", Type: types.Bytea}
	if sc := r.st.Schema(n.Table.Schema); sc != nil {
		n.Namespace = sc.Name
	}
	for _, c := range n.Table.Live() {
		n.Cols = append(n.Cols, c.Num)
	}
	cols := n.Schema()
	rows, err := r.start(n, cols, nil)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	var list []catalog.Written
	var count int64
	for {
		b, err := rows.Next(r.x.Ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		for k := range b.Rows() {
			enc, ok := rowAt(b, cols, k)[0].([]byte)
			if !ok {
				return nil, 0, pgerr.Internal("a table write tells of no segment")
			}
			w, err := catalog.UnmarshalWritten(enc)
			if err != nil {
				return nil, 0, err
			}
			r.x.Txn.Wrote(w.Segment)
			list = append(list, w)
			count += w.Segment.Rows
		}
	}
	slices.SortStableFunc(list, func(a, b catalog.Written) int { return int(max(min(a.Seq-b.Seq, 1), -1)) })
	segs := make([]*catalog.Segment, len(list))
	for i, w := range list {
		segs[i] = w.Segment
	}
	return segs, count, nil
}

// segments writes the rows of an optimised tree as new rows of the table: in lanes, or
// through one writer.
func (w *ModifyTable) segments(source plan.Node) (segs []*catalog.Segment, err error) {
	if w.r.inLanes(source) {
		segs, w.rows, err = w.r.writeLanes(&plan.TableWrite{Input: source, Table: w.rel, Values: w.d.Values, Checks: w.d.Checks,
			Out: plan.Column{ID: w.d.NextCol}, SegmentRows: w.segmentRows})
		return segs, err
	}
	if err := w.prepare(source.Schema()); err != nil {
		return nil, err
	}
	rows, err := w.r.start(source, w.src, nil)
	if err != nil {
		return nil, err
	}
	if err := w.consume(rows); err != nil {
		return nil, err
	}
	return w.flush()
}

// Into writes a query's rows into segments of a table, whose live columns they
// are in order, and says how many they are; segmentRows as in plan.TableWrite. The
// transaction's view has them once they are added to it (Append).
func (r *Run) Into(rel *catalog.Relation, q *plan.Query, segmentRows int64) (segs []*catalog.Segment, n int64, err error) {
	o, next, err := r.Plan(q)
	if err != nil {
		return nil, 0, err
	}
	if err := r.buffers(o.Buffers); err != nil {
		return nil, 0, err
	}
	w := &ModifyTable{r: r, d: &plan.DML{Kind: plan.InsertRows, Table: rel}, rel: rel, live: rel.Live(), segmentRows: segmentRows}
	source := &plan.Project{Input: o.Root}
	for i, c := range o.Cols {
		to := plan.Column{ID: next, Name: w.live[i].Name, Type: w.live[i].Type}
		var e expr.Expr = colRef(c)
		if !c.Type.CarriedAs(to.Type) { // as a numeric whose scale the query knew
			e = &expr.Cast{Arg: e, Typ: to.Type}
		}
		source.Items = append(source.Items, plan.Item{Col: to, Expr: e})
		w.d.Values = append(w.d.Values, next)
		next++
	}
	w.d.NextCol = next
	if segs, err = w.segments(source); err != nil {
		w.abort()
	}
	return segs, w.rows, err
}

// rowCheck holds a table's NOT NULL columns against rows of its live columns.
func (r *Run) rowCheck(rel *catalog.Relation) *op.RowCheck {
	c := &op.RowCheck{Table: rel, Cols: rel.Live(), Env: r.x.Context.Values}
	if sc := r.st.Schema(rel.Schema); sc != nil {
		c.Schema = sc.Name
	}
	return c
}
