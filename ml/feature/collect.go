package feature

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/sql/types"
)

// chunkRows is how many values of a column are looked at at once.
const chunkRows = dataset.ViewRows

// needs tells what statistics a column's part asks for.
func (s *Spec) needs(c *Col) (moments, extremes, cats, sketch bool) {
	switch c.Role {
	case Label:
		return !s.Classes, s.EventCol() >= 0, s.Classes, false
	case Feature:
	default:
		return false, false, false, false
	}
	switch c.Encoder {
	case Plain, Standard, Dates:
		moments = true
	case MinMax, MaxAbs:
		moments, extremes = true, true
	case Robust, QuantileBucketize:
		moments, sketch = true, true
	case Bucketize:
		moments = true
	case OneHot, Ordinal:
		cats = true
	}
	if c.Fill == FillMedian && moments {
		sketch = true
	}
	if c.Fill == FillMostFrequent && moments {
		cats = true
	}
	return moments, extremes, cats, sketch
}

// Collect gives the statistics of the training rows of a leaf, and checks the
// values of all its rows.
func (s *Spec) Collect(ctx context.Context, v *dataset.View) (*Stats, error) {
	st, _, err := s.collectAll(ctx, v, false)
	return st, err
}

// CollectDraft is Collect, and gives the leaf's draft, nil where there is none.
func (s *Spec) CollectDraft(ctx context.Context, v *dataset.View) (*Stats, *Draft, error) {
	return s.collectAll(ctx, v, s.Drafts())
}

func (s *Spec) collectAll(ctx context.Context, v *dataset.View, draft bool) (*Stats, *Draft, error) {
	train, held := s.Split(v)
	d := &Draft{}
	st, err := s.collectPart(ctx, train, draft, &d.Train)
	if err != nil {
		return nil, nil, err
	}
	if held.Rows > 0 {
		other, err := s.collectPart(ctx, held, d.Train != nil, &d.Held)
		if err != nil {
			return nil, nil, err
		}
		// Of held out rows only the classes count: they may have one of their own.
		st.Held = other.Rows
		if c := s.LabelCol(); c >= 0 && s.Classes {
			held := other.Cols[c].Cats
			for i := range held {
				held[i].W = 0
			}
			st.Cols[c].Cats, _ = mergeCats(st.Cols[c].Cats, held, MaxClasses)
		}
	}
	if d.Train == nil || held.Rows > 0 && d.Held == nil {
		return st, nil, nil
	}
	return st, d, nil
}

// collectPart collects from a view, with its draft if that is wanted.
func (s *Spec) collectPart(ctx context.Context, v *dataset.View, draft bool, d **DraftBlock) (*Stats, error) {
	if draft {
		st, b, err := s.draft(ctx, v)
		if err != nil || st != nil {
			*d = b
			return st, err
		}
	}
	return s.collect(ctx, v)
}

func (s *Spec) collect(ctx context.Context, v *dataset.View) (*Stats, error) {
	st := &Stats{Rows: int64(v.Rows), Cols: make([]ColStats, len(s.Cols))}
	cols := s.collectors(v.Rows)
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
			if nulls := v.Numbers(event, from, vals); nulls > 0 || !bits(vals) {
				return nil, errEvent(s.Cols[event].Name)
			}
		}
		for i := range cols {
			if err := cols[i].chunk(v, i, from, vals, w); err != nil {
				return nil, err
			}
		}
	}
	st.Counted, st.Weight = st.Rows, float64(v.Rows)
	if weight >= 0 {
		st.Counted, st.Weight = cols[weight].count, f64.Fold(&cols[weight].acc.S1)
	}
	for i := range cols {
		if err := cols[i].finish(&st.Cols[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// bits tells whether all are 0 or 1.
func bits(vals []float64) bool {
	for _, v := range vals {
		if v != 0 && v != 1 {
			return false
		}
	}
	return true
}

// collector is one column's statistics in the making.
type collector struct {
	col                                    *Col
	moments, extremes, cats, sketch, array bool
	nulls, count                           int64
	shift                                  float64
	acc                                    f64.MomentAcc
	weight                                 [f64.Lanes]float64 // of what was counted, where rows have weights
	weighted                               bool
	lo, hi                                 float64
	sample, sampleW                        []float64
	counter                                catCounter
	elems                                  []f64.MomentAcc
	sums                                   uint8 // of Spec.AnyOrder: how many powers of the values are summed
	any                                    bool  // Spec.AnyOrder
	duration                               bool  // no value may be negative
	s1, s2                                 exact.Long
	wild                                   bool // a NaN or an infinity was there
	elemSums                               [][2]exact.Long
	shifts, vals                           []float64
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
	k.array = k.col.Role == Feature && (k.col.Encoder == Array || k.col.Encoder == PlainArray)
	k.moments, k.extremes, k.cats, k.sketch = s.needs(k.col)
	k.duration = k.col.Role == Label && timed
	if k.sketch {
		k.sample = make([]float64, 0, rows)
	}
	if k.any = s.AnyOrder; k.any {
		k.sums = s.powers(k.col)
	}
}

// powers gives how many powers of a column's numbers are summed: none where
// nothing asks for their mean.
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

// exactly adds numbers, NULLs being left out: the first NaNs of the chunk.
func (k *collector) exactly(nulls int, vals []float64) {
	for _, x := range vals {
		if x != x && nulls > 0 {
			nulls--
			continue
		}
		k.one(x)
	}
}

func (k *collector) one(x float64) {
	if k.count == 0 {
		k.lo, k.hi = x, x
	}
	k.count++
	k.lo, k.hi = min(k.lo, x), max(k.hi, x)
	k.wild = k.wild || x-x != 0
	if k.sums > 0 {
		if k.s1.Add(x); k.sums > 1 {
			k.s2.AddProduct(x, x)
		}
	}
}

// parts is one of n numbers by their bounds, and by the parts of the sums of them
// and of their squares (f64.ColumnSplits).
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

// chunk takes the rows from on, as many as vals has room for; w are their
// weights, nil where they have none.
func (k *collector) chunk(v *dataset.View, i, from int, vals, w []float64) error {
	if k.array {
		return k.arrays(v, i, from, len(vals), w)
	}
	if k.moments {
		if nulls := readNumbers(v, k.col.Type, i, from, vals); k.any {
			if !k.cats {
				k.nulls += int64(nulls)
			}
			k.exactly(nulls, vals)
		} else if w == nil {
			k.numbers(nulls, vals)
		} else {
			k.weightedNumbers(nulls, vals, w)
		}
	}
	if k.cats {
		return k.categories(v, i, from, len(vals), w)
	}
	return nil
}

// weightedNumbers is numbers of rows with weights. Those of weight 0 do not count.
func (k *collector) weightedNumbers(nulls int, vals, w []float64) {
	for j, x := range vals {
		null := x != x && nulls > 0 // a NaN beyond the NULLs stays, and is found
		if null {
			nulls--
		}
		switch {
		case w[j] == 0:
			continue
		case null:
			if !k.cats {
				k.nulls++
			}
			continue
		}
		if k.count == 0 {
			k.shift, k.lo, k.hi = x, x, x
		}
		k.count++
		if x == x {
			k.lo, k.hi = math.Min(k.lo, x), math.Max(k.hi, x)
			if k.sketch {
				k.sample, k.sampleW = append(k.sample, x), append(k.sampleW, w[j])
			}
		}
		l, d := j%f64.Lanes, x-k.shift
		wd := float64(w[j] * d)
		k.weight[l] += w[j]
		k.acc.S1[l] += wd
		k.acc.S2[l] = f64.FMA(wd, d, k.acc.S2[l])
	}
}

// total is the weight of what was counted.
func (k *collector) total() float64 {
	if k.weighted {
		return f64.Fold(&k.weight)
	}
	return float64(k.count)
}

// numbers adds a chunk of values around the column's first one; a NULL counts
// as that, so that rows keep their lanes.
func (k *collector) numbers(nulls int, vals []float64) {
	have := len(vals) - nulls
	if !k.cats {
		k.nulls += int64(nulls)
	}
	if have == 0 {
		return
	}
	if k.count == 0 {
		for _, x := range vals {
			if x == x || nulls == 0 {
				k.shift, k.lo, k.hi = x, x, x
				break
			}
		}
	}
	k.count += int64(have)
	if k.extremes || k.sketch {
		for _, x := range vals {
			if x != x {
				continue
			}
			k.lo, k.hi = math.Min(k.lo, x), math.Max(k.hi, x)
			if k.sketch {
				k.sample = append(k.sample, x)
			}
		}
	}
	if nulls > 0 {
		left := nulls
		for j, x := range vals {
			if x != x && left > 0 { // a NaN beyond the NULLs stays, and is found
				vals[j] = k.shift
				left--
			}
		}
	}
	f64.Moments(vals, k.shift, &k.acc)
}

func (k *collector) categories(v *dataset.View, i, from, n int, w []float64) error {
	for r := from; r < from+n; r++ {
		b, weight := v.Bytes(i, r), 1.0
		if w != nil {
			weight = w[r-from]
		}
		switch {
		case b == nil && (weight > 0 || k.col.Role == Label):
			k.nulls++
		case b != nil && weight > 0:
			k.counter.add(b, 1, weight)
		}
	}
	if len(k.counter.keys) > maxDistinct {
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
		}
	}
	f64.Moments(vals, 0, &k.acc)
	return nil
}

func (k *collector) arrays(v *dataset.View, i, from, n int, w []float64) error {
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
			k.elems, k.shifts = make([]f64.MomentAcc, len(k.vals)), append(k.shifts, k.vals...)
			if k.any {
				k.elemSums = make([][2]exact.Long, len(k.vals))
			}
		}
		if len(k.vals) != len(k.elems) {
			return errArrayLength(k.col.Name, len(k.elems), len(k.vals))
		}
		l := int(k.count % f64.Lanes)
		for j := range k.elemSums {
			k.elemSums[j][0].Add(k.vals[j])
			k.elemSums[j][1].AddProduct(k.vals[j], k.vals[j])
		}
		for j, x := range k.vals {
			d := x - k.shifts[j]
			wd := float64(weight * d)
			k.elems[j].S1[l] += wd
			k.elems[j].S2[l] = f64.FMA(wd, d, k.elems[j].S2[l])
		}
		k.weight[l] += weight
		k.count++
	}
	return nil
}

// finish gives the statistics, or says what is wrong with the values.
func (k *collector) finish(st *ColStats) error {
	c := k.col
	st.Nulls = k.nulls
	what := "feature"
	if c.Role == Label {
		what = "label"
		if k.nulls > 0 {
			return ErrLabelNull(c.Name)
		}
		if k.duration && k.count > 0 && k.lo < 0 {
			return errDuration(c.Name)
		}
	}
	if k.moments {
		st.Number = &NumberStats{Min: k.lo, Max: k.hi}
		if k.any {
			if k.wild {
				return errNotFinite(what, c.Name)
			}
			st.Number.N, st.Number.W = k.count, float64(k.count)
			if k.sums > 0 {
				st.Number.S1 = &k.s1
			}
			if k.sums > 1 {
				st.Number.S2 = &k.s2
			}
		} else {
			st.Number.finish(k.count, k.total(), k.shift, &k.acc)
		}
		if !st.Number.finite() {
			return errNotFinite(what, c.Name)
		}
	}
	if k.cats {
		st.Cats = k.counter.list()
		if c.Role == Label {
			for _, cat := range st.Cats {
				if IsNumber(c.Type) && badFloat(c.Type, []byte(cat.Key)) {
					return errNotFinite(what, c.Name)
				}
			}
			if len(st.Cats) > MaxClasses {
				return errManyClasses(c.Name)
			}
		}
	}
	for j := range k.elems {
		var n NumberStats
		n.finish(k.count, k.total(), k.shifts[j], &k.elems[j])
		if k.any {
			n.S1, n.S2 = &k.elemSums[j][0], &k.elemSums[j][1]
		}
		if !n.finite() {
			return errNotFinite(what, c.Name)
		}
		st.Elems = append(st.Elems, n)
	}
	if k.sketch {
		st.Sketch = sketchOf(k.sample, k.sampleW)
	}
	return nil
}

func badFloat(t types.Type, key []byte) bool {
	v := keyNumber(t, key)
	return v-v != 0
}

// readNumbers is v.Numbers with times in days.
func readNumbers(v source, t types.Type, i, from int, dst []float64) int {
	n := v.Numbers(i, from, dst)
	if t.OID == types.TimestampOID || t.OID == types.TimestamptzOID {
		for j, x := range dst {
			if math.Abs(x) > 9.2e18 { // ±infinity
				x = math.Inf(1)
			}
			dst[j] = x / microsPerDay
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
