package feature

import (
	"context"
	"math"

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
		return !s.Classes, false, s.Classes, false
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
	train, held := v.Split(s.Holdout)
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
			st.Cols[c].Cats, _ = mergeCats(st.Cols[c].Cats, other.Cols[c].Cats, MaxClasses)
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
	cols := make([]collector, len(s.Cols))
	for i := range cols {
		cols[i].init(s, i, v.Rows)
	}
	var buf [chunkRows]float64
	for from := 0; from < v.Rows; from += chunkRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vals := buf[:min(chunkRows, v.Rows-from)]
		for i := range cols {
			if err := cols[i].chunk(v, i, from, vals); err != nil {
				return nil, err
			}
		}
	}
	st.Weight = float64(v.Rows)
	for i := range cols {
		if err := cols[i].finish(&st.Cols[i]); err != nil {
			return nil, err
		}
		if s.Cols[i].Role == Weight {
			st.Weight = f64.Fold(&cols[i].acc.S1)
		}
	}
	return st, nil
}

// collector is one column's statistics in the making.
type collector struct {
	col                                    *Col
	moments, extremes, cats, sketch, array bool
	nulls, count                           int64
	shift                                  float64
	acc                                    f64.MomentAcc
	lo, hi                                 float64
	sample                                 []float64
	counter                                catCounter
	elems                                  []f64.MomentAcc
	shifts, vals                           []float64
}

func (k *collector) init(s *Spec, i, rows int) {
	k.col = &s.Cols[i]
	k.array = k.col.Role == Feature && (k.col.Encoder == Array || k.col.Encoder == PlainArray)
	k.moments, k.extremes, k.cats, k.sketch = s.needs(k.col)
	if k.sketch {
		k.sample = make([]float64, 0, rows)
	}
}

func (k *collector) chunk(v *dataset.View, i, from int, vals []float64) error {
	if k.col.Role == Weight {
		return k.weights(v.Numbers(i, from, vals), vals)
	}
	if k.array {
		return k.arrays(v, i, from, len(vals))
	}
	if k.moments {
		k.numbers(readNumbers(v, k.col.Type, i, from, vals), vals)
	}
	if k.cats {
		return k.categories(v, i, from, len(vals))
	}
	return nil
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

func (k *collector) categories(v *dataset.View, i, from, n int) error {
	for r := from; r < from+n; r++ {
		b := v.Bytes(i, r)
		if b == nil {
			k.nulls++
			continue
		}
		k.counter.add(b)
	}
	if len(k.counter.n) > maxDistinct {
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
	}
	f64.Moments(vals, 0, &k.acc)
	return nil
}

func (k *collector) arrays(v *dataset.View, i, from, n int) error {
	for r := from; r < from+n; r++ {
		var ok bool
		if k.vals, ok = v.Array(i, r, k.vals[:0]); !ok {
			k.nulls++
			continue
		}
		if k.count == 0 {
			k.elems, k.shifts = make([]f64.MomentAcc, len(k.vals)), append(k.shifts, k.vals...)
		}
		if len(k.vals) != len(k.elems) {
			return errArrayLength(k.col.Name, len(k.elems), len(k.vals))
		}
		l := int(k.count % f64.Lanes)
		for j, x := range k.vals {
			d := x - k.shifts[j]
			k.elems[j].S1[l] += d
			k.elems[j].S2[l] = f64.FMA(d, d, k.elems[j].S2[l])
		}
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
			return errLabelNull(c.Name)
		}
	}
	if k.moments {
		st.Number = &NumberStats{Min: k.lo, Max: k.hi}
		st.Number.finish(k.count, k.shift, &k.acc)
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
		n.finish(k.count, k.shifts[j], &k.elems[j])
		if !n.finite() {
			return errNotFinite(what, c.Name)
		}
		st.Elems = append(st.Elems, n)
	}
	if k.sketch {
		st.Sketch = sketchOf(k.sample)
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
