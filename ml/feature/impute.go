package feature

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Columns whose gaps are filled from each other are one column of arrays, whose elements are the columns and NaN where a
// row has none. What leaves bring together for package impute is exact, and so the same however rows are divided:
//
//	NearestRows  row ─▶ its bytes ─▶ weights by different row; of more than asked for, those of the least hashes
//	Regressions  row ─▶ where it has gaps ─▶ sums of numbers and of their products; the rows, where they are fewer than the sums
const (
	maxPatternEntries = 1 << 19 // of two sums, or a row, each
	maxPatternNumbers = 1 << 25 // in the matrices of all patterns
	jointStep         = 1 << 16 // bytes that are charged at once
	donorBytes        = 200     // of each, in a counter and in the list made of it, beside its key in both
	patternBytes      = 200     // of each entry
)

func (e Encoder) imputes() bool { return e == NearestRows || e == Regressions }

// function is that of TRANSFORM that chose the encoder, nil for others. Its settings are Col.Boundaries.
func (e Encoder) function() *impute.Func {
	switch e {
	case NearestRows:
		return &impute.KNN
	case Regressions:
		return &impute.Rounds
	}
	return nil
}

// Imputes reports whether the gaps of columns are filled from each other.
func Imputes(s *Spec) bool {
	return slices.ContainsFunc(s.Cols, func(c Col) bool { return c.Role == Feature && c.Encoder.imputes() })
}

// setImputed takes the settings of an imputer.
func setImputed(e Encoder) func(c *Col, args []types.Datum) bool {
	return func(c *Col, args []types.Datum) (ok bool) {
		c.Encoder, c.NoIndicator = e, true
		c.Boundaries, ok = e.function().Settings(args, len(c.Elements))
		return ok
	}
}

// onImputed applies a function to what an imputer made.
func (t *Transform) onImputed(c *Col, name string) error {
	if name != "standard_scaler" || len(t.Args) > 0 {
		return pgerr.Unsupported("ml.%s cannot encode what ml.%v makes", name, c.Encoder).At(t.Pos).WithHint("Only ml.standard_scaler can.")
	}
	c.Boundaries[impute.Scaled] = 1
	return nil
}

// joint collects what fills the gaps of columns.
type joint struct {
	c             *Col
	charge        func(bytes int64) error
	held, charged int64
	key           []byte
	counter       catCounter
	farthest      uint64 // the greatest hash of a donor that may be kept
	patterns      map[uint64]*patternSums
	entries       int
}

func newJoint(c *Col, charge func(bytes int64) error) *joint {
	return &joint{c: c, charge: asked(charge), farthest: math.MaxUint64, patterns: map[uint64]*patternSums{}}
}

// asked is charge, or what nobody is asked by.
func asked(charge func(bytes int64) error) func(bytes int64) error {
	if charge != nil {
		return charge
	}
	return func(int64) error { return nil }
}

// add adds a row.
func (k *joint) add(row []float64, weight float64, weighted bool) error {
	if len(row) != len(k.c.Elements) {
		return errArrayLength(k.c.Name, len(k.c.Elements), len(row))
	}
	if k.c.Encoder == NearestRows {
		return k.donor(row, weight, weighted)
	}
	return k.products(row, weight, weighted)
}

// hold charges what is to be held, if it is more than ever.
func (k *joint) hold(bytes int64) error {
	k.held = max(k.held, bytes)
	for ; k.held > k.charged; k.charged += jointStep {
		if err := k.charge(jointStep); err != nil {
			return err
		}
	}
	return nil
}

func (k *joint) donor(row []float64, weight float64, weighted bool) error {
	k.key = k.key[:0]
	some := false
	for _, x := range row {
		if some = some || x == x; x != x {
			x = math.NaN() // in one form
		}
		k.key = le.AppendUint64(k.key, math.Float64bits(x))
	}
	if !some || impute.Hash(k.key) > k.farthest {
		return nil
	}
	if err := k.hold(int64(len(k.counter.List)+1) * int64(donorBytes+2*len(k.key))); err != nil {
		return err
	}
	t := k.counter.of(k.key)
	t.n++
	t.w.add(weight, weighted)
	if len(k.counter.List) < 2*impute.Samples(k.c.Boundaries) {
		return nil
	}
	kept := keepDonors(k.counter.list(), k.c)
	k.counter, k.farthest = catCounter{}, 0
	for _, d := range kept {
		k.farthest = max(k.farthest, impute.Hash([]byte(d.Key)))
		*k.counter.of([]byte(d.Key)) = tally{d.N, d.W}
	}
	return nil
}

// keepDonors returns those of the least hashes, as many as the column keeps; the list is ascending by key.
func keepDonors(list []CatCount, c *Col) []CatCount {
	most := impute.Samples(c.Boundaries)
	if len(list) <= most {
		return list
	}
	out := make([]CatCount, 0, most)
	for _, i := range impute.Keep(len(list), most, func(i int) string { return list[i].Key }) {
		out = append(out, list[i])
	}
	return out
}

// patternSums are what is collected of rows that have gaps in the same places: their sums, or the rows while these are fewer entries.
type patternSums struct {
	tally
	sums impute.Products
	rows map[string]*tally
}

// patternOf is the pattern of entries, in sums.
func patternOf(entries []CatCount, columns int) (p patternSums, has uint64, ok bool) {
	if has, ok = impute.Has(entries[0].Key, columns); !ok {
		return p, 0, false
	}
	n, sums := bits.OnesCount64(has), 0
	p.sums = make(impute.Products, impute.NumberOfProducts(n))
	for i := range entries {
		e := &entries[i]
		if !p.sums.AddEntry(e.Key, e.N, (*[2]exact.Sum)(e.Y)) {
			return p, 0, false
		}
		p.n, p.w = p.n+e.N, p.w.with(e.W) // 0 but of rows and the first sums
		if e.Y != nil {
			sums++
		}
	}
	return p, has, sums == 0 || sums == impute.Entries(n)
}

func (k *joint) products(row []float64, weight float64, weighted bool) error {
	has, numbers := impute.Observed(row)
	p := k.patterns[has]
	if p == nil {
		if p = (&patternSums{rows: map[string]*tally{}}); len(numbers) == 0 {
			p.sums, k.entries = impute.Products{}, k.entries+1
		}
		k.patterns[has] = p
	}
	if p.sums != nil {
		p.n++
		p.w.add(weight, weighted)
		p.sums.Add(numbers, weight)
		return nil
	}
	k.key = impute.RowKey(k.key[:0], has, numbers, weight)
	t := p.rows[string(k.key)]
	if t == nil {
		if k.entries++; k.entries > maxPatternEntries {
			return errManyPatterns(k.c.Name)
		}
		if err := k.hold(int64(k.entries) * int64(patternBytes+16*len(row))); err != nil {
			return err
		}
		t = &tally{}
		p.rows[string(k.key)] = t
	}
	t.n++
	if t.w.add(weight, weighted); len(p.rows) == impute.Entries(len(numbers)) {
		*p, _, _ = patternOf(p.list(has), len(row))
	}
	return nil
}

// list returns a pattern's entries, ascending by key.
func (p *patternSums) list(has uint64) (out []CatCount) {
	if p.sums == nil {
		for _, key := range slices.Sorted(maps.Keys(p.rows)) {
			out = append(out, CatCount{Key: key, N: p.rows[key].n, W: p.rows[key].w})
		}
		return out
	}
	for i := 0; i == 0 || i < len(p.sums); i += 2 {
		c := CatCount{Key: impute.SumKey(has, i), Y: &targetSums{}}
		if i == 0 {
			c.N, c.W = p.n, p.w
		}
		copy(c.Y[:], p.sums[min(i, len(p.sums)):])
		out = append(out, c)
	}
	return out
}

// settle makes sums of the rows of patterns that have become more than these, if there is much.
func settle(entries []CatCount, c *Col) (out []CatCount, err error) {
	if len(entries) <= maxPatternEntries/4 {
		return entries, nil
	}
	err = impute.EachPattern(entries, func(c *CatCount) string { return c.Key }, func(of []CatCount) error {
		p, has, ok := patternOf(of, len(c.Elements))
		switch {
		case !ok:
			return errJoint(c.Name)
		case len(of) > impute.Entries(bits.OnesCount64(has)):
			of = p.list(has)
		}
		if out = append(out, of...); len(out) > maxPatternEntries {
			return errManyPatterns(c.Name)
		}
		return nil
	})
	return out, err
}

// list returns what was collected, ascending by key: the rows, or the entries of patterns.
func (k *joint) list() (out []CatCount) {
	if k.c.Encoder == NearestRows {
		return keepDonors(k.counter.list(), k.c)
	}
	has := make([]uint64, 0, len(k.patterns))
	for h := range k.patterns {
		has = append(has, h)
	}
	slices.Sort(has)
	for _, h := range has {
		out = append(out, k.patterns[h].list(h)...)
	}
	return out
}

// fitImputer fits what fills gaps.
func (f *FitCol) fitImputer(c *Col, st *ColStats, charge func(bytes int64) error) error {
	f.Fill, f.Indicator, f.NullSlot = 0, false, false
	f.Dim, f.Cats = len(st.Elems), c.Elements
	means, sizes := make([]float64, f.Dim), make([]float64, f.Dim)
	for j := range st.Elems {
		e := &st.Elems[j]
		if e.N == 0 {
			return errAllNull(c.Elements[j])
		}
		means[j], sizes[j] = e.Mean, math.Sqrt(e.S2.Value()/e.W)
		if c.Boundaries[impute.Scaled] != 0 {
			f.Center, f.Scale = append(f.Center, e.Mean), append(f.Scale, e.Std())
		}
	}
	if c.Encoder == NearestRows {
		if err := asked(charge)(16 * int64(len(st.Target)) * int64(f.Dim+2)); err != nil { // and once more in a list
			return err
		}
		var donors [][]float64
		var weights []float64
		for _, k := range st.Target {
			if len(k.Key) != 8*f.Dim {
				return errJoint(c.Name)
			}
			row := make([]float64, f.Dim)
			for j := range row {
				row[j] = math.Float64frombits(le.Uint64([]byte(k.Key[8*j:])))
			}
			donors, weights = append(donors, row), append(weights, k.W.Value())
		}
		f.Bounds = impute.NearestOf(c.Boundaries).Fit(means, donors, weights)
		return nil
	}
	patterns, err := patternsOf(c, st.Target, means, asked(charge))
	if err != nil {
		return err
	}
	f.Bounds = impute.IterativeOf(c.Boundaries).Fit(means, sizes, patterns)
	return nil
}

// patternsOf makes patterns of the entries.
func patternsOf(c *Col, entries []CatCount, means []float64, charge func(bytes int64) error) (patterns []impute.Pattern, err error) {
	size := impute.Moments(len(means))
	err = impute.EachPattern(entries, func(c *CatCount) string { return c.Key }, func(of []CatCount) error {
		if len(patterns)*size >= maxPatternNumbers {
			return errManyPatterns(c.Name)
		}
		if err := charge(8 * int64(size)); err != nil {
			return err
		}
		p, has, ok := patternOf(of, len(means))
		if !ok {
			return errJoint(c.Name)
		}
		patterns = append(patterns, p.sums.Pattern(has, p.w.Value(), means))
		return nil
	})
	return patterns, err
}

// filler fills gaps as fitted, nil if Bounds are not those of its encoder.
func (c *FitCol) filler() impute.Filler {
	if c.Encoder == NearestRows {
		return impute.OpenNearest(c.Bounds, c.Dim)
	}
	return impute.OpenIterative(c.Bounds, c.Dim)
}

// imputed writes the numbers of rows, those of gaps filled.
func (w *writer) imputed(c *FitCol, src source, col, dense int) func(from, to int) {
	filler := c.filler()
	var row []float64
	return func(from, to int) {
		for i := from; i < to; i++ {
			var ok bool
			if row, ok = src.Array(col, i, row[:0]); !ok || len(row) != c.Dim {
				row = row[:0]
				for range c.Dim {
					row = append(row, math.NaN())
				}
			}
			filler.Fill(row)
			for j, v := range row {
				w.b.Set(i, dense+j, c.scaled(j, v))
			}
		}
	}
}

func errJoint(name string) error {
	return pgerr.Internal("what was collected of column %q is incomplete", name)
}

func errManyPatterns(name string) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the rows of %q have gaps in too many different combinations of columns", name).OnColumn(name).
		WithHint("Fill fewer columns at once, or use ml.knn_imputer.")
}
