package feature

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/words"
	"github.com/tributarydb/tributary/sql/types"
)

// chunkRows is how many values of a column are read at once.
const chunkRows = record.ViewRows

// needs returns which statistics a column's role and encoder need.
func (s *Spec) needs(c *Col) (moments, cats, sketch bool) {
	switch c.Role {
	case Label:
		return !s.Classes, s.Classes, false
	case Feature:
	default:
		return false, false, false
	}
	switch c.Encoder {
	case Plain, Standard, Dates, MinMax, MaxAbs, Instant:
		moments = true
	case Robust, QuantileBucketize, Spline:
		moments, sketch = true, true
	case Bucketize:
		moments = true
	case OneHot, Ordinal, Class, TargetEncode, Hashed:
		cats = true
	}
	if c.Fill == FillMedian && moments {
		sketch = true
	}
	if c.Fill == FillMostFrequent && moments {
		cats = true
	}
	return moments, cats, sketch
}

// Collect returns the statistics of the training rows of a leaf, and checks the
// values of all its rows.
func (s *Spec) Collect(ctx context.Context, v *record.View) (*Stats, error) {
	st, _, err := s.collectAll(ctx, v, false)
	return st, err
}

// CollectUnfitted is Collect, and returns the leaf's unfitted block, nil where there is none.
func (s *Spec) CollectUnfitted(ctx context.Context, v *record.View) (*Stats, *Unfitted, error) {
	return s.collectAll(ctx, v, s.HasUnfitted())
}

func (s *Spec) collectAll(ctx context.Context, v *record.View, unfitted bool) (*Stats, *Unfitted, error) {
	train, held := s.Split(v)
	d := &Unfitted{}
	st, err := s.collectPart(ctx, train, unfitted, &d.Train)
	if err != nil {
		return nil, nil, err
	}
	if held.Rows > 0 {
		other, err := s.collectPart(ctx, held, d.Train != nil, &d.Held)
		if err != nil {
			return nil, nil, err
		}
		// Of held-out rows only the labels are collected: they may have a class that no training
		// row has.
		st.Held = other.Rows
		for c := range s.Cols {
			if !s.classes(&s.Cols[c]) {
				continue
			}
			held := other.Cols[c].Cats
			for i := range held {
				held[i].W = mass{}
			}
			st.Cols[c].Cats, _ = mergeCats(st.Cols[c].Cats, held, MaxClasses)
		}
	}
	if d.Train == nil || held.Rows > 0 && d.Held == nil {
		return st, nil, nil
	}
	return st, d, nil
}

// collectPart collects from a view, with its unfitted block if that is wanted.
func (s *Spec) collectPart(ctx context.Context, v *record.View, unfitted bool, d **UnfittedBlock) (*Stats, error) {
	if unfitted {
		st, b, err := s.unfitted(ctx, v)
		if err != nil || st != nil {
			*d = b
			return st, err
		}
	}
	return s.collect(ctx, v)
}

func (s *Spec) collect(ctx context.Context, v *record.View) (*Stats, error) {
	st := &Stats{Rows: int64(v.Rows), Cols: make([]ColStats, len(s.Cols))}
	cols := s.collectors(v.Rows)
	if s.OutOfFold() {
		folds, done, err := v.Folds(targetFolds)
		if err != nil {
			return nil, err
		}
		defer done()
		for i := range cols {
			if cols[i].col.Role == Feature && cols[i].col.Encoder == TargetEncode {
				cols[i].target = &targetCounter{label: s.LabelCol(), classes: s.Classes, folds: folds}
			}
		}
	}
	var buf, wbuf [chunkRows]float64
	weight, event := s.WeightCol(), s.EventCol()
	for from := 0; from < v.Rows; from += chunkRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vals := buf[:min(chunkRows, v.Rows-from)]
		var w []float64
		if weight >= 0 {
			w = wbuf[:len(vals)]
			if err := cols[weight].weights(v.Numbers(weight, from, w), w); err != nil {
				return nil, err
			}
		}
		if event >= 0 {
			if nulls := v.Numbers(event, from, vals); nulls > 0 || !zeroOrOne(vals) {
				return nil, errEvent(s.Cols[event].Name)
			}
		}
		for i := range cols {
			if err := cols[i].chunk(v, i, from, vals, w); err != nil {
				return nil, err
			}
		}
	}
	st.Counted = st.Rows
	if weight >= 0 {
		st.Counted, st.Weight = cols[weight].count, cols[weight].total
	}
	for i := range cols {
		if err := cols[i].finish(&st.Cols[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// zeroOrOne reports whether all are 0 or 1.
func zeroOrOne(vals []float64) bool {
	for _, v := range vals {
		if v != 0 && v != 1 {
			return false
		}
	}
	return true
}

// collector accumulates one column's statistics. All sums are exact, so that they
// depend neither on how rows are cut nor on their order.
type collector struct {
	col                          *Col
	moments, cats, sketch, array bool
	class                        bool // predicted as one
	target                       *targetCounter
	terms                        *termCounter
	joint                        *joint
	nulls, count                 int64
	weighted                     bool
	total                        mass // of the weight's column
	lo, hi                       float64
	sample, sampleW              []float64
	counter                      catCounter
	sums                         uint8 // how many powers of the values are summed
	duration                     bool  // no value may be negative
	s0, s1, s2                   exact.Long
	splits                       f64.Splits
	wild                         bool // a NaN or an infinity occurred
	elemSums                     [][2]exact.Long
	skip                         bool         // NaN is a missing element
	gaps                         []int64      // by element, those that are missing
	gapWeights                   []exact.Long // and of rows with weights the weight of the others
	vals                         []float64
}

// collectors are those of all columns of so many rows.
func (s *Spec) collectors(rows int) []collector {
	cols := make([]collector, len(s.Cols))
	weighted, timed := s.WeightCol() >= 0, s.EventCol() >= 0
	for i := range cols {
		cols[i].init(s, i, rows, weighted, timed)
	}
	return cols
}

func (k *collector) init(s *Spec, i, rows int, weighted, timed bool) {
	k.col, k.weighted = &s.Cols[i], weighted
	k.array = k.col.Role == Feature && (k.col.Encoder == Array || k.col.Encoder == PlainArray || k.col.Encoder.imputes())
	k.moments, k.cats, k.sketch = s.needs(k.col)
	k.class, k.duration = s.classes(k.col), k.col.Role == Label && timed
	if k.skip = k.array && (s.Gaps || k.col.Encoder.imputes()); k.sketch {
		k.sample = make([]float64, 0, rows)
	}
	k.sums = s.powers(k.col)
	if k.array && k.col.Encoder.imputes() {
		k.joint = newJoint(k.col, s.Charge)
	}
	if c := k.col; c.Role == Feature && c.Encoder == Terms {
		k.terms = &termCounter{Tokens: words.Tokens{Grams: c.grams()}, charge: s.Charge}
	}
}

// powers returns how many powers of a column's numbers are summed: 2 for the
// variance, 1 for the mean, 0 where neither is needed.
func (s *Spec) powers(c *Col) uint8 {
	switch {
	case c.Role == Label:
		return 0
	case c.Encoder == Standard || c.Encoder == Dates || c.Encoder == Array:
		return 2
	case s.KeepMissing && !c.NoIndicator && c.Encoder != PlainArray:
		return 0
	}
	return 1
}

// numbers adds numbers of weights w, nil for 1 each. NULLs are left out: the first
// NaNs of the chunk. Those of weight 0 do not count.
func (k *collector) numbers(nulls int, vals, w []float64) {
	if nulls == 0 && w == nil && !k.sketch {
		vals = k.tiles(vals)
	}
	for j, x := range vals {
		null := x != x && nulls > 0 // the other NaNs are values, and an error
		if null {
			nulls--
		}
		switch {
		case w != nil && w[j] == 0:
			continue
		case null:
			if !k.cats {
				k.nulls++
			}
			continue
		}
		if k.sketch && x == x {
			if k.sample = append(k.sample, x); w != nil {
				k.sampleW = append(k.sampleW, w[j])
			}
		}
		if w == nil {
			k.one(x)
			continue
		}
		k.bound(x)
		if k.sums > 0 {
			k.s0.Add(w[j])
			addMoments(w[j], x, &k.s1, &k.s2)
		}
	}
}

// tiles adds whole tiles of numbers of weight 1 and returns the rest.
func (k *collector) tiles(vals []float64) (rest []float64) {
	k.splits.Plain = k.sums < 2
	for len(vals) >= f64.Lanes {
		n := min(len(vals), f64.SplitRows) &^ (f64.Lanes - 1)
		low, high, sums, ok := f64.ColumnSplits(&k.splits, vals[:n], 1)
		if ok[0] {
			k.parts(n, low[0], high[0], sums)
		} else {
			for _, x := range vals[:n] {
				k.one(x)
			}
		}
		vals = vals[n:]
	}
	return vals
}

func (k *collector) one(x float64) {
	k.bound(x)
	if k.sums > 0 {
		if k.s1.Add(x); k.sums > 1 {
			k.s2.AddProduct(x, x)
		}
	}
}

func (k *collector) bound(x float64) {
	if k.count == 0 {
		k.lo, k.hi = x, x
	}
	k.count++
	k.lo, k.hi = min(k.lo, x), max(k.hi, x)
	k.wild = k.wild || x-x != 0
}

// addMoments adds w·x and w·x², both exactly.
func addMoments(w, x float64, s1, s2 *exact.Long) {
	s1.AddProduct(w, x)
	p := w * x
	s2.AddProduct(p, x)
	if rest := math.FMA(w, x, -p); rest != 0 && rest-rest == 0 {
		s2.AddProduct(rest, x)
	}
}

// parts adds n numbers, given by their bounds and by the split sums of them and
// of their squares (f64.ColumnSplits).
func (k *collector) parts(n int, low, high float64, sums []float64) {
	if k.count == 0 {
		k.lo, k.hi = low, high
	}
	k.count += int64(n)
	k.lo, k.hi = min(k.lo, low), max(k.hi, high)
	if k.sums > 0 {
		if k.s1.AddParts(int64(n), sums[:2]...); k.sums > 1 {
			k.s2.AddParts(int64(n), sums[2:]...)
		}
	}
}

// chunk adds len(vals) rows from row from on; w are their weights, nil where
// they have none.
func (k *collector) chunk(v *record.View, i, from int, vals, w []float64) error {
	if k.array {
		return k.arrays(v, i, from, len(vals), w)
	}
	if k.terms != nil {
		nulls, err := k.terms.add(k.col, v, i, from, len(vals), w)
		k.nulls += nulls
		return err
	}
	if k.moments {
		k.numbers(readNumbers(v, k.col.Type, k.col.Encoder, i, from, vals), vals, w)
	}
	if k.target != nil {
		if err := k.target.add(k.col, v, i, from, len(vals), w); err != nil {
			return err
		}
	}
	if k.cats {
		return k.categories(v, i, from, len(vals), w)
	}
	return nil
}

func (k *collector) categories(v *record.View, i, from, n int, w []float64) error {
	for r := from; r < from+n; r++ {
		b, weight := v.Bytes(i, r), 1.0
		if w != nil {
			weight = w[r-from]
		}
		switch {
		case b == nil && (weight > 0 || k.class):
			k.nulls++
		case b != nil && weight > 0:
			if k.col.Encoder == Hashed { // which may have any number of values
				var slot [4]byte
				le.PutUint32(slot[:], uint32(canon.Hash(b)%uint64(k.col.Buckets)))
				b = slot[:]
			}
			t := k.counter.of(b)
			t.n++
			t.w.add(weight, k.weighted)
		}
	}
	if len(k.counter.List) > maxDistinct {
		return errManyCategories(k.col.Name)
	}
	return nil
}

func (k *collector) weights(nulls int, vals []float64) error {
	if nulls > 0 {
		return errWeightNull(k.col.Name)
	}
	for _, w := range vals {
		if w-w != 0 {
			return errNotFinite("weight", k.col.Name)
		}
		if w < 0 {
			return errWeightNegative(k.col.Name)
		}
		if w > 0 {
			k.count++
			k.total.add(w, true)
		}
	}
	return nil
}

func (k *collector) arrays(v *record.View, i, from, n int, w []float64) error {
	for r := from; r < from+n; r++ {
		weight, ok := 1.0, false
		if w != nil {
			if weight = w[r-from]; weight == 0 {
				continue
			}
		}
		if k.vals, ok = v.Array(i, r, k.vals[:0]); !ok {
			k.nulls++
			continue
		}
		if k.count == 0 {
			k.elemSums = make([][2]exact.Long, len(k.vals))
			if k.skip {
				k.gaps = make([]int64, len(k.vals))
				if k.weighted {
					k.gapWeights = make([]exact.Long, len(k.vals))
				}
			}
		}
		if len(k.vals) != len(k.elemSums) {
			return errArrayLength(k.col.Name, len(k.elemSums), len(k.vals))
		}
		for j, x := range k.vals {
			if k.skip {
				if x != x {
					k.gaps[j]++
					continue
				}
				if w != nil {
					k.gapWeights[j].Add(weight)
				}
			}
			if s := &k.elemSums[j]; w != nil {
				addMoments(weight, x, &s[0], &s[1])
			} else {
				s[0].Add(x)
				s[1].AddProduct(x, x)
			}
		}
		if w != nil {
			k.s0.Add(weight)
		}
		k.count++
		if k.joint != nil {
			if err := k.joint.add(k.vals, weight, w != nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish sets the statistics, or returns the error of a value that must not be there.
func (k *collector) finish(st *ColStats) error {
	c := k.col
	st.Nulls = k.nulls
	what := "feature"
	if c.Target {
		what = "label"
	}
	if c.Role == Label {
		what = "label"
		if k.nulls > 0 {
			return ErrLabelNull(c.Name)
		}
		if k.duration && k.count > 0 && k.lo < 0 {
			return errDuration(c.Name)
		}
	}
	var weights *exact.Long
	if k.weighted {
		weights = &k.s0
	}
	if k.moments {
		if k.wild {
			return errNotFinite(what, c.Name)
		}
		st.Number = &NumberStats{N: k.count, Min: k.lo, Max: k.hi}
		if k.sums > 0 {
			st.Number.S0, st.Number.S1 = weights, &k.s1
		}
		if k.sums > 1 {
			st.Number.S2 = &k.s2
		}
	}
	if k.cats {
		st.Cats = k.counter.list()
		if k.class {
			if len(st.Cats) > MaxClasses {
				return errManyClasses(c)
			}
		}
	}
	if k.terms != nil {
		st.Cats, st.Number = k.terms.counter.list(), &NumberStats{N: 1, Max: float64(k.terms.most)}
	}
	if k.joint != nil {
		st.Target = k.joint.list()
	}
	if k.target != nil {
		st.Target = k.target.list()
	}
	for j := range k.elemSums {
		n := NumberStats{N: k.count, S0: weights, S1: &k.elemSums[j][0], S2: &k.elemSums[j][1]}
		if k.skip {
			if n.N -= k.gaps[j]; k.weighted {
				n.S0 = &k.gapWeights[j]
			}
		}
		if n.S1.Special() || n.S2.Special() {
			return errNotFinite(what, c.Name)
		}
		st.Elems = append(st.Elems, n)
	}
	if k.sketch {
		st.Sketch = sketchOf(k.sample, k.sampleW)
	}
	return nil
}

// readNumbers is v.Numbers with infinite times as infinities, and timestamps in days but for Instant.
func readNumbers(v source, t types.Type, as Encoder, i, from int, dst []float64) int {
	n := v.Numbers(i, from, dst)
	if t.OID == types.TimestampOID || t.OID == types.TimestamptzOID {
		unit := float64(microsPerDay)
		if as == Instant {
			unit = 1
		}
		for j, x := range dst {
			if math.Abs(x) > 9.2e18 { // ±infinity
				x = math.Inf(1)
			}
			dst[j] = x / unit
		}
	} else if t.OID == types.DateOID {
		for j, x := range dst {
			if math.Abs(x) > 2147483646 {
				dst[j] = math.Inf(1)
			}
		}
	}
	return n
}

const microsPerDay = 86400e6
