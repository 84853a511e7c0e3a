package agg_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSumsBeyondWords: sums of bigint that exceed 64 bits and come back into range, in parts that
// are merged directly or encoded, by row or by group.
func TestSumsBeyondWords(t *testing.T) {
	var f *fn.Func
	for _, x := range fn.Lookup("sum") {
		if x.Args[0] == types.Int8OID {
			f = x
		}
	}
	call := expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{ID: 1, Typ: types.Int8}}, Typ: types.Numeric}
	r := rand.New(rand.NewPCG(9, 9))
	const groups = 3
	beyond := 0
	for n := range 200 {
		want := [groups]*big.Int{new(big.Int), new(big.Int), new(big.Int)}
		parts := [3]agg.Agg{}
		for i := range parts {
			a, err := agg.New(call, nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Resize(groups)
			of := make([]uint32, r.IntN(20)+1)
			vals := make([]types.Datum, len(of))
			for k := range of {
				v := []int64{math.MaxInt64, math.MinInt64, 1, -1, int64(r.Uint64())}[r.IntN(5)]
				if n%2 == 0 && v < 0 {
					v = ^v
				}
				of[k], vals[k] = uint32(r.IntN(groups)), v
				if r.IntN(6) == 0 {
					vals[k] = nil
					continue
				}
				want[of[k]].Add(want[of[k]], big.NewInt(v))
			}
			arr := optest.Array(t, types.Int8, vals)
			if n%3 < 2 {
				for g := range uint32(groups) {
					var rows []int32
					var own []types.Datum
					for k, x := range of {
						if x == g {
							rows, own = append(rows, int32(k)), append(own, vals[k])
						}
					}
					switch {
					case rows == nil:
					case n%3 == 0:
						err = a.(agg.Lister).UpdateList(g, rows, len(rows), []arrow.Array{arr})
					default: // all rows of an array
						err = a.(agg.Lister).UpdateList(g, nil, len(own), []arrow.Array{optest.Array(t, types.Int8, own)})
					}
				}
			} else {
				err = a.Update(of, []arrow.Array{arr})
			}
			if err != nil {
				t.Fatal(err)
			}
			parts[i] = a
		}
		all := []uint32{0, 1, 2}
		st, err := parts[1].States(0, groups)
		if err == nil {
			err = parts[0].MergeStates(all, st.(*array.Binary))
		}
		if err == nil {
			err = parts[0].(agg.Merger).MergeFrom(all, parts[2], all)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := parts[0].Results(0, groups)
		if err != nil {
			t.Fatal(err)
		}
		for g := range groups {
			got := types.DatumAt(types.Numeric, out, g)
			if got == nil {
				continue // only NULLs
			}
			if text := string(types.AppendText(nil, types.Numeric, got, types.DefaultEnv)); text != want[g].String() {
				t.Fatalf("group %d is %s, not %v", g, text, want[g])
			}
			if !want[g].IsInt64() {
				beyond++
			}
		}
	}
	if beyond < 100 {
		t.Errorf("only %d sums passed 64 bits", beyond)
	}
}
