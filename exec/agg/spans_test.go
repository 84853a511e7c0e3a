package agg_test

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSpans: sums over spans of rows that are differences of sums have the results, to the bit, of adding the rows of each
// span, or there is no difference: values of sizes that words do not hold, infinities.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	did := map[string]int{}
	for _, c := range []struct {
		id    string
		ts    types.Type
		value func() types.Datum
	}{
		{"count(any)", types.Int8, func() types.Datum { return r.Int63() }},
		{"sum(int4)", types.Int4, func() types.Datum { return int64(int32(r.Uint32())) }},
		{"sum(int8)", types.Int8, func() types.Datum { return r.Int63n(1<<40) - 1<<39 }},
		{"avg(int8)", types.Int8, func() types.Datum { return r.Int63() - r.Int63() }},
		{"avg(int2)", types.Int2, func() types.Datum { return int64(r.Intn(100)) }},
		{"sum(numeric)", types.FixedNumeric(9, 2, false), nil},
		{"sum(float8)", types.Float8, func() types.Datum { return r.NormFloat64() }},
		{"avg(float8)", types.Float8, func() types.Datum { return math.Ldexp(r.NormFloat64(), r.Intn(200)-100) }},
		{"avg(float4)", types.Float4, func() types.Datum { return float64(float32(r.NormFloat64())) }},
		{"stddev_samp(numeric)", types.FixedNumeric(9, 2, false), nil},
		{"sum(numeric)", types.Numeric, func() types.Datum { return number.DecimalFromInt64(r.Int63n(10000)-5000, int32(r.Intn(3))) }},
		{"avg(numeric)", types.Numeric, func() types.Datum { return number.DecimalFromInt64(r.Int63(), int32(r.Intn(1+r.Intn(9)))) }},
		{"var_pop(int4)", types.Int4, func() types.Datum { return int64(int32(r.Uint32())) }},
		{"variance(int8)", types.Int8, func() types.Datum { return r.Int63n(1<<56) - 1<<55 }},
		{"stddev_samp(float8)", types.Float8, func() types.Datum { return 20 + float64(r.Intn(10000))/1000 }},
		{"var_pop(float8)", types.Float8, func() types.Datum { return math.Ldexp(r.NormFloat64(), r.Intn(80)-40) }},
		{"stddev_pop(float4)", types.Float4, func() types.Datum { return float64(float32(r.NormFloat64())) }},
		{"variance(float8)", types.Float8, func() types.Datum { return []float64{0, 1, math.Inf(1), math.NaN(), 1e200}[r.Intn(2+3*r.Intn(2))] }},
		{"min(int4)", types.Int4, func() types.Datum { return int64(r.Intn(20)) }},
		{"max(float8)", types.Float8, func() types.Datum { return []float64{0, 1, 2, math.Inf(-1), math.NaN()}[r.Intn(5)] }},
		{"min(float8)", types.Float8, func() types.Datum { return []float64{3, 1, 2, math.Inf(1), math.NaN()}[r.Intn(5)] }},
		{"max(timestamp)", types.Timestamp, func() types.Datum { return int64(r.Intn(50)) }},
		{"sum(float8)", types.Float8, func() types.Datum { return []float64{0, 1, math.Inf(1), math.NaN()}[r.Intn(2+2*r.Intn(2))] }},
	} {
		f := fn.ByID(c.id)
		if f == nil {
			t.Fatal(c.id)
		}
		s := bind(t, f, []types.Type{c.ts})
		for range 60 {
			n := 1 + r.Intn(80)
			vals := make([]types.Datum, n)
			for i := range vals {
				if c.value == nil {
					vals[i] = optest.Value(r, c.ts, 40)
				} else if r.Intn(9) > 0 {
					vals[i] = c.value()
				}
			}
			args := []arrow.Array{optest.Array(t, c.ts, vals)}
			spans, moved := make([][2]int32, 1+r.Intn(40)), [2][]int32{}
			got, want := s.fresh(t), s.fresh(t)
			got.Resize(len(spans))
			want.Resize(len(spans))
			for k := range spans {
				from := r.Intn(n)
				spans[k] = [2]int32{int32(from), int32(from + r.Intn(n-from+1))}
			}
			if c.id[0] == 'm' { // spans that move on
				for end := range 2 {
					slices.SortFunc(spans, func(a, b [2]int32) int { return cmp.Compare(a[end], b[end]) })
					ends := make([]int32, len(spans))
					for k := range spans {
						ends[k] = spans[k][end]
					}
					moved[end] = ends
				}
				for k := range spans {
					spans[k] = [2]int32{moved[0][k], moved[1][k]}
				}
			}
			for k := range spans {
				for i := spans[k][0]; i < spans[k][1]; i++ {
					if err := want.Update([]uint32{uint32(k)}, []arrow.Array{optest.Array(t, c.ts, vals[i:i+1])}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !got.(agg.Spanner).UpdateSpans(spans, args) {
				for k, x := range spans {
					for i := x[0]; i < x[1]; i++ {
						if err := got.Update([]uint32{uint32(k)}, []arrow.Array{optest.Array(t, c.ts, vals[i:i+1])}); err != nil {
							t.Fatal(err)
						}
					}
				}
			} else {
				did[c.id]++
			}
			a, err1 := got.Results(0, len(spans))
			b, err2 := want.Results(0, len(spans))
			if (err1 == nil) != (err2 == nil) {
				t.Fatal(c.id, err1, err2)
			}
			for k := range spans {
				if err1 != nil {
					break
				}
				if x, y := types.DatumAt(s.call.Typ, a, k), types.DatumAt(s.call.Typ, b, k); !s.same(x, y) {
					t.Fatalf("%s: rows %v: %v, want %v", c.id, spans[k], x, y)
				}
			}
		}
	}
	for _, id := range []string{"count(any)", "sum(int4)", "sum(int8)", "avg(int2)", "sum(numeric)", "avg(numeric)", "sum(float8)", "avg(float4)", "stddev_samp(numeric)", "var_pop(int4)", "variance(int8)", "stddev_samp(float8)", "stddev_pop(float4)"} {
		if did[id] == 0 {
			t.Errorf("%s: never", id)
		}
	}
	if did["avg(int8)"] > 20 || did["avg(float8)"] > 20 {
		t.Error("values that words do not hold were subtracted")
	}
}
