package agg

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestConcordanceInParts: Harrell's concordance index, computed over parts of any size, equals the
// share of concordant pairs among all comparable pairs.
func TestConcordanceInParts(t *testing.T) {
	call := expr.AggCall{Fn: fn.ByID("concordance_index(float8,bool,float8)"), Typ: types.Float8}
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		times, risks, events := 1+r.Intn(30), 1+r.Intn(30), r.Intn(4)
		rows := make([]types.Row, r.Intn(120))
		for i := range rows {
			rows[i] = types.Row{float64(r.Intn(times)) - 3, r.Intn(3) < events, float64(r.Intn(risks)) - 3}
			for _, k := range []int{0, 2} {
				switch r.Intn(20) {
				case 0:
					rows[i][k] = math.NaN()
				case 1:
					rows[i][k] = math.Copysign(0, -1)
				}
			}
		}
		for _, distinct := range []bool{false, true} {
			call.Distinct = distinct
			c := concordance{&collect{call: call, layout: []types.Type{types.Float8, types.Bool, types.Float8}}}
			c.Resize(1)
			for _, row := range rows {
				c.rows[0].Append(1, func(dst []byte) []byte { return c.layout.Append(dst, row) })
			}
			want := allPairs(rows, distinct)
			arr, err := c.Results(0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := types.DatumAt(types.Float8, arr, 0); got != want {
				t.Fatalf("seed %d, distinct %v: got %v, want %v", seed, distinct, got, want)
			}
			for _, most := range []int{1, 2, 3, 7, 50} {
				if got := inParts(t, rows, distinct, most); got != want {
					t.Fatalf("seed %d, distinct %v, parts of %d rows: got %v, want %v", seed, distinct, most, got, want)
				}
			}
		}
	}
}

// allPairs computes the index from all pairs. NaN is the longest time and the lowest risk.
func allPairs(rows []types.Row, distinct bool) types.Datum {
	seen := map[string]bool{}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r types.Row) bool {
		k := fmt.Sprint(r[0].(float64)+0, r[1], r[2].(float64)+0)
		again := seen[k]
		seen[k] = true
		return distinct && again
	})
	wins, pairs := 0, 0
	for _, a := range rows {
		for _, b := range rows {
			x := types.Compare(types.Float8, a[0], b[0])
			if a[1] == false || x > 0 || x == 0 && b[1] == true {
				continue
			}
			pairs++
			wins += 1 + cmp.Compare(a[2].(float64), b[2].(float64))
		}
	}
	if pairs == 0 {
		return nil
	}
	return float64(wins) / float64(2*pairs)
}

// inParts computes the index as the operator does: sorted by time, cut into parts, then sorted by
// risk.
func inParts(t *testing.T, rows []types.Row, distinct bool, most int) types.Datum {
	t.Helper()
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b types.Row) int {
		return cmp.Or(types.Compare(types.Float8, b[0], a[0]), types.Compare(types.Bool, a[1], b[1]), types.Compare(types.Float8, a[2], b[2]))
	})
	s := survivors{&pairs.Survivors{Most: most, Distinct: distinct}}
	type ready struct {
		risk, part int64
		event      bool
	}
	var all []ready
	take := func(end bool) {
		cols, n := s.ready(end)
		for i := range n {
			all = append(all, ready{types.DatumAt(types.Int8, cols[0], i).(int64), types.DatumAt(types.Int8, cols[1], i).(int64), types.DatumAt(types.Bool, cols[2], i).(bool)})
		}
	}
	for _, r := range rows {
		s.Add(pairs.SurvivalOf(r[0].(float64), r[1].(bool), r[2].(float64)))
		take(false)
	}
	take(true)
	slices.SortFunc(all, func(a, b ready) int { return cmp.Or(cmp.Compare(a.risk, b.risk), cmp.Compare(a.part, b.part)) })
	out := s.resorted()
	for _, r := range all {
		bit := []byte{0}
		if r.event {
			bit[0] = 1
		}
		if err := out.Add([]arrow.Array{int64s(r.risk), int64s(r.part), batch.FromBits(bit, nil, 1)}, 0); err != nil {
			t.Fatal(err)
		}
	}
	v, err := out.Column(types.Float8)
	if err != nil {
		t.Fatal(err)
	}
	return types.DatumAt(types.Float8, v, 0)
}
