package feature

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Columns whose gaps are filled from each other are one column of arrays, whose elements are the columns and NaN where a
// row has none. What leaves bring together for package impute is exact, and so the same however rows are divided:
//
//	NearestRows  row ─▶ its bytes ─▶ weights by different row; of more than asked for, those of the least hashes
//	Regressions  row ─▶ where it has gaps ─▶ sums of numbers and of their products
const (
	maxDonorNumbers   = 1 << 20 // of all donors of a column
	maxPatternEntries = 1 << 19 // of two sums each
	maxPatternNumbers = 1 << 22 // in the matrices of all patterns
	jointStep         = 1 << 16 // bytes that are charged at once
	donorBytes        = 200     // of each, in a counter and in the list made of it, beside its key in both
	patternBytes      = 200     // of each entry
)

// What Col.Boundaries says of imputed columns: first whether the results are standardised.
const imputeScaled = 0

// Of NearestRows.
const (
	donorsNeighbors = iota + 1
	donorsByDistance
	donorsMost
	donorsHead
)

// Of Regressions.
const (
	roundsMost = iota + 1
	roundsTolerance
	roundsEstimator
	roundsOrder
	roundsSkip
	roundsHead
)

func (e Encoder) imputes() bool { return e == NearestRows || e == Regressions }

// settled reports whether the settings of an imputed column are complete.
func (c *Col) settled() bool {
	switch c.Encoder {
	case NearestRows:
		return len(c.Boundaries) == donorsHead
	case Regressions:
		return len(c.Boundaries) == roundsHead
	}
	return true
}

// Imputes reports whether the gaps of columns are filled from each other.
func (s *Spec) Imputes() bool {
	return slices.ContainsFunc(s.Cols, func(c Col) bool { return c.Role == Feature && c.Encoder.imputes() })
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
	return &joint{c: c, charge: charge, farthest: math.MaxUint64, patterns: map[uint64]*patternSums{}}
}

// add adds a row.
func (k *joint) add(row []float64, weight float64, weighted bool) error {
	if len(row) != len(k.c.Elements) {
		return errArrayLength(k.c.Name, len(k.c.Elements), len(row))
	}
	if k.c.Encoder == NearestRows {
		k.donor(row, weight, weighted)
	} else if err := k.products(row, weight, weighted); err != nil {
		return err
	}
	for k.charge != nil && k.held > k.charged {
		if err := k.charge(jointStep); err != nil {
			return err
		}
		k.charged += jointStep
	}
	return nil
}

func (k *joint) donor(row []float64, weight float64, weighted bool) {
	k.key = k.key[:0]
	some := false
	for _, x := range row {
		if x != x {
			x = math.NaN()
		} else {
			some = true
		}
		k.key = le.AppendUint64(k.key, math.Float64bits(x))
	}
	if !some || donorHash(k.key) > k.farthest {
		return
	}
	t := k.counter.of(k.key)
	t.n++
	t.w.add(weight, weighted)
	n, most := len(k.counter.keys), k.c.mostDonors()
	if k.held = max(k.held, int64(n)*int64(donorBytes+2*len(k.key))); n < 2*most {
		return
	}
	kept := keepDonors(k.counter.list(), k.c)
	k.counter, k.farthest = catCounter{}, 0
	for _, d := range kept {
		k.farthest = max(k.farthest, donorHash([]byte(d.Key)))
		*k.counter.of([]byte(d.Key)) = tally{d.N, d.W}
	}
}

func (c *Col) mostDonors() int { return int(c.Boundaries[donorsMost]) }

// donorHash gives rows an order that has nothing to do with their numbers.
func donorHash(key []byte) uint64 {
	v := spread(key)
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// keepDonors returns those of the least hashes, as many as the column keeps; the list is ascending by key.
func keepDonors(list []CatCount, c *Col) []CatCount {
	most := c.mostDonors()
	if len(list) <= most {
		return list
	}
	type hashed struct {
		hash uint64
		at   int
	}
	order := make([]hashed, len(list))
	for i := range list {
		order[i] = hashed{donorHash([]byte(list[i].Key)), i}
	}
	slices.SortFunc(order, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	order = order[:most]
	slices.SortFunc(order, func(a, b hashed) int { return cmp.Compare(a.at, b.at) })
	out := make([]CatCount, most)
	for i, o := range order {
		out[i] = list[o.at]
	}
	return out
}

// patternSums are the sums of rows that have gaps in the same places: of their numbers, then of the products of
// every two of these, and of each with itself.
type patternSums struct {
	tally
	sums []exact.Sum
}

// numberOfSums is that of rows that have n numbers.
func numberOfSums(n int) int { return n + n*(n+1)/2 }

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
		p = &patternSums{sums: make([]exact.Sum, numberOfSums(len(numbers)))}
		k.patterns[has] = p
		k.entries += max(1, (len(p.sums)+1)/2)
		if k.held += int64(max(1, (len(p.sums)+1)/2)) * patternBytes; k.entries > maxPatternEntries {
			return errManyPatterns(k.c.Name)
		}
	}
	p.n++
	p.w.add(weight, weighted)
	sums := p.sums
	for _, x := range numbers {
		sums[0].AddProduct(weight, x)
		sums = sums[1:]
	}
	for i, x := range numbers {
		wx := float64(weight * x)
		rest := math.FMA(weight, x, -wx)
		for _, y := range numbers[i:] {
			sums[0].AddProduct(wx, y)
			if rest != 0 && rest-rest == 0 {
				sums[0].Add(float64(rest * y))
			}
			sums = sums[1:]
		}
	}
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
		if c.Boundaries[imputeScaled] != 0 {
			f.Center, f.Scale = append(f.Center, e.Mean), append(f.Scale, e.Std())
		}
	}
	if c.Encoder == NearestRows {
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
		f.Bounds = impute.Nearest{Neighbors: int(c.Boundaries[donorsNeighbors]), ByDistance: c.Boundaries[donorsByDistance] != 0}.Fit(means, donors, weights)
		return nil
	}
	patterns, err := patternsOf(c, st.Target, means, charge)
	if err != nil {
		return err
	}
	b := c.Boundaries
	f.Bounds = impute.Iterative{Rounds: int(b[roundsMost]), Tolerance: b[roundsTolerance], Estimator: impute.Estimator(b[roundsEstimator]), Order: impute.Order(b[roundsOrder]),
		SkipComplete: b[roundsSkip] != 0}.Fit(means, sizes, patterns)
	return nil
}

// patternsOf makes the moments of numbers less their means of exact sums.
func patternsOf(c *Col, sums []CatCount, means []float64, charge func(bytes int64) error) (patterns []impute.Pattern, err error) {
	d := len(means)
	size := impute.Moments(d)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(512).SetFloat64(v) }
	less := func(a, b, by *big.Float) { a.Sub(a, number(0).Mul(b, by)) } // a - b·by
	center := make([]*big.Float, d)
	for j, m := range means {
		center[j] = number(m)
	}
	for len(sums) > 0 {
		if len(sums[0].Key) != 10 {
			return nil, errJoint(c.Name)
		}
		has := binary.BigEndian.Uint64([]byte(sums[0].Key))
		if len(patterns)*size >= maxPatternNumbers {
			return nil, errManyPatterns(c.Name)
		}
		if charge != nil {
			if err := charge(8 * int64(size)); err != nil {
				return nil, err
			}
		}
		var cols []int
		for j := range d {
			if has>>j&1 != 0 {
				cols = append(cols, j)
			}
		}
		p := impute.Pattern{Has: has, Moments: make([]float64, size)}
		weight := number(sums[0].W.Value())
		p.Moments[0], _ = weight.Float64()
		n := numberOfSums(len(cols))
		need := max(1, (n+1)/2)
		if need > len(sums) {
			return nil, errJoint(c.Name)
		}
		for i, s := range sums[:need] {
			if s.Y == nil || s.Key != patternKey(has, 2*i) {
				return nil, errJoint(c.Name)
			}
		}
		all := make([]*big.Float, n)
		for i := range all {
			all[i] = sums[i/2].Y[i%2].Big()
		}
		products := all[len(cols):]
		for i, k := range cols {
			for h, l := range cols[i:] {
				v := products[0] // Σxy - mx·Σy - my·(Σx - mx·Σ1)
				products = products[1:]
				less(v, all[i+h], center[k])
				x := number(0).Set(all[i])
				less(x, weight, center[k])
				less(v, x, center[l])
				m, _ := v.Float64()
				p.Moments[(k+1)*(d+1)+l+1], p.Moments[(l+1)*(d+1)+k+1] = m, m
			}
		}
		for i, k := range cols {
			less(all[i], weight, center[k])
			m, _ := all[i].Float64()
			p.Moments[k+1], p.Moments[(k+1)*(d+1)] = m, m
		}
		patterns, sums = append(patterns, p), sums[need:]
	}
	return patterns, nil
}

// filler fills gaps as fitted, nil if Bounds are not those of its encoder.
func (c *FitCol) filler() impute.Filler {
	if c.Dim > impute.MaxColumns {
		return nil
	}
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
