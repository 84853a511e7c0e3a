package build_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// scorerHost has models whose output k is ten times the feature plus k. It counts the rows that are
// scored.
type scorerHost struct {
	function.Host
	rows atomic.Int64
	// Scores that are only valid until the next call: how many there were, and the memory that is
	// reused for them.
	reused  atomic.Int64
	scratch [][]int32
}

func (h *scorerHost) Scorer(context.Context, expr.ModelRef, *mem.Pool) (function.Scorer, error) {
	return h, nil
}

func (h *scorerHost) Score(_ context.Context, asked []*expr.Predict, cols []arrow.Array, n int, scratch bool) ([]arrow.Array, error) {
	h.rows.Add(int64(n))
	out := make([]arrow.Array, len(asked))
	for i, p := range asked {
		v := slices.Clone(cols[0].(*array.Int32).Int32Values())
		if scratch && h.scratch != nil {
			h.reused.Add(int64(n))
			v = append(h.scratch[i][:0], v...)
			h.scratch[i] = v
		}
		for k := range v {
			v[k] = 10*v[k] + int32(p.Output)
		}
		out[i] = batch.FromSlice(arrow.PrimitiveTypes.Int32, v, nil)
	}
	return out, nil
}

// TestScoresOnce: predictions of one model over the same features score each row once.
func TestScoresOnce(t *testing.T) {
	in := &plan.Values{Cols: []plan.Column{col(1, types.Int4), col(2, types.Int4)}}
	const rows = 3000
	for i := range rows {
		in.Rows = append(in.Rows, []expr.Expr{konst(int64(i), types.Int4), konst(int64(-i), types.Int4)})
	}
	p := &plan.Project{Input: in}
	add := func(model types.OID, feature, output int) {
		p.Items = append(p.Items, plan.Item{Col: col(10+len(p.Items), types.Int4),
			Expr: &expr.Predict{Ref: expr.ModelRef{OID: model}, Args: []expr.Expr{ref(in.Cols[feature])}, Output: output, Typ: types.Int4}})
	}
	add(1, 0, 0)
	add(1, 1, 1) // of another feature
	p.Items = append(p.Items, plan.Item{Col: col(30, types.Int4), Expr: ref(in.Cols[0])})
	add(1, 0, 2)
	add(2, 0, 3) // of another model
	add(1, 0, 4)
	add(1, 1, 5)
	for _, threads := range []int{1, 2} {
		h := &scorerHost{}
		got, err := run(t, nil, p, threads, &function.Env{Host: h})
		if err != nil || len(got) != rows {
			t.Fatalf("%d rows, error %v", len(got), err)
		}
		for _, r := range got {
			x := r[2].(int64)
			for i, want := range []int64{10 * x, 1 - 10*x, x, 10*x + 2, 10*x + 3, 10*x + 4, 5 - 10*x} {
				if r[i] != want {
					t.Fatalf("row %v: column %d is %v, want %d", r, i, r[i], want)
				}
			}
		}
		if n := h.rows.Load(); n != 3*rows {
			t.Errorf("%d threads: %d rows were scored, want %d", threads, n, 3*rows)
		}
	}
}

// TestScoresInReusedMemory: where only an aggregate reads the scores, each batch of them reuses the
// memory of the one before; where rows are returned, none does.
func TestScoresInReusedMemory(t *testing.T) {
	in := &plan.Values{Cols: []plan.Column{col(1, types.Int4)}}
	const rows = 30000
	for i := range rows {
		in.Rows = append(in.Rows, []expr.Expr{konst(int64(i), types.Int4)})
	}
	p := &plan.Project{Input: in}
	for k := range 2 {
		p.Items = append(p.Items, plan.Item{Col: col(10+k, types.Int4),
			Expr: &expr.Predict{Ref: expr.ModelRef{OID: 1}, Args: []expr.Expr{ref(in.Cols[0])}, Output: k, Typ: types.Int4}})
	}
	h := &scorerHost{scratch: make([][]int32, 2)}
	got, err := run(t, nil, p, 1, &function.Env{Host: h})
	if err != nil || len(got) != rows || h.reused.Load() != 0 {
		t.Fatalf("%d rows, %d scores reused, error %v", len(got), h.reused.Load(), err)
	}
	for i, r := range got {
		if r[1] != r[0].(int64)+1 || r[0].(int64)%10 != 0 {
			t.Fatalf("row %d is %v", i, r)
		}
	}
	a := &plan.Aggregate{Input: p}
	for k := range 2 {
		for _, f := range fn.Lookup("sum") {
			if len(f.Args) == 1 && f.Args[0] == types.Int4.OID {
				a.Aggs = append(a.Aggs, plan.AggItem{Col: col(20+k, types.Int8), Call: expr.AggCall{Fn: f, Args: []expr.Expr{ref(p.Items[k].Col)}, Typ: types.Int8}})
			}
		}
	}
	got, err = run(t, nil, a, 1, &function.Env{Host: h})
	if want := int64(10 * rows * (rows - 1) / 2); err != nil || len(got) != 1 || got[0][0] != want || got[0][1] != want+rows {
		t.Fatalf("the sums are %v, error %v", got, err)
	}
	if n := h.reused.Load(); n != 2*rows {
		t.Errorf("%d scores were reused, want %d", n, 2*rows)
	}
}
