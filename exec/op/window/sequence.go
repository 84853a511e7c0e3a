package window

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// sequence computes ml_windows(score, length, stride): a model's score of its partition, whose rows
// it sees in their order, as sequences of length rows that begin at every stride-th row. A row has
// the score of the sequence that it ends. So it wants the length-1 rows before it, and that those begin
// where a sequence does, but not the whole partition, and is computed of some rows at a time:
//
//	partition   …│ rows before │ rows that get their scores │…
//	             first + k·stride
func (f *call) sequence(ctx context.Context, r *rows, p *block) (arrow.Array, error) {
	length, stride := f.whole(1), f.whole(2)
	if length < 1 || stride < 1 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "ml_windows wants a length and a stride above 0")
	}
	for i, e := range f.w.order {
		arr, err := e.Eval(ctx, p.b)
		if err != nil {
			return nil, err
		}
		if arr.NullN() > 0 {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "a column by which windows are ordered contains NULL").
				WithDetail("It is number %d of the model's order_by.", i+1).WithHint("Leave these rows out of the query.")
		}
	}
	step := max(int64(f.w.rt.Rows()), 4*length)
	var arrays []arrow.Array
	for i := 0; i < p.n; {
		at, first := p.base+int64(i), p.first(i)
		from := first + max(0, at-first-(length-1))/stride*stride
		to := min(at+step, p.last(i), p.base+int64(p.n))
		b, err := r.between(ctx, p, from, to)
		if err != nil {
			return nil, err
		}
		if err := r.charge(ctx, p, 2*b.Bytes()); err != nil {
			return nil, err
		}
		arr, err := f.args[0].Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, array.NewSlice(arr, at-from, to-from))
		i += int(to - at)
	}
	return kernel.Concat(f.item.Call.Typ.Arrow(), arrays), nil
}

// whole returns a constant argument, 0 if it is none.
func (f *call) whole(k int) int64 {
	c, ok := f.item.Call.Args[k].(*expr.Const)
	if !ok {
		return 0
	}
	n, _ := c.Val.(int64)
	return n
}

// between returns rows [from, to), of which the last are p's.
func (r *rows) between(ctx context.Context, p *block, from, to int64) (*batch.Batch, error) {
	if from >= p.base {
		return p.b.Slice(int(from-p.base), int(to-p.base)), nil
	}
	var parts []*batch.Batch
	for c := chunkOf(r.begins, from); c < p.number; c++ {
		x, err := r.block(ctx, c)
		if err != nil {
			return nil, err
		}
		if err := r.charge(ctx, p, x.b.Bytes()); err != nil {
			return nil, err
		}
		parts = append(parts, x.b.Slice(int(max(from-x.base, 0)), x.n))
	}
	return rowset.Concat(r.w.types, append(parts, p.b.Slice(0, int(to-p.base)))), nil
}
