package agg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestPairsOfIntegers: NewWhole adds casts of integers faster than New, in integers. Results must
// have the same bits, whether states are merged directly or encoded.
func TestPairsOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	of := func(id int) expr.Expr {
		return &expr.Cast{Arg: &expr.Col{ID: expr.ColID(id), Typ: types.Int4}, Typ: types.Float8}
	}
	for _, name := range []string{"corr", "covar_pop", "covar_samp", "regr_count", "regr_sxx", "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy", "regr_r2", "regr_slope", "regr_intercept"} {
		call := expr.AggCall{Fn: fn.Lookup(name)[0], Args: []expr.Expr{of(1), of(2)}, Typ: types.Float8}
		for n := range 60 {
			groups := make([]uint32, n*n/10)
			cols := [2][]types.Datum{}
			for i := range groups {
				groups[i] = uint32(r.IntN(4))
				for k := range cols {
					var v types.Datum
					switch n % 4 {
					case 0:
						v = float64(r.IntN(10))
					case 1:
						v = float64(int32(r.Uint32()))
					case 2:
						v = float64([]int32{math.MinInt32, math.MaxInt32}[r.IntN(2)])
					case 3:
						v = 7.0
					}
					if r.IntN(9) == 0 {
						v = nil
					}
					cols[k] = append(cols[k], v)
				}
			}
			half := len(groups) / 2
			var want arrow.Array
			for k, make := range []func(expr.AggCall, *function.Env) (agg.Agg, error){agg.New, agg.NewWhole, agg.NewWhole, agg.NewWhole} {
				parts := [2]agg.Agg{}
				for i, from := range []int{0, half} {
					to := []int{half, len(groups)}[i]
					a, err := make(call, nil)
					if err != nil {
						t.Fatal(err)
					}
					a.Resize(4)
					if k == 1 {
						from, to = 0, []int{len(groups), 0}[i]
					}
					if err := a.Update(groups[from:to], []arrow.Array{optest.Array(t, types.Float8, cols[0][from:to]), optest.Array(t, types.Float8, cols[1][from:to])}); err != nil {
						t.Fatal(err)
					}
					parts[i] = a
				}
				all := []uint32{0, 1, 2, 3}
				if k == 3 {
					st, err := parts[1].States(0, 4)
					if err == nil {
						err = parts[0].MergeStates(all, st.(*array.Binary))
					}
					if err != nil {
						t.Fatal(err)
					}
				} else if err := parts[0].(agg.Merger).MergeFrom(all, parts[1], all); err != nil {
					t.Fatal(err)
				}
				got, err := parts[0].Results(0, 4)
				if err != nil {
					t.Fatal(err)
				}
				if k == 0 {
					want = got
				} else if !array.Equal(got, want) {
					t.Fatalf("%s of %v of %v: %v, not %v", name, cols, groups, got, want)
				}
			}
		}
	}
}
