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
			return r.Reads(root, nil, bulkRows) >= bulkRows
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

// bulk carries out an INSERT whose rows are written in lanes.
func (w *ModifyTable) bulk(source plan.Node) error {
	segs, n, err := w.r.writeLanes(&plan.TableWrite{Input: source, Table: w.rel, Values: w.d.Values, Checks: w.d.Checks, Out: plan.Column{ID: w.d.NextCol}})
	if err != nil {
		return err
	}
	w.rows, w.inserted = n, n
	return w.r.apply(w.rel, nil, segs)
}

// Into writes a query's rows into segments of a table, whose live columns they
// are in order; segmentRows as in plan.TableWrite.
func (r *Run) Into(rel *catalog.Relation, q *plan.Query, segmentRows int64) ([]*catalog.Segment, int64, error) {
	o, next, err := r.Plan(q)
	if err != nil {
		return nil, 0, err
	}
	if err := r.buffers(o.Buffers); err != nil {
		return nil, 0, err
	}
	if r.inLanes(o.Root) {
		live := rel.Live()
		in := &plan.Project{Input: o.Root}
		for i, c := range o.Cols {
			var e expr.Expr = colRef(c)
			if !c.Type.CarriedAs(live[i].Type) {
				e = &expr.Cast{Arg: e, Typ: live[i].Type}
			}
			in.Items = append(in.Items, plan.Item{Col: plan.Column{ID: next, Name: live[i].Name, Type: live[i].Type}, Expr: e})
			next++
		}
		return r.writeLanes(&plan.TableWrite{Input: in, Table: rel, Out: plan.Column{ID: next}, SegmentRows: segmentRows})
	}
	rows, err := r.start(o.Root, o.Cols, nil)
	if err != nil {
		return nil, 0, err
	}
	return r.copyInto(rel, rows, o.Cols, segmentRows)
}

// copyInto writes a reader's rows into segments of a table through one writer,
// and closes the reader.
func (r *Run) copyInto(rel *catalog.Relation, rows op.BatchReader, cols []plan.Column, segmentRows int64) ([]*catalog.Segment, int64, error) {
	defer rows.Close()
	check := r.rowCheck(rel)
	conv, err := newRecast(cols, check.Cols, r.x.Env)
	if err != nil {
		return nil, 0, err
	}
	out, err := r.x.Files.Writer(r.x.Pool, rel, segmentRows)
	if err != nil {
		return nil, 0, err
	}
	var n int64
	for {
		b, err := rows.Next(r.x.Ctx)
		if err == io.EOF {
			break
		}
		if err == nil && b.Rows() > 0 {
			if b, err = conv.batch(r.x.Ctx, b); err == nil {
				if err = check.Rows(r.x.Ctx, b, b); err == nil {
					n += int64(b.Rows())
					err = out.Write(r.x.Ctx, b)
				}
			}
		}
		if err != nil {
			out.Abort()
			return nil, 0, err
		}
	}
	segs, err := out.Finish(r.x.Ctx)
	if err != nil {
		return nil, 0, err
	}
	r.x.Txn.Wrote(segs...)
	return segs, n, nil
}

// rowCheck holds a table's NOT NULL columns against rows of its live columns.
func (r *Run) rowCheck(rel *catalog.Relation) *op.RowCheck {
	c := &op.RowCheck{Table: rel, Cols: rel.Live(), Env: r.x.Context.Values}
	if sc := r.st.Schema(rel.Schema); sc != nil {
		c.Schema = sc.Name
	}
	return c
}
