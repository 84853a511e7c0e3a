package feature

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Columns whose gaps are filled from each other are one column of arrays, whose elements are the columns and NaN where a
// row has none. What leaves bring together for package impute is exact, and so the same however rows are divided:
//
//	NearestRows  row ─▶ its bytes ─▶ weights by different row; of more than asked for, those of the least hashes
//	Regressions  row ─▶ where it has gaps ─▶ sums of numbers and of their products
const (
	maxPatternEntries = 1 << 19 // of two sums each
	maxPatternNumbers = 1 << 22 // in the matrices of all patterns
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
	if err := k.hold(int64(len(k.counter.keys)+1) * int64(donorBytes+2*len(k.key))); err != nil {
		return err
	}
	t := k.counter.of(k.key)
	t.n++
	t.w.add(weight, weighted)
	if len(k.counter.keys) < 2*impute.Samples(k.c.Boundaries) {
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

// patternSums are the sums of rows that have gaps in the same places.
type patternSums struct {
	tally
	sums impute.Products
}

// entriesOf is how many entries rows of n numbers take.
func entriesOf(n int) int { return max(1, (impute.NumberOfProducts(n)+1)/2) }

// patternKey is the key of sums i and i+1 of rows that have these columns.
func patternKey(has uint64, i int) string {
	return string(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(nil, has), uint16(i)))
}

func (k *joint) products(row []float64, weight float64, weighted bool) error {
	has, numbers := uint64(0), make([]float64, 0, impute.MaxColumns)
	for j, x := range row {
		if x == x {
			has |= 1 << j
			numbers = append(numbers, x)
		}
	}
	p := k.patterns[has]
	if p == nil {
		if k.entries += entriesOf(len(numbers)); k.entries > maxPatternEntries {
			return errManyPatterns(k.c.Name)
		}
		if err := k.hold(int64(k.entries) * patternBytes); err != nil {
			return err
		}
		p = &patternSums{sums: make(impute.Products, impute.NumberOfProducts(len(numbers)))}
		k.patterns[has] = p
	}
	p.n++
	p.w.add(weight, weighted)
	p.sums.Add(numbers, weight)
	return nil
}

// list returns what was collected, ascending by key: the rows, or sums, whose key is the bits of the columns and which of
// the pattern's they are, two each.
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
		p := k.patterns[h]
		for i := 0; i == 0 || i < len(p.sums); i += 2 {
			c := CatCount{Key: patternKey(h, i), Y: &targetSums{}}
			if i == 0 {
				c.N, c.W = p.n, p.w
			}
			copy(c.Y[:], p.sums[min(i, len(p.sums)):])
			out = append(out, c)
		}
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
func patternsOf(c *Col, sums []CatCount, means []float64, charge func(bytes int64) error) (patterns []impute.Pattern, err error) {
	size := impute.Moments(len(means))
	for len(sums) > 0 {
		if len(sums[0].Key) != len(patternKey(0, 0)) {
			return nil, errJoint(c.Name)
		}
		if len(patterns)*size >= maxPatternNumbers {
			return nil, errManyPatterns(c.Name)
		}
		if err := charge(8 * int64(size)); err != nil {
			return nil, err
		}
		has := binary.BigEndian.Uint64([]byte(sums[0].Key))
		need := entriesOf(bits.OnesCount64(has))
		if need > len(sums) || has>>len(means) != 0 {
			return nil, errJoint(c.Name)
		}
		var products impute.Products
		for i, s := range sums[:need] {
			if s.Y == nil || s.Key != patternKey(has, 2*i) {
				return nil, errJoint(c.Name)
			}
			products = append(products, s.Y[:]...)
		}
		patterns, sums = append(patterns, products.Pattern(has, sums[0].W.Value(), means)), sums[need:]
	}
	return patterns, nil
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
