package feature

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// Stats is what fitting needs to know of rows: of one leaf, or merged. All of it
// is weighted, so that a row of weight 2 is the same as that row twice, and one of
// weight 0 the same as none.
type Stats struct {
	Rows, Held int64 // training rows; rows held out
	Counted    int64 // training rows of a weight above 0
	Weight     float64
	Cols       []ColStats
}

// ColStats is about one column. Which parts are set follows from its part in
// the Spec.
type ColStats struct {
	Nulls  int64
	Number *NumberStats
	Elems  []NumberStats // of an array's elements
	Cats   []CatCount    // ascending by Key
	Sketch Sketch
}

// Vary tells whether the rows differ in any feature.
func (st *Stats) Vary(s *Spec) bool {
	for i := range s.Cols {
		if s.Cols[i].Role == Feature && !s.Cols[i].Target && st.Cols[i].varies() {
			return true
		}
	}
	return false
}

// varies tells whether the rows differ in the column.
func (s *ColStats) varies() bool {
	if s.Nulls > 0 || len(s.Cats) > 1 || s.Number != nil && (s.Number.M2 > 0 || s.Number.Min < s.Number.Max) {
		return true
	}
	return slices.ContainsFunc(s.Elems, func(e NumberStats) bool { return e.M2 > 0 || e.Min < e.Max })
}

// NumberStats are weighted moments, merged by Chan's formula.
type NumberStats struct {
	N        int64
	W        float64 // their weight
	Mean, M2 float64
	Min, Max float64
	// Of Spec.AnyOrder, what Mean and M2 are made of once all rows are together.
	S1, S2 *exact.Long
}

// settle makes the moments of exact sums.
func (n *NumberStats) settle() {
	if n.S1 == nil || n.N == 0 {
		return
	}
	n.Mean = n.S1.Value() / float64(n.N)
	if n.S2 != nil {
		n.M2 = max(exact.LongSpread(n.S2, n.S1, n.S1), 0)
	}
}

// CatCount is how often a value occurs.
type CatCount struct {
	Key string  // canonical bytes of the value
	N   int64   // rows that have it; of a label, those held out too
	W   float64 // weight of the training rows that have it
}

// Limits of what is counted.
const (
	maxDistinct = 1 << 20 // of a feature column
	MaxClasses  = 1000    // of a label
)

// Hold gives the statistics of rows that are held out, of which the classes alone
// count, out of those that they would have.
func (s *Spec) Hold(st *Stats) *Stats {
	out := &Stats{Held: st.Rows, Cols: make([]ColStats, len(st.Cols))}
	if c := s.LabelCol(); c >= 0 && s.Classes {
		out.Cols[c].Cats = slices.Clone(st.Cols[c].Cats)
		for i := range out.Cols[c].Cats {
			out.Cols[c].Cats[i].W = 0
		}
	}
	return out
}

// mergeNumbers gives the statistics of a's and b's rows together; anyOrder is
// Spec.AnyOrder.
func mergeNumbers(a, b NumberStats, anyOrder bool) NumberStats {
	if a.N == 0 {
		return b
	}
	if b.N == 0 {
		return a
	}
	if anyOrder {
		if a.S1 != nil {
			a.S1.Merge(b.S1)
		}
		if a.S2 != nil {
			a.S2.Merge(b.S2)
		}
		a.N, a.W, a.Min, a.Max = a.N+b.N, a.W+b.W, math.Min(a.Min, b.Min), math.Max(a.Max, b.Max)
		return a
	}
	n := a.W + b.W
	d := b.Mean - a.Mean
	share := b.W / n
	return NumberStats{
		N:    a.N + b.N,
		W:    n,
		Mean: f64.FMA(d, share, a.Mean),
		M2:   a.M2 + b.M2 + float64(float64(d*d)*float64(a.W*share)),
		Min:  math.Min(a.Min, b.Min),
		Max:  math.Max(a.Max, b.Max),
	}
}

// finish turns lane sums around a shift into moments.
func (n *NumberStats) finish(count int64, weight, shift float64, acc *f64.MomentAcc) {
	if count == 0 {
		return
	}
	s1, s2 := f64.Fold(&acc.S1), f64.Fold(&acc.S2)
	n.N, n.W = count, weight
	n.Mean = shift + s1/weight
	if n.M2 = s2 - float64(s1*(s1/weight)); n.M2 < 0 {
		n.M2 = 0
	}
}

func (n *NumberStats) finite() bool { return n.Mean-n.Mean == 0 && n.M2-n.M2 == 0 }

// Std is the standard deviation of the population; 1 where all are equal.
func (n *NumberStats) Std() float64 {
	if n.N == 0 {
		return 1
	}
	if v := math.Sqrt(n.M2 / n.W); v > 0 {
		return v
	}
	return 1
}

func mergeCats(a, b []CatCount, limit int) (out []CatCount, over bool) {
	out = make([]CatCount, 0, max(len(a), len(b)))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Key < b[0].Key:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].Key < a[0].Key:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, CatCount{a[0].Key, a[0].N + b[0].N, a[0].W + b[0].W})
			a, b = a[1:], b[1:]
		}
	}
	return out, len(out) > limit
}

// MergeStats merges the statistics of neighbours in the tree.
func (s *Spec) MergeStats(a, b *Stats) (*Stats, error) {
	o := &Stats{Rows: a.Rows + b.Rows, Held: a.Held + b.Held, Counted: a.Counted + b.Counted, Weight: a.Weight + b.Weight, Cols: make([]ColStats, len(a.Cols))}
	for i := range o.Cols {
		x, y, z := &a.Cols[i], &b.Cols[i], &o.Cols[i]
		z.Nulls = x.Nulls + y.Nulls
		switch {
		case x.Number == nil:
			z.Number = y.Number
		case y.Number == nil:
			z.Number = x.Number
		default:
			m := mergeNumbers(*x.Number, *y.Number, s.AnyOrder)
			z.Number = &m
		}
		switch {
		case len(x.Elems) == 0:
			z.Elems = y.Elems
		case len(y.Elems) == 0:
			z.Elems = x.Elems
		case len(x.Elems) != len(y.Elems):
			return nil, errArrayLength(s.Cols[i].Name, len(x.Elems), len(y.Elems))
		default:
			for j := range x.Elems {
				z.Elems = append(z.Elems, mergeNumbers(x.Elems[j], y.Elems[j], s.AnyOrder))
			}
		}
		limit, label := maxDistinct, s.Cols[i].Role == Label
		if label {
			limit = MaxClasses
		}
		var over bool
		if z.Cats, over = mergeCats(x.Cats, y.Cats, limit); over {
			if label {
				return nil, errManyClasses(s.Cols[i].Name)
			}
			return nil, errManyCategories(s.Cols[i].Name)
		}
		z.Sketch = x.Sketch.merge(y.Sketch)
	}
	return o, nil
}

// topCats gives the limit most frequent categories, ties by their bytes, in
// ascending order of their bytes.
func topCats(c []CatCount, limit int) []string {
	if len(c) > limit {
		c = slices.Clone(c)
		slices.SortFunc(c, func(a, b CatCount) int {
			if a.W != b.W {
				return cmp.Compare(b.W, a.W)
			}
			return cmp.Compare(a.Key, b.Key)
		})
		c = c[:limit]
	}
	keys := make([]string, len(c))
	for i := range c {
		keys[i] = c[i].Key
	}
	slices.Sort(keys)
	return keys
}

// mostFrequent gives the category with the highest count, the least of them.
func mostFrequent(c []CatCount) (key string, ok bool) {
	var best float64
	for _, x := range c {
		if x.W > best {
			key, best, ok = x.Key, x.W, true
		}
	}
	return key, ok
}

// Encode gives the canonical bytes.
func (s *Stats) Encode(e *canon.E) {
	e.I64(s.Rows)
	e.I64(s.Held)
	e.I64(s.Counted)
	e.F64(s.Weight)
	e.U32(uint32(len(s.Cols)))
	for i := range s.Cols {
		c := &s.Cols[i]
		e.I64(c.Nulls)
		e.Bool(c.Number != nil)
		if c.Number != nil {
			c.Number.encode(e)
		}
		e.U32(uint32(len(c.Elems)))
		for j := range c.Elems {
			c.Elems[j].encode(e)
		}
		e.U32(uint32(len(c.Cats)))
		for _, k := range c.Cats {
			e.Str(k.Key)
			e.I64(k.N)
			e.F64(k.W)
		}
		c.Sketch.encode(e)
	}
}

func (n *NumberStats) encode(e *canon.E) {
	e.I64(n.N)
	for _, v := range []float64{n.W, n.Mean, n.M2, n.Min, n.Max} {
		e.F64(v)
	}
	for _, s := range []*exact.Long{n.S1, n.S2} {
		e.Bool(s != nil)
		if s != nil {
			e.Bytes(s.Append(nil))
		}
	}
}

func decodeSum(d *canon.D) *exact.Long {
	if !d.Bool() {
		return nil
	}
	s := &exact.Long{}
	if !s.Decode(d.Bytes()) {
		d.Fail()
		return nil
	}
	return s
}

func decodeNumber(d *canon.D) NumberStats {
	return NumberStats{N: d.I64(), W: d.F64(), Mean: d.F64(), M2: d.F64(), Min: d.F64(), Max: d.F64(), S1: decodeSum(d), S2: decodeSum(d)}
}

// DecodeStats reads what Encode wrote.
func DecodeStats(d *canon.D) *Stats {
	s := &Stats{Rows: d.I64(), Held: d.I64(), Counted: d.I64(), Weight: d.F64()}
	for range d.Count(17) {
		c := ColStats{Nulls: d.I64()}
		if d.Bool() {
			n := decodeNumber(d)
			c.Number = &n
		}
		for range d.Count(48) {
			c.Elems = append(c.Elems, decodeNumber(d))
		}
		for range d.Count(20) {
			c.Cats = append(c.Cats, CatCount{d.Str(), d.I64(), d.F64()})
		}
		c.Sketch = decodeSketch(d)
		s.Cols = append(s.Cols, c)
	}
	return s
}

// catCounter counts values.
type catCounter struct {
	numbering
	hits []tally
}

// tally is a number of rows and their weight.
type tally struct {
	n int64
	w float64
}

// add counts n rows of a value, of so much weight.
func (c *catCounter) add(key []byte, n int64, weight float64) {
	k := c.number(key)
	if int(k) == len(c.hits) {
		c.hits = append(c.hits, tally{})
	}
	t := &c.hits[k]
	t.n += n
	t.w += weight
}

// list gives the counts, ascending by key.
func (c *catCounter) list() []CatCount {
	out := make([]CatCount, 0, len(c.keys))
	for i, k := range c.keys {
		out = append(out, CatCount{k, c.hits[i].n, c.hits[i].w})
	}
	slices.SortFunc(out, func(a, b CatCount) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
