package feature

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/numbering"
)

// Stats are the statistics of rows that encoders are fitted to: of one leaf, or
// merged. They are weighted: a row of weight 2 counts as two copies of it, and one
// of weight 0 as none.
type Stats struct {
	Rows, Held int64 // training rows; rows held out
	Counted    int64 // training rows of a weight above 0
	Weight     mass  // their weight, where rows have weights
	Cols       []ColStats
}

// mass is the total weight of rows: their number, or, where they have weights, the
// exact sum of these.
type mass struct {
	n   int64
	sum *exact.Sum
}

func (m *mass) add(w float64, weighted bool) {
	m.n++
	if !weighted {
		return
	}
	if m.sum == nil {
		m.sum = &exact.Sum{}
	}
	m.sum.Add(w)
}

// with is the weight of both.
func (m mass) with(o mass) mass {
	sum := m.sum
	switch {
	case sum == nil:
		sum = o.sum
	case o.sum != nil:
		both := *sum
		both.Merge(o.sum)
		sum = &both
	}
	return mass{m.n + o.n, sum}
}

// Value is the weight as a number.
func (m mass) Value() float64 {
	if m.sum == nil {
		return float64(m.n)
	}
	return m.sum.Value()
}

func (m mass) encode(e *canon.E) {
	e.I64(m.n)
	e.Bool(m.sum != nil)
	if m.sum != nil {
		e.B = m.sum.Append(e.B)
	}
}

func decodeMass(d *canon.D) (m mass) {
	m.n = d.I64()
	if !d.Bool() {
		return m
	}
	if b := d.Take(exact.Bytes); b != nil {
		m.sum = &exact.Sum{}
		m.sum.Decode(b)
	}
	return m
}

// Bytes estimates the memory of the statistics in bytes; 0 for nil.
func (st *Stats) Bytes() (n int64) {
	if st == nil {
		return 0
	}
	of := func(m mass) int64 {
		if m.sum == nil {
			return 0
		}
		return int64(unsafe.Sizeof(*m.sum))
	}
	for i := range st.Cols {
		c := &st.Cols[i]
		if n += int64(unsafe.Sizeof(*c)); c.Number != nil {
			n += c.Number.bytes()
		}
		for j := range c.Elems {
			n += c.Elems[j].bytes()
		}
		for j := range c.Cats {
			n += int64(unsafe.Sizeof(c.Cats[j])) + int64(len(c.Cats[j].Key)) + of(c.Cats[j].W)
		}
		for j := range c.Target {
			if n += int64(unsafe.Sizeof(c.Target[j])) + int64(len(c.Target[j].Key)) + of(c.Target[j].W); c.Target[j].Y != nil {
				n += int64(unsafe.Sizeof(targetSums{}))
			}
		}
		for _, it := range c.Sketch.items {
			n += int64(unsafe.Sizeof(it)) + of(it.w)
		}
	}
	return n
}

func (n *NumberStats) bytes() int64 {
	size := int64(unsafe.Sizeof(*n))
	for _, s := range []*exact.Long{n.S0, n.S1, n.S2} {
		if s != nil {
			size += int64(unsafe.Sizeof(*s))
		}
	}
	return size
}

// ColStats are the statistics of one column. Which fields are set depends on
// its role and encoder (Spec.needs).
type ColStats struct {
	Nulls  int64
	Number *NumberStats
	Elems  []NumberStats // of an array's elements
	Cats   []CatCount    // ascending by Key
	Sketch Sketch
	Target []CatCount // of TargetEncode, ascending by Key, which says category, fold and class; of NearestRows and Regressions see joint
}

// Vary reports whether the rows differ in any feature.
func (st *Stats) Vary(s *Spec) bool {
	for i := range s.Cols {
		if s.Cols[i].Role == Feature && !s.Cols[i].Target && st.Cols[i].varies() {
			return true
		}
	}
	return false
}

// varies reports whether the rows differ in the column.
func (s *ColStats) varies() bool {
	return s.Nulls > 0 || len(s.Cats) > 1 || s.Number != nil && s.Number.varies() || slices.ContainsFunc(s.Elems, NumberStats.varies)
}

func (n NumberStats) varies() bool { return n.M2 > 0 || n.Min < n.Max }

// NumberStats are weighted moments.
type NumberStats struct {
	N        int64
	Min, Max float64
	// Exact sums of the weights, nil where all are 1, of the numbers and of their
	// squares, each times its weight. Sums that are not needed are nil.
	S0, S1, S2 *exact.Long
	// Set by finalize: the sum of the weights, the mean, and the weighted sum of squared
	// deviations from it.
	W, Mean, M2 float64
}

// finalize makes the moments of the sums, once all rows are together.
func (n *NumberStats) finalize() {
	n.W = float64(n.N)
	if n.S0 != nil {
		n.W = n.S0.Value()
	}
	if n.S1 == nil || n.N == 0 {
		return
	}
	n.Mean = n.S1.Value() / n.W
	if n.S2 != nil {
		n.M2 = max(exact.WeightedSpread(n.S2, n.S1, n.S1, n.S0), 0)
	}
}

// CatCount is how often a value occurs.
type CatCount struct {
	Key string // canonical bytes of the value
	N   int64  // rows that have it; of a label, those held out too
	W   mass   // weight of the training rows that have it
	Y   *targetSums
}

// Limits of what is counted.
const (
	maxDistinct = 1 << 20 // of a feature column
	MaxClasses  = 1000    // of a label
	maxSeen     = 1 << 22 // different terms of a column's texts
)

// Hold converts the statistics of rows as training rows into those of the same rows
// held out, of which only the classes are used.
func (s *Spec) Hold(st *Stats) *Stats {
	out := &Stats{Held: st.Rows, Cols: make([]ColStats, len(st.Cols))}
	for c := range s.Cols {
		if !s.classes(&s.Cols[c]) {
			continue
		}
		out.Cols[c].Cats = slices.Clone(st.Cols[c].Cats)
		for i := range out.Cols[c].Cats {
			out.Cols[c].Cats[i].W = mass{}
		}
	}
	return out
}

// mergeNumbers returns the statistics of a's and b's rows together.
func mergeNumbers(a, b NumberStats) NumberStats {
	if a.N == 0 {
		return b
	}
	if b.N == 0 {
		return a
	}
	return NumberStats{N: a.N + b.N, Min: math.Min(a.Min, b.Min), Max: math.Max(a.Max, b.Max),
		S0: both(a.S0, b.S0), S1: both(a.S1, b.S1), S2: both(a.S2, b.S2)}
}

// both adds two sums, nil where there are none.
func both(a, b *exact.Long) *exact.Long {
	if a == nil {
		return nil
	}
	sum := *a
	sum.Merge(b)
	return &sum
}

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
			out = append(out, CatCount{a[0].Key, a[0].N + b[0].N, a[0].W.with(b[0].W), a[0].Y.with(b[0].Y)})
			a, b = a[1:], b[1:]
		}
	}
	return out, len(out) > limit
}

// MergeStats merges the statistics of rows, in any order; neither is changed.
func (s *Spec) MergeStats(a, b *Stats) (*Stats, error) {
	switch { // of no rows, as those of most blocks of an Intake are
	case a.Rows == 0 && a.Held == 0:
		return b, nil
	case b.Rows == 0 && b.Held == 0:
		return a, nil
	}
	o := &Stats{Rows: a.Rows + b.Rows, Held: a.Held + b.Held, Counted: a.Counted + b.Counted, Weight: a.Weight.with(b.Weight), Cols: make([]ColStats, len(a.Cols))}
	for i := range o.Cols {
		x, y, z := &a.Cols[i], &b.Cols[i], &o.Cols[i]
		z.Nulls = x.Nulls + y.Nulls
		switch {
		case x.Number == nil:
			z.Number = y.Number
		case y.Number == nil:
			z.Number = x.Number
		default:
			m := mergeNumbers(*x.Number, *y.Number)
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
				z.Elems = append(z.Elems, mergeNumbers(x.Elems[j], y.Elems[j]))
			}
		}
		limit, label := maxDistinct, s.classes(&s.Cols[i])
		if label {
			limit = MaxClasses
		}
		terms := s.Cols[i].Encoder == Terms
		if terms {
			limit = maxSeen
		}
		var over bool
		if z.Cats, over = mergeCats(x.Cats, y.Cats, limit); over {
			if terms {
				return nil, errManyTerms(s.Cols[i].Name, maxSeen, "Take shorter n-grams, or fewer texts.")
			}
			if label {
				return nil, errManyClasses(&s.Cols[i])
			}
			return nil, errManyCategories(s.Cols[i].Name)
		}
		z.Sketch = x.Sketch.merge(y.Sketch)
		z.Target, over = mergeCats(x.Target, y.Target, maxTargetSums)
		switch {
		case s.Cols[i].Encoder == NearestRows:
			z.Target = keepDonors(z.Target, &s.Cols[i])
		case s.Cols[i].Encoder == Regressions:
			var err error
			if z.Target, err = settle(z.Target, &s.Cols[i]); err != nil {
				return nil, err
			}
		case over:
			return nil, errManyTargets(s.Cols[i].Name)
		}
	}
	return o, nil
}

// Times returns the statistics of n times the rows, n above 0.
func (s *Spec) Times(st *Stats, n int64) (sum *Stats, err error) {
	for ; ; n /= 2 {
		if n%2 == 1 {
			if sum == nil {
				sum = st
			} else if sum, err = s.MergeStats(sum, st); err != nil {
				return nil, err
			}
		}
		if n <= 1 {
			return sum, nil
		}
		if st, err = s.MergeStats(st, st); err != nil {
			return nil, err
		}
	}
}

// topCats returns the limit most frequent categories, ties by their bytes, in
// ascending order of their bytes. Beyond DefaultCategories a single row is not enough,
// unless the statement asks for so many: what a model learns of it holds for no other.
func topCats(c []CatCount, limit int, asked bool) []string {
	if len(c) > min(limit, DefaultCategories) {
		c = slices.Clone(c)
		slices.SortFunc(c, func(a, b CatCount) int {
			return cmp.Or(cmp.Compare(b.W.Value(), a.W.Value()), cmp.Compare(a.Key, b.Key))
		})
		c = c[:min(limit, len(c))]
		for !asked && len(c) > DefaultCategories && c[len(c)-1].N < 2 {
			c = c[:len(c)-1]
		}
	}
	keys := make([]string, len(c))
	for i := range c {
		keys[i] = c[i].Key
	}
	slices.Sort(keys)
	return keys
}

// Shared returns how many categories have a number of their own, and the share of the
// weight of rows whose category has none.
func (c *FitCol) Shared(st *ColStats) (own int, share float64) {
	find := c.known()
	var all, others float64
	for _, k := range st.Cats {
		w := k.W.Value()
		if all += w; find.find([]byte(k.Key)) < 0 {
			others += w
		}
	}
	return len(c.Cats), others / all
}

// mostFrequent returns the category with the highest count, the least of them.
func mostFrequent(c []CatCount) (key string, ok bool) {
	var best float64
	for _, x := range c {
		if w := x.W.Value(); w > best {
			key, best, ok = x.Key, w, true
		}
	}
	return key, ok
}

// Encode writes the canonical bytes.
func (s *Stats) Encode(e *canon.E) {
	e.I64(s.Rows)
	e.I64(s.Held)
	e.I64(s.Counted)
	s.Weight.encode(e)
	e.U32(uint32(len(s.Cols)))
	for i := range s.Cols {
		c := &s.Cols[i]
		e.I64(c.Nulls)
		has := uint8(0)
		if c.Number != nil {
			has |= hasNumber
		}
		if len(c.Target) > 0 {
			has |= hasTarget
		}
		if e.U8(has); c.Number != nil {
			c.Number.encode(e)
		}
		e.U32(uint32(len(c.Elems)))
		for j := range c.Elems {
			c.Elems[j].encode(e)
		}
		encodeCats(e, c.Cats)
		c.Sketch.encode(e)
		if len(c.Target) == 0 {
			continue
		}
		encodeCats(e, c.Target)
		for _, k := range c.Target {
			if e.Bool(k.Y != nil); k.Y != nil {
				e.B = k.Y[1].Append(k.Y[0].Append(e.B))
			}
		}
	}
}

// What follows the number of NULLs of a column.
const (
	hasNumber = 1 << iota
	hasTarget
)

func encodeCats(e *canon.E, cats []CatCount) {
	e.U32(uint32(len(cats)))
	for _, k := range cats {
		e.Str(k.Key)
		e.I64(k.N)
		k.W.encode(e)
	}
}

func decodeCats(d *canon.D) (cats []CatCount) {
	for range d.Count(20) {
		cats = append(cats, CatCount{Key: d.Str(), N: d.I64(), W: decodeMass(d)})
	}
	return cats
}

func decodeTargetSums(d *canon.D) *targetSums {
	b := d.Take(2 * exact.Bytes)
	if b == nil {
		return nil
	}
	t := &targetSums{}
	t[0].Decode(b[:exact.Bytes])
	t[1].Decode(b[exact.Bytes:])
	return t
}

func (n *NumberStats) encode(e *canon.E) {
	e.I64(n.N)
	e.F64(n.Min)
	e.F64(n.Max)
	for _, s := range []*exact.Long{n.S0, n.S1, n.S2} {
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
	return NumberStats{N: d.I64(), Min: d.F64(), Max: d.F64(), S0: decodeSum(d), S1: decodeSum(d), S2: decodeSum(d)}
}

// DecodeStats reads what Encode wrote.
func DecodeStats(d *canon.D) *Stats {
	s := &Stats{Rows: d.I64(), Held: d.I64(), Counted: d.I64(), Weight: decodeMass(d)}
	for range d.Count(17) {
		c := ColStats{Nulls: d.I64()}
		has := d.U8()
		if has > hasNumber|hasTarget {
			d.Fail()
		}
		if has&hasNumber != 0 {
			n := decodeNumber(d)
			c.Number = &n
		}
		for range d.Count(27) {
			c.Elems = append(c.Elems, decodeNumber(d))
		}
		c.Cats, c.Sketch = decodeCats(d), decodeSketch(d)
		if has&hasTarget != 0 {
			c.Target = decodeCats(d)
			for i := range c.Target {
				if d.Bool() {
					c.Target[i].Y = decodeTargetSums(d)
				}
			}
		}
		s.Cols = append(s.Cols, c)
	}
	return s
}

// catCounter counts values.
type catCounter struct {
	numbering.Keys
	hits []tally
}

// tally is the number and the weight of rows with one value.
type tally struct {
	n int64
	w mass
}

// of returns the tally of a value.
func (c *catCounter) of(key []byte) *tally {
	return &c.hits[c.slot(key)]
}

// slot returns the number of a key, which is the place of its tally.
func (c *catCounter) slot(key []byte) int32 {
	k := c.Number(key)
	if int(k) == len(c.hits) {
		c.hits = append(c.hits, tally{})
	}
	return k
}

// hits counts rows by the number of their category or class.
type hits []int64

func (h *hits) add(id int) {
	for id >= len(*h) {
		*h = append(*h, 0)
	}
	(*h)[id]++
}

// counted sets the counts of rows of weight 1, in training and held out, of the
// categories with these keys.
func (c *catCounter) counted(keys []string, train, held hits) {
	*c = catCounter{}
	for i, key := range keys {
		var t tally
		if i < len(train) {
			t.w.n = train[i]
		}
		if t.n = t.w.n; i < len(held) {
			t.n += held[i]
		}
		if t.n > 0 {
			c.List, c.hits = append(c.List, key), append(c.hits, t)
		}
	}
}

// list returns the counts, ascending by key.
func (c *catCounter) list() []CatCount {
	out := make([]CatCount, 0, len(c.List))
	for i, k := range c.List {
		out = append(out, CatCount{Key: k, N: c.hits[i].n, W: c.hits[i].w})
	}
	slices.SortFunc(out, func(a, b CatCount) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
