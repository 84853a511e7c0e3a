package feature

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// imputedSpec is three columns, whose gaps are filled from each other, and a weight.
func imputedSpec(t *testing.T, e Encoder, settings ...float64) *Spec {
	t.Helper()
	arr, _ := types.ArrayOf(types.Float8)
	s := &Spec{Cols: []Col{{Column: record.Column{Name: "x", Type: arr}, Role: Feature, Encoder: e, NoIndicator: true, Boundaries: settings, Elements: []string{"a", "b", "c"}},
		{Column: record.Column{Name: "w", Type: types.Float8}, Role: Weight}}}
	if err := s.Resolve(); err != nil {
		t.Fatal(err)
	}
	var b canon.E
	s.Encode(&b)
	d := canon.Read(b.B)
	back := DecodeSpec(d)
	if err := d.Done("spec"); err != nil {
		t.Fatal(err)
	}
	return back
}

type weightedRow struct {
	x [3]float64
	w float64
}

// gappy are rows with gaps, some of them more than once, of which a few have weight 0.
func gappy() (rows []weightedRow) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		a, b := float64(r.IntN(12)), float64(r.IntN(9))*0.1
		x := [3]float64{a, 1e6 + a*b*10, b - a/3}
		for j := range x {
			if r.IntN(4) == 0 {
				x[j] = math.NaN()
			}
		}
		rows = append(rows, weightedRow{x, float64(r.IntN(4)) / 2})
	}
	return rows
}

func lists(rows []weightedRow) []arrow.Array {
	x, w := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Float64), array.NewFloat64Builder(memory.DefaultAllocator)
	for _, r := range rows {
		x.Append(true)
		x.ValueBuilder().(*array.Float64Builder).AppendValues(r.x[:], nil)
		w.Append(r.w)
	}
	return []arrow.Array{x.NewArray(), w.NewArray()}
}

// fitParts fits encoders to parts, which are merged from the left.
func fitParts(t *testing.T, s *Spec, parts ...[]weightedRow) (*Fitted, []byte) {
	t.Helper()
	var all *Stats
	for _, p := range parts {
		v, done := viewOf(t, s, lists(p), len(p))
		st, err := s.Collect(context.Background(), v)
		done()
		if err != nil {
			t.Fatal(err)
		}
		var e canon.E
		st.Encode(&e)
		if st = DecodeStats(canon.Read(e.B)); all == nil {
			all = st
		} else if all, err = s.MergeStats(all, st); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Fit(s, all)
	if err != nil {
		t.Fatal(err)
	}
	var b canon.E
	f.Encode(&b)
	d := canon.Read(b.B)
	back := DecodeFitted(d)
	if err := d.Done("fitted"); err != nil {
		t.Fatal(err)
	}
	return back, b.B
}

// TestImputed: what fills gaps is the same however rows are divided and in whichever order they come, and a row of
// weight 2 is two.
func TestImputed(t *testing.T) {
	rows := gappy()
	backward := slices.Clone(rows)
	slices.Reverse(backward)
	var twice []weightedRow
	for _, r := range rows {
		for range int(r.w * 2) {
			twice = append(twice, weightedRow{r.x, 1})
		}
	}
	doubled := slices.Clone(rows)
	for i := range doubled {
		doubled[i].w *= 2
	}
	for _, c := range []struct {
		e        Encoder
		settings []float64
	}{
		{NearestRows, []float64{0, 5, 0, 10000}},
		{NearestRows, []float64{1, 3, 1, 25}},
		{Regressions, []float64{1, 4, 0, 0, 0, 0}},
		{Regressions, []float64{0, 9, 1e-4, 1, 3, 1}},
	} {
		name := fmt.Sprint(c.e, c.settings)
		s := imputedSpec(t, c.e, c.settings...)
		f, one := fitParts(t, s, rows)
		for _, parts := range [][][]weightedRow{{backward}, {rows[:7], rows[7:9], rows[9:]}, {backward[:200], nil, backward[200:]}} {
			if _, other := fitParts(t, s, parts...); !bytes.Equal(one, other) {
				t.Errorf("%s: %d parts give another result", name, len(parts))
			}
		}
		_, a := fitParts(t, s, doubled)
		if _, b := fitParts(t, s, twice); !bytes.Equal(a, b) {
			t.Errorf("%s: a row of weight 2 is not the row twice", name)
		}
		if f.Dense != 3 || f.Slots()[1].Name != "b (imputed)" {
			t.Errorf("%s: %d numbers, %v", name, f.Dense, f.Slots())
		}
		asked := append(slices.Clone(rows), weightedRow{x: [3]float64{math.NaN(), math.NaN(), math.NaN()}})
		b, err := f.EncodeColumns(lists(asked)[:1], len(asked))
		if err != nil {
			t.Fatal(name, err)
		}
		filler := f.Cols[0].filler()
		for i, r := range asked {
			filler.Fill(r.x[:])
			for j, x := range r.x {
				if got := b.Value(i, j); got != f.Cols[0].scaled(j, x) || got-got != 0 {
					t.Errorf("%s: row %d has %v, want %v", name, i, got, x)
				}
			}
		}
	}
}

// TestDonors: those that a model keeps are the rows of the least hashes, with the weights of all their copies.
func TestDonors(t *testing.T) {
	rows := gappy()
	s := imputedSpec(t, NearestRows, 0, 5, 0, 40)
	f, _ := fitParts(t, s, rows)
	weights := map[string]float64{}
	for _, r := range rows {
		key, some := []byte(nil), false
		for _, x := range r.x {
			key = le.AppendUint64(key, math.Float64bits(x))
			some = some || x == x
		}
		if some && r.w > 0 {
			weights[string(key)] += r.w
		}
	}
	var keys []string
	for k := range weights {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(impute.Hash([]byte(a)), impute.Hash([]byte(b))) })
	keys = keys[:40]
	slices.Sort(keys)
	var donors [][]float64
	var want []float64
	for _, k := range keys {
		var x []float64
		for j := range 3 {
			x = append(x, math.Float64frombits(le.Uint64([]byte(k)[8*j:])))
		}
		donors, want = append(donors, x), append(want, weights[k])
	}
	numbers := impute.Nearest{Neighbors: 5}.Fit(f.Cols[0].Bounds[3:6], donors, want)
	if !slices.EqualFunc(f.Cols[0].Bounds, numbers, func(a, b float64) bool { return a == b || a != a && b != b }) {
		t.Error("other rows are kept")
	}
}

// TestImputedLimits: memory is asked for, combinations and numbers are limited, and what a peer sends is checked.
func TestImputedLimits(t *testing.T) {
	s := imputedSpec(t, NearestRows, 0, 5, 0, 10000)
	asked := int64(0)
	s.Charge = func(n int64) error {
		if asked += n; asked > jointStep {
			return pgerr.New(pgerr.OutOfMemory, "enough")
		}
		return nil
	}
	v, done := viewOf(t, s, lists(gappy()), 300)
	defer done()
	if _, err := s.Collect(context.Background(), v); err != nil || asked != jointStep {
		t.Errorf("%v, %d bytes", err, asked)
	}
	if _, err := s.Collect(context.Background(), v); pgerr.From(err).Code != pgerr.OutOfMemory {
		t.Error(err)
	}
	k := newJoint(&Col{Encoder: Regressions, Elements: []string{"a", "b"}}, nil)
	k.entries = maxPatternEntries
	if err := k.add([]float64{1, 2}, 1, false); pgerr.From(err).Code != pgerr.ProgramLimitExceeded {
		t.Error(err)
	}
	s = imputedSpec(t, Regressions, 0, 4, 0, 0, 0, 0)
	v, done = viewOf(t, s, lists(gappy()), 300)
	defer done()
	for _, spoil := range []func(c []CatCount) []CatCount{
		func(c []CatCount) []CatCount { return c[4:] },
		func(c []CatCount) []CatCount { return c[:len(c)-1] },
		func(c []CatCount) []CatCount { c[2].Y = nil; return c },
		func(c []CatCount) []CatCount { c[2].Key = "?"; return c },
	} {
		st, err := s.Collect(context.Background(), v)
		if err != nil {
			t.Fatal(err)
		}
		st.Cols[0].Target = spoil(st.Cols[0].Target)
		if _, err := Fit(s, st); err == nil {
			t.Error("incomplete sums are taken")
		}
	}
}

// TestRowsBecomeSums: the sums of a pattern are the same to the last bit whether its rows were added to them or counted one by one,
// and more rows than there are sums become these where lists are merged.
func TestRowsBecomeSums(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	c := &Col{Encoder: Regressions, Elements: []string{"a", "b", "c"}}
	added, counted := newJoint(c, nil), map[string]*tally{}
	for range maxPatternEntries / 3 {
		row, weight := []float64{r.NormFloat64(), math.NaN(), 1e9 * r.ExpFloat64()}, float64(r.IntN(3))/4
		has, numbers := impute.Observed(row)
		for range 1 + r.IntN(4) {
			if err := added.add(row, weight, true); err != nil {
				t.Fatal(err)
			}
			key := string(impute.RowKey(nil, has, numbers, weight))
			if counted[key] == nil {
				counted[key] = &tally{}
			}
			counted[key].n++
			counted[key].w.add(weight, true)
		}
	}
	rows := (&patternSums{rows: counted}).list(0)
	sums, err := settle(rows, c)
	if err != nil || len(sums) != impute.Entries(2) {
		t.Fatalf("%d entries: %v", len(sums), err)
	}
	means := []float64{0.25, 0, 1e9}
	var of [][]impute.Pattern
	for _, entries := range [][]CatCount{added.list(), rows, sums} {
		p, err := patternsOf(c, entries, means, func(int64) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, p)
	}
	if !reflect.DeepEqual(of[0], of[1]) || !reflect.DeepEqual(of[0], of[2]) {
		t.Errorf("added %v, counted %v, settled %v", of[0], of[1], of[2])
	}
}
