package window_test

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// sequencesHost has a sequence model: the last row of each sequence gets the sum of its numbers,
// all others NULL.
type sequencesHost struct {
	function.Host
	length, stride int
	most           int // rows that were scored at once
}

func (h *sequencesHost) Scorer(context.Context, expr.ModelRef, *mem.Pool) (function.Scorer, error) {
	return h, nil
}

func (h *sequencesHost) Score(_ context.Context, _ []*expr.Predict, cols []arrow.Array, n int, _ bool) ([]arrow.Array, error) {
	h.most = max(h.most, n)
	sums, valid := make([]int64, n), make([]byte, batch.BitmapBytes(n))
	for i := range sums {
		if from := i + 1 - h.length; from >= 0 && from%h.stride == 0 {
			batch.SetBit(valid, i)
			for k := from; k <= i; k++ {
				sums[i] += cols[0].(*array.Int64).Value(k)
			}
		}
	}
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, sums, valid)}, nil
}

// TestSequences: a sequence model is called with some rows at a time, for partitions in memory and
// on disk, and its scores are those of whole partitions.
func TestSequences(t *testing.T) {
	tb := windowRows(rand.New(rand.NewSource(31)), 1500, false, false)
	for _, k := range []struct{ length, stride int }{{1, 1}, {7, 1}, {7, 3}, {3, 7}, {90, 40}, {700, 1}, {5000, 2}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			h := &sequencesHost{length: k.length, stride: k.stride}
			num := func(n int) expr.Expr { return &expr.Const{Typ: types.Int4, Val: int64(n)} }
			score := &expr.Predict{Model: "m", Args: []expr.Expr{windowCol(wRow)}, Typ: types.Int8}
			w := &plan.Window{PartitionBy: []expr.Expr{windowCol(wPart)}, Items: []plan.WindowItem{{Col: plan.Column{ID: 50, Type: types.Int8},
				Call: expr.AggCall{Fn: fn.ByID("ml_windows(anyelement,int4,int4)"), Args: []expr.Expr{score, num(k.length), num(k.stride)}, Typ: types.Int8}}}}
			c := optest.Case{Inputs: []optest.Table{tb}, Out: append(longTypes[:len(longTypes):len(longTypes)], types.Int8), Ordered: true, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				cols := make([]plan.Column, len(longTypes))
				for i, ty := range longTypes {
					cols[i] = plan.Column{ID: expr.ColID(i + 1), Type: ty}
				}
				ops, err := window.New(rt, nil, w, cols, &function.Env{Host: h}, in[0], window.SortingOf(w), true)
				if err != nil {
					t.Fatal(err)
				}
				return ops
			}}
			first := 0
			for i, row := range tb.Rows {
				if i > 0 && row[wPart] != tb.Rows[i-1][wPart] {
					first = i
				}
				var want types.Datum
				if from := i + 1 - k.length; from >= first && (from-first)%k.stride == 0 {
					sum := int64(0)
					for _, r := range tb.Rows[from : i+1] {
						sum += r[wRow].(int64)
					}
					want = sum
				}
				c.Want = append(c.Want, append(row[:len(row):len(row)], want))
			}
			for _, size := range []int{5, 60, 8192} {
				if testing.Short() && size != 60 {
					continue
				}
				for _, budget := range []int64{0, 5 << 19} {
					h.most = 0
					n := optest.Once(t, c, 1, optest.Form{Size: size}, budget)
					if (n > 0) != (budget > 0) {
						t.Errorf("batches of %d rows, %d bytes: %d bytes are spilled", size, budget, n)
					}
					if budget > 0 && k.length < 100 && h.most > 1000 {
						t.Errorf("batches of %d rows: %d rows are scored at once, of a partition in a file", size, h.most)
					}
				}
			}
		})
	}
}
