package build

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// ordering is a list of sort keys, to be compiled for threads. Enums, which are
// represented as their labels, are ordered by their labels' places.
type ordering struct {
	exprs []expr.Expr
	specs []kernel.KeySpec
	ranks []map[string]int32 // by key; nil for other types
}

func (b *builder) ordering(keys []plan.SortKey) ordering {
	o := ordering{exprs: make([]expr.Expr, len(keys)), specs: make([]kernel.KeySpec, len(keys)), ranks: make([]map[string]int32, len(keys))}
	for i, k := range keys {
		o.exprs[i] = k.Expr
		o.specs[i] = kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst}
		if r := b.labels(k.Expr.Type()); r != nil {
			o.ranks[i], o.specs[i].Type = r, types.Int4
		}
	}
	return o
}

// labels returns the places of an enum's labels, nil for other types.
func (b *builder) labels(t types.Type) map[string]int32 {
	if t.OID < types.FirstUserOID || t.IsArray() || b.Env == nil || b.Env.Host == nil {
		return nil
	}
	st := b.Env.Host.Catalog()
	if st == nil {
		return nil
	}
	e := st.EnumByOID(t.OID)
	if e == nil {
		return nil
	}
	out := make(map[string]int32, len(e.Labels))
	for i, l := range e.Labels {
		out[l] = int32(i)
	}
	return out
}

// thread compiles the keys for one thread.
func (o *ordering) thread(b *builder, in []plan.Column) ([]op.Item, error) {
	items, err := b.threadItems(o.exprs, in)
	if err != nil {
		return nil, err
	}
	for i, r := range o.ranks {
		if r != nil {
			items[i] = op.Item{Program: &labelOrdinal{in: items[i], at: r}}
		}
	}
	return items, nil
}

// all compiles the keys for every thread.
func (o *ordering) all(b *builder, in []plan.Column) ([][]op.Item, error) {
	out := make([][]op.Item, b.rt.Threads)
	for i := range out {
		var err error
		if out[i], err = o.thread(b, in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// labelOrdinal turns labels into their places.
type labelOrdinal struct {
	in op.Item
	at map[string]int32
}

// Eval implements op.Program.
func (r *labelOrdinal) Eval(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	arr := arrow.Array(nil)
	switch {
	case r.in.Program != nil:
		var err error
		if arr, err = r.in.Program.EvalScratch(ctx, b); err != nil {
			return nil, err
		}
	case b.Sel != nil:
		arr = kernel.Take(b.Cols[r.in.Col], b.Sel)
	default:
		arr = b.Cols[r.in.Col]
	}
	s := batch.StringsOf(arr)
	vals, valid := make([]int32, arr.Len()), []byte(nil)
	for i := range vals {
		if arr.IsNull(i) {
			if valid == nil {
				valid = batch.AllOnes(len(vals))
			}
			batch.ClearBit(valid, i)
			continue
		}
		vals[i] = r.at[s.Value(i)]
	}
	return batch.FromSlice(types.Int4.Arrow(), vals, valid), nil
}

// EvalScratch implements op.Program.
func (r *labelOrdinal) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return r.Eval(ctx, b)
}
