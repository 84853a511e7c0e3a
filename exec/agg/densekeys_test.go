package agg_test

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestDistinctOfMany: groups with many rows count their different values, whether these lie close together, far apart or both,
// come once or again and again, in one state or merged from several, also as encoded.
func TestDistinctOfMany(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for _, c := range []struct {
		name  string
		typ   types.Type
		value func() types.Datum
	}{
		{"close", types.Int4, func() types.Datum { return int64(r.Intn(3000) - 1000) }},
		{"few", types.Int8, func() types.Datum { return int64(r.Intn(5)) }},
		{"far", types.Int8, func() types.Datum { return r.Int63() - r.Int63() }},
		{"some far", types.Int8, func() types.Datum {
			if r.Intn(20) == 0 {
				return r.Int63n(300) << 40
			}
			return int64(r.Intn(2000))
		}},
		{"growing", types.Int8, func() types.Datum { return int64(r.Intn(1 << r.Intn(16))) }},
		{"texts", types.Text, func() types.Datum { return strconv.Itoa(r.Intn(900)) }},
		{"floats", types.Float8, func() types.Datum { return float64(r.Intn(700)-350) * 0.5 }},
		{"days", types.Date, func() types.Datum { return int64(20000 + r.Intn(366)) }},
	} {
		s := bind(t, fn.ByID("count(any)"), []types.Type{c.typ})
		s.call.Distinct = true
		const groups = 3
		seen := make([]map[types.Datum]bool, groups)
		for g := range seen {
			seen[g] = map[types.Datum]bool{}
		}
		parts := []agg.Agg{s.fresh(t), s.fresh(t)}
		for _, a := range parts {
			a.Resize(groups)
		}
		for range 40 {
			vals, of := make([]types.Datum, 500), make([]uint32, 500)
			for i := range vals {
				if of[i] = uint32(r.Intn(groups)); r.Intn(10) > 0 {
					vals[i] = c.value()
					seen[of[i]][vals[i]] = true
				}
			}
			if err := parts[r.Intn(2)].Update(of, []arrow.Array{optest.Array(t, c.typ, vals)}); err != nil {
				t.Fatal(err)
			}
		}
		all := []uint32{0, 1, 2}
		states, err := parts[1].States(0, groups)
		if err != nil {
			t.Fatal(err)
		}
		coded := s.fresh(t)
		coded.Resize(groups)
		if err := coded.MergeStates(all, states.(*array.Binary)); err != nil {
			t.Fatal(err)
		}
		for _, to := range []agg.Agg{coded, parts[1]} {
			if err := to.(agg.Merger).MergeFrom(all, parts[0], all); err != nil {
				t.Fatal(err)
			}
			for g := range groups { // what memory does not hold leaves in parts
				at, n := 0, 0
				for at >= 0 {
					state, next, err := to.(agg.Sortable).PartialState(g, at, 999)
					if err != nil {
						t.Fatal(err)
					}
					_, rows, err := to.(agg.Sortable).Rows(state)
					if err != nil {
						t.Fatal(err)
					}
					at, n = next, n+rows
				}
				if n < len(seen[g]) {
					t.Errorf("%s: group %d leaves in %d rows, want %d values", c.name, g, n, len(seen[g]))
				}
			}
			out, err := to.Results(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			for g := range groups {
				if got := out.(*array.Int64).Value(g); got != int64(len(seen[g])) {
					t.Errorf("%s: group %d has %d values, want %d", c.name, g, got, len(seen[g]))
				}
			}
		}
	}
}
