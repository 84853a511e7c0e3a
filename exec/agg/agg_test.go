package agg_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// spec is an aggregate with the types of the columns of its input: arguments, then sort keys.
type spec struct {
	call expr.AggCall
	ts   []types.Type
}

func (s spec) name() string { return s.call.Fn.Name }

// specs makes one or more of each aggregate that planner/fn lists.
func specs(t *testing.T) []spec {
	var out []spec
	for _, f := range fn.All() {
		if f.Kind != fn.Aggregate || f.Name == "approx_count_distinct" { // an estimate, see approx_test.go
			continue
		}
		variants := [][]types.Type{{}}
		for _, o := range f.Args {
			variants = cross(variants, concrete(o))
		}
		if f.Hypothetical {
			variants = [][]types.Type{{types.Int8, types.Int8}, {types.Float8, types.Float8}}
		}
		for _, ts := range variants {
			out = append(out, bind(t, f, ts))
		}
	}
	return out
}

// concrete returns the types to test for a declared argument type, several for a polymorphic one.
func concrete(o types.OID) []types.Type {
	switch t := (types.Type{OID: o, Mod: -1}); o {
	case types.NumericOID:
		return []types.Type{types.Numeric, types.FixedNumeric(9, 2, false)}
	case types.AnyOID, types.AnyElementOID, types.AnyNonArrayOID:
		return []types.Type{types.Int8, types.Text}
	case types.AnyArrayOID:
		arr, _ := types.ArrayOf(types.Int4)
		return []types.Type{arr}
	case types.AnyEnumOID:
		return nil // values of an enum need a catalog; they are compared as other types are
	default:
		return []types.Type{t}
	}
}

func cross(variants [][]types.Type, more []types.Type) [][]types.Type {
	var out [][]types.Type
	for _, v := range variants {
		for _, t := range more {
			out = append(out, append(slices.Clone(v), t))
		}
	}
	return out
}

func bind(t *testing.T, f *fn.Func, ts []types.Type) spec {
	t.Helper()
	ts = slices.Clone(ts)
	physical, ret := f.BindArgs(ts)
	for i := range physical {
		if i < len(ts) && physical[i].OID == ts[i].OID {
			ts[i] = physical[i]
		}
	}
	c := expr.AggCall{Fn: f, Typ: ret, Star: len(ts) == 0}
	direct := len(ts)
	if f.Ordered {
		direct = f.Direct
		c.Direct = direct
	}
	for i, ty := range ts {
		e := &expr.Col{ID: expr.ColID(i + 1), Typ: ty}
		if i < direct {
			c.Args = append(c.Args, e)
		} else {
			c.OrderBy = append(c.OrderBy, expr.Order{Expr: e})
		}
	}
	return spec{call: c, ts: ts}
}

// data makes random rows for an aggregate. Floats are multiples of ¼, whose sums are exact in any
// order.
func (s spec) data(r *rand.Rand, n int) []types.Row {
	rows := make([]types.Row, n)
	for i := range rows {
		rows[i] = make(types.Row, len(s.ts))
		for k, ty := range s.ts {
			rows[i][k] = s.value(r, k, ty)
		}
	}
	return rows
}

func (s spec) value(r *rand.Rand, k int, ty types.Type) types.Datum {
	null := r.Intn(8) == 0
	switch name := s.name(); {
	case k < s.call.Direct && s.call.Fn.Hypothetical:
		if ty.OID == types.Float8OID {
			return 1.5
		}
		return int64(6)
	case k < s.call.Direct:
		if ty.IsArray() {
			return types.Array{Elem: types.Float8, Elems: []types.Datum{0.5, nil, 0.0, 1.0, 0.3}}
		}
		return 0.3
	case isMetric(name) && !null:
		return metricValue(r, name, k, ty)
	case k == 0 && (name == "json_object_agg" || name == "jsonb_object_agg"):
		null = false
	}
	if null {
		return nil
	}
	if s.name() == "ml_bin_counts" {
		return someCounts(r)
	}
	switch ty.OID {
	case types.Float4OID, types.Float8OID:
		return float64(r.Intn(400)-100) / 4
	case types.BitOID:
		return fmt.Sprintf("%08b", r.Intn(256))
	case types.TIDOID:
		return int64(r.Intn(40))<<16 | int64(r.Intn(9))
	case types.Int8OID:
		if r.Intn(5) == 0 {
			return r.Int63() - r.Int63()
		}
		return int64(r.Intn(40) - 10)
	}
	for {
		if d := optest.Value(r, ty, 40); d != nil {
			return d
		}
	}
}

const groups = 7 // the last one gets no rows

// TestAgainstReference compares every aggregate with its definition (reference_test.go), over
// random rows in random groups, through every method that adds, merges, encodes and decodes.
func TestAgainstReference(t *testing.T) {
	for _, s := range specs(t) {
		var ids string
		for _, ty := range s.ts {
			ids += "," + ty.String()
		}
		t.Run(s.name()+"("+ids[min(1, len(ids)):]+")", func(t *testing.T) {
			if why := s.left(); why != "" {
				_, err := agg.New(s.call, nil)
				if pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
					t.Fatalf("%s: got %v", why, err)
				}
				return
			}
			for seed := range 4 {
				r := rand.New(rand.NewSource(int64(seed)))
				s.check(t, r, s.data(r, []int{0, 5, 60, 400}[seed]))
				s.forms(t, r)
			}
		})
	}
}

// left returns why the aggregate must refuse these types, "" if it must not.
func (s spec) left() string {
	if s.name() == "array_agg" && s.ts[0].IsArray() {
		return "arrays have one dimension"
	}
	return ""
}

// forms checks the aggregate with DISTINCT and with ORDER BY among its arguments, where these are
// allowed.
func (s spec) forms(t *testing.T, r *rand.Rand) {
	if s.call.Fn.Ordered || len(s.ts) == 0 || isMetric(s.name()) || len(s.ts) > 1 && s.name() != "string_agg" || s.ts[0].OID == types.JSONOID {
		return
	}
	d := s
	d.call.Distinct = true
	d.call.OrderBy = []expr.Order{{Expr: d.call.Args[0], Desc: r.Intn(2) == 0, NullsFirst: r.Intn(2) == 0}}
	d.ts = append(slices.Clone(s.ts), s.ts[0])
	rows := s.data(r, 80)
	for i, row := range rows {
		if len(row) > 1 {
			row[1] = "," // the same delimiter everywhere, so that rows with the same value are duplicates
			if s.ts[1].OID == types.ByteaOID {
				row[1] = []byte(",")
			}
		}
		rows[i] = append(row, row[0])
	}
	d.check(t, r, rows)
}

func (s spec) arrays(t *testing.T, rows []types.Row) []arrow.Array {
	t.Helper()
	out := make([]arrow.Array, len(s.ts))
	for k, ty := range s.ts {
		vals := make([]types.Datum, len(rows))
		for i, r := range rows {
			vals[i] = r[k]
		}
		out[k] = optest.Array(t, ty, vals)
	}
	return out
}

func (s spec) check(t *testing.T, r *rand.Rand, rows []types.Row) {
	t.Helper()
	of := make([]uint32, len(rows))
	byGroup := make([][]types.Row, groups)
	for i := range rows {
		of[i] = uint32(r.Intn(groups - 1))
		byGroup[of[i]] = append(byGroup[of[i]], rows[i])
	}
	want := make([]types.Datum, groups)
	for g := range want {
		want[g] = s.reference(t, byGroup[g])
	}
	compare := func(how string, a agg.Agg) {
		t.Helper()
		if a == nil {
			return
		}
		a.Resize(groups)
		for g := range want {
			res, err := a.Results(g, g+1)
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if got := types.DatumAt(s.call.Typ, res, 0); !s.same(got, want[g]) {
				t.Fatalf("%s: group %d of %d rows: got %s, want %s", how, g, len(byGroup[g]), s.text(got), s.text(want[g]))
			}
		}
		all, err := a.Results(0, groups)
		if err != nil || all.Len() != groups {
			t.Fatalf("%s: %d results, %v", how, all.Len(), err)
		}
		if a.Bytes() <= 0 {
			t.Fatalf("%s: %d bytes", how, a.Bytes())
		}
	}
	whole := s.fed(t, rows, of, len(rows)+1)
	compare("at once", whole)
	compare("in pieces", s.fed(t, rows, of, 1+r.Intn(9)))
	compare("by lists", s.listed(t, r, rows, of))
	var parts []agg.Agg
	for from := 0; from < len(rows) || len(parts) < 3; {
		to := min(len(rows), from+r.Intn(len(rows)/2+2))
		parts = append(parts, s.fed(t, rows[from:to], of[from:to], 50))
		from = to
	}
	compare("merged", s.merged(t, parts))
	encoded := s.encoded(t, r, parts)
	compare("encoded", encoded)
	compare("encoded twice", s.encoded(t, r, []agg.Agg{encoded}))
}

func (s spec) fresh(t *testing.T) agg.Agg {
	t.Helper()
	a, err := agg.New(s.call, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fed calls Update with batches of a size.
func (s spec) fed(t *testing.T, rows []types.Row, of []uint32, size int) agg.Agg {
	t.Helper()
	a := s.fresh(t)
	n := uint32(0)
	for from := 0; from < len(rows); from += size {
		to := min(from+size, len(rows))
		for _, g := range of[from:to] {
			n = max(n, g+1)
		}
		a.Resize(int(n)) // a hash table adds groups in the same way, as they appear
		if err := a.Update(of[from:to], s.arrays(t, rows[from:to])); err != nil {
			t.Fatal(err)
		}
	}
	a.Resize(groups)
	return a
}

// listed calls UpdateList with the row numbers of one group at a time, with rows of other groups in
// between; nil for aggregates that are no Lister.
func (s spec) listed(t *testing.T, r *rand.Rand, rows []types.Row, of []uint32) agg.Agg {
	t.Helper()
	a := s.fresh(t)
	l, ok := a.(agg.Lister)
	if !ok {
		return nil
	}
	a.Resize(groups)
	for from := 0; from < len(rows); {
		to := min(len(rows), from+1+r.Intn(len(rows)))
		if r.Intn(4) == 0 { // a batch of one group
			to = from + 1
			for to < len(rows) && of[to] == of[from] {
				to++
			}
			if err := l.UpdateList(of[from], nil, to-from, s.arrays(t, rows[from:to])); err != nil {
				t.Fatal(err)
			}
			from = to
			continue
		}
		var with []types.Row
		lists := make([][]int32, groups)
		for i := from; i < to; i++ {
			if r.Intn(3) == 0 {
				with = append(with, rows[r.Intn(len(rows))])
			}
			lists[of[i]] = append(lists[of[i]], int32(len(with)))
			with = append(with, rows[i])
		}
		args := s.arrays(t, with)
		for g, list := range lists {
			if len(list) > 0 {
				if err := l.UpdateList(uint32(g), list, len(list), args); err != nil {
					t.Fatal(err)
				}
			}
		}
		from = to
	}
	return a
}

// merged merges the states of parts in order; nil for aggregates whose states can only be merged in
// encoded form.
func (s spec) merged(t *testing.T, parts []agg.Agg) agg.Agg {
	t.Helper()
	a := s.fresh(t)
	m, ok := a.(agg.Merger)
	if !ok {
		return nil
	}
	a.Resize(groups)
	ids := []uint32{3, 0, 6, 2, 5, 1, 4}
	for _, p := range parts {
		if err := m.MergeFrom(ids, p, ids); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (s spec) encoded(t *testing.T, r *rand.Rand, parts []agg.Agg) agg.Agg {
	t.Helper()
	a := s.fresh(t)
	a.Resize(groups)
	for _, p := range parts {
		for from := 0; from < groups; {
			to := from + 1 + r.Intn(groups-from)
			st, err := p.States(from, to)
			if err != nil {
				t.Fatal(err)
			}
			// Some states are NULL, as an outer join produces them.
			var of []uint32
			var with [][]byte
			var valid []bool
			for g := from; g < to; g++ {
				for r.Intn(4) == 0 {
					of, with, valid = append(of, uint32(r.Intn(groups))), append(with, nil), append(valid, false)
				}
				one := st.(*array.Binary)
				of, with, valid = append(of, uint32(g)), append(with, one.Value(g-from)), append(valid, one.IsValid(g-from))
			}
			b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
			b.AppendValues(with, valid)
			if err := a.MergeStates(of, b.NewBinaryArray()); err != nil {
				t.Fatal(err)
			}
			from = to
		}
	}
	return a
}

// TestShared: aggregates over the same values have the results, and the states, that they have by themselves, whichever
// of them keeps the states for both.
func TestShared(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	shared := map[string]int{}
	specs := specs(t)
	for _, a := range specs {
		for _, b := range specs {
			if !slices.Equal(a.ts, b.ts) || !agg.Shared(a.call, b.call) {
				continue
			}
			shared[a.name()+" "+b.name()]++
			rows := a.data(r, 50)
			from, own := a.fed(t, rows, make([]uint32, len(rows)), 7), b.fresh(t)
			view := agg.View(from, own)
			got, err := view.Results(0, 2)
			if err != nil {
				t.Fatal(err)
			}
			states, err := view.States(0, 2)
			if err != nil {
				t.Fatal(err)
			}
			merged := b.fresh(t)
			merged.Resize(2)
			if err := merged.MergeStates([]uint32{0, 1}, states.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
			again, err := merged.Results(0, 2)
			if err != nil {
				t.Fatal(err)
			}
			for g, in := range [][]types.Row{rows, nil} {
				want := b.reference(t, in)
				for _, res := range []arrow.Array{got, again} {
					if x := types.DatumAt(b.call.Typ, res, g); !b.same(x, want) {
						t.Errorf("%s of %s by %s: got %v, want %v", b.name(), b.ts[0], a.name(), x, want)
					}
				}
			}
			d, f := b.call, b.call
			d.Distinct = true
			f.Filter = &expr.Const{Typ: types.Bool, Val: true}
			if agg.Shared(a.call, d) || agg.Shared(f, a.call) {
				t.Error("DISTINCT and FILTER have states of their own")
			}
		}
	}
	for _, names := range []string{"sum avg", "avg sum", "stddev avg", "var_pop count", "corr regr_slope", "regr_count covar_pop", "sum count"} {
		if shared[names] == 0 {
			t.Errorf("%s: not shared", names)
		}
	}
	for _, names := range []string{"avg stddev", "count sum", "sum min", "corr count"} {
		if shared[names] > 0 {
			t.Errorf("%s: shared", names)
		}
	}
}

// TestDamagedStates: bytes that are not a valid state are refused with an error, never a panic.
func TestDamagedStates(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, s := range specs(t) {
		if s.left() != "" {
			continue
		}
		a := s.fresh(t)
		a.Resize(1)
		if err := a.Update(make([]uint32, 30), s.arrays(t, s.data(r, 30))); err != nil {
			t.Fatal(s.name(), err)
		}
		st, err := a.States(0, 1)
		if err != nil {
			t.Fatal(s.name(), err)
		}
		good := st.(*array.Binary).Value(0)
		for range 40 {
			bad := slices.Clone(good)
			if cut := r.Intn(len(bad) + 1); r.Intn(2) == 0 {
				bad = bad[:cut]
			} else if len(bad) > 0 {
				bad[r.Intn(len(bad))] ^= 1 << r.Intn(8)
			}
			b := s.fresh(t)
			b.Resize(1)
			in := optest.Array(t, types.Bytea, []types.Datum{bad}).(*array.Binary)
			if err := b.MergeStates([]uint32{0}, in); err == nil {
				_, _ = b.Results(0, 1) // must not panic
			}
		}
	}
}

func (s spec) text(d types.Datum) string {
	if d == nil {
		return "NULL"
	}
	return string(types.AppendText(nil, s.call.Typ, d, types.DefaultEnv))
}
