package write

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// recast turns a query's columns into a table's where they are carried
// otherwise (a numeric whose scale the query knew).
type recast struct {
	progs []*eval.Program // nil: as it is
}

func newRecast(from []plan.Column, to []catalog.Column, env *function.Env) (*recast, error) {
	r := &recast{progs: make([]*eval.Program, len(to))}
	in := make([]plan.Column, len(from))
	for i, c := range from {
		in[i] = c
		in[i].ID = expr.ColID(i + 1)
	}
	for i := range to {
		if from[i].Type.CarriedAs(to[i].Type) {
			continue
		}
		p, err := eval.Compile(&expr.Cast{Arg: colRef(in[i]), Typ: to[i].Type}, in, env)
		if err != nil {
			return nil, err
		}
		r.progs[i] = p
	}
	return r, nil
}

func (r *recast) batch(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	var dense *batch.Batch
	for i, p := range r.progs {
		if p == nil {
			continue
		}
		if dense == nil {
			// Programs give dense columns; the others must become dense too.
			if b.Sel != nil {
				b = kernel.Compact(b)
			}
			cols := append([]arrow.Array(nil), b.Cols...)
			dense = batch.New(cols, b.N)
		}
		arr, err := p.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		dense.Cols[i] = arr
	}
	if dense != nil {
		return dense, nil
	}
	return b, nil
}
