package agg_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestPercentilesOfAllFloats: NaN is the greatest value, infinities are values, and the order may
// be descending.
func TestPercentilesOfAllFloats(t *testing.T) {
	var f *fn.Func
	for _, x := range fn.Lookup("percentile_cont") {
		if x.Args[0] == types.Float8OID && x.Args[1] == types.Float8OID {
			f = x
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	vals := []types.Datum{3.0, nan, -inf, nil, 1.0, inf, 0.0}
	for _, c := range []struct {
		p    types.Datum
		desc bool
		want types.Datum
	}{
		{0.0, false, -inf}, {0.2, false, 0.0}, {0.3, false, 0.5}, {0.6, false, 3.0}, {0.8, false, inf}, {1.0, false, nan}, {0.9, false, nan},
		{0.0, true, nan}, {0.2, true, inf}, {0.5, true, 2.0}, {1.0, true, -inf}, {nil, false, nil},
	} {
		key := &expr.Col{ID: 2, Typ: types.Float8}
		call := expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{ID: 1, Typ: types.Float8}}, Direct: 1, OrderBy: []expr.Order{{Expr: key, Desc: c.desc}}, Typ: types.Float8}
		a, err := agg.New(call, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Resize(1)
		ps := make([]types.Datum, len(vals))
		for i := range ps {
			ps[i] = c.p
		}
		if err := a.Update(make([]uint32, len(vals)), []arrow.Array{optest.Array(t, types.Float8, ps), optest.Array(t, types.Float8, vals)}); err != nil {
			t.Fatal(err)
		}
		out, err := a.Results(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := types.DatumAt(types.Float8, out, 0)
		if g, ok := got.(float64); got != c.want && !(ok && g != g && c.want.(float64) != c.want.(float64)) {
			t.Errorf("percentile %v (desc %v): %v, not %v", c.p, c.desc, got, c.want)
		}
	}
}

// TestPercentilesOfManyGroups compares with all values of a group in order: values added late, long
// lists of which a sample predicts the range of the result well or badly, encoded states and
// merges.
func TestPercentilesOfManyGroups(t *testing.T) {
	var f *fn.Func
	for _, x := range fn.Lookup("percentile_cont") {
		if x.Args[0] == types.Float8OID && x.Args[1] == types.Float8OID {
			f = x
		}
	}
	for _, groups := range []int{1, 300, 20000} {
		for _, desc := range []bool{false, true} {
			r := rand.New(rand.NewPCG(uint64(groups), 7))
			call := expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{ID: 1, Typ: types.Float8}}, Direct: 1, Typ: types.Float8,
				OrderBy: []expr.Order{{Expr: &expr.Col{ID: 2, Typ: types.Float8}, Desc: desc}}}
			made := make([]agg.Agg, 2)
			vals, fraction := make([][]float64, groups), make([]float64, groups)
			for i := range made {
				var err error
				if made[i], err = agg.New(call, nil); err != nil {
					t.Fatal(err)
				}
				for batch := range 20 {
					made[i].Resize(groups)
					const n = 8000
					gs, ps, xs := make([]uint32, n), make([]float64, n), make([]float64, n)
					for k := range gs {
						// Low groups have many values and high ones few; every third has sorted
						// ones.
						g := min(r.IntN(groups), r.IntN(groups))
						if gs[k], ps[k], xs[k] = uint32(g), 0.3, r.NormFloat64(); g%3 == 1 {
							xs[k] = float64(len(vals[g]) / 40)
						}
						if batch == 11 {
							ps[k] = 0.9
						}
						if len(vals[g]) == 0 {
							fraction[g] = ps[k]
						}
						vals[g] = append(vals[g], xs[k])
					}
					if err := made[i].Update(gs, []arrow.Array{floats(ps), floats(xs)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			ids := make([]uint32, groups)
			for g := range ids {
				ids[g] = uint32(g)
			}
			half := groups / 2
			if err := made[0].(agg.Merger).MergeFrom(ids[:half], made[1], ids[:half]); err != nil {
				t.Fatal(err)
			}
			states, err := made[1].States(half, groups)
			if err != nil {
				t.Fatal(err)
			}
			if err := made[0].MergeStates(ids[half:], states.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
			out, err := made[0].Results(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			for g, list := range vals {
				if len(list) == 0 {
					continue
				}
				slices.Sort(list)
				if desc {
					slices.Reverse(list)
				}
				pos := fraction[g] * float64(len(list)-1)
				at := int(pos)
				want := list[at]
				if pos > float64(at) {
					want += (pos - float64(at)) * (list[at+1] - want)
				}
				if got := out.(*array.Float64).Value(g); got != want {
					t.Fatalf("%d groups, desc %v: group %d of %d has %v, not %v", groups, desc, g, len(list), got, want)
				}
			}
		}
	}
}

func floats(vals []float64) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, nil)
}

// TestPercentileLists: several fractions at once are what each is, of states that were merged or encoded, ascending
// and descending.
func TestPercentileLists(t *testing.T) {
	list, _ := types.ArrayOf(types.Float8)
	fractions := []types.Datum{0.9, 0.0, nil, 0.5, 0.123, 1.0, 0.5}
	const groups = 40
	for _, name := range []string{"percentile_cont", "percentile_disc"} {
		for _, desc := range []bool{false, true} {
			made := func(arg, result types.Type) agg.Agg {
				for _, f := range fn.Lookup(name) {
					if f.Args[0] == arg.OID {
						call := expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{ID: 1, Typ: arg}}, Direct: 1, Typ: result, OrderBy: []expr.Order{{Expr: &expr.Col{ID: 2, Typ: types.Float8}, Desc: desc}}}
						a, err := agg.New(call, nil)
						if err != nil {
							t.Fatal(err)
						}
						a.Resize(groups)
						return a
					}
				}
				t.Fatalf("there is no %s of %v", name, arg)
				return nil
			}
			r := rand.New(rand.NewPCG(11, 12))
			parts := []agg.Agg{made(list, list), made(list, list), made(list, list)}
			singles := make([]agg.Agg, len(fractions))
			for i := range singles {
				singles[i] = made(types.Float8, types.Float8)
			}
			fill := func(a agg.Agg, typ types.Type, p types.Datum, gs []uint32, xs arrow.Array) {
				ps := make([]types.Datum, len(gs))
				for i := range ps {
					ps[i] = p
				}
				if err := a.Update(gs, []arrow.Array{optest.Array(t, typ, ps), xs}); err != nil {
					t.Fatal(err)
				}
			}
			for turn := range 9 {
				gs, xs := make([]uint32, 300), make([]types.Datum, 300)
				for i := range gs {
					gs[i] = uint32(min(r.IntN(groups), r.IntN(groups)))
					if xs[i] = math.Floor(r.NormFloat64() * 50); r.IntN(10) == 0 || gs[i] == groups-2 {
						xs[i] = nil
					}
				}
				col := optest.Array(t, types.Float8, xs)
				fill(parts[turn%3], list, types.Array{Elem: types.Float8, Elems: fractions}, gs, col)
				for i, p := range fractions {
					fill(singles[i], types.Float8, p, gs, col)
				}
			}
			ids := make([]uint32, groups)
			for i := range ids {
				ids[i] = uint32(i)
			}
			if err := parts[0].(agg.Merger).MergeFrom(ids, parts[1], ids); err != nil {
				t.Fatal(err)
			}
			states, err := parts[2].States(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			if err := parts[0].MergeStates(ids, states.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
			out, err := parts[0].Results(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			for g := range groups {
				got, _ := types.DatumAt(list, out, g).(types.Array)
				for i := range singles {
					one, err := singles[i].Results(g, g+1)
					if err != nil {
						t.Fatal(err)
					}
					want := types.DatumAt(types.Float8, one, 0)
					if len(got.Elems) == 0 && want == nil {
						continue
					}
					if len(got.Elems) != len(fractions) || got.Elems[i] != want {
						t.Fatalf("%s of group %d (desc %v): %v, of which %v is %v", name, g, desc, got.Elems, fractions[i], want)
					}
				}
			}
		}
	}
}
