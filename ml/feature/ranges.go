package feature

import "github.com/tributarydb/tributary/ml/block"

// Ranges are the least and greatest values in the blocks of training rows, by dense
// column and of the labels. Zeros are positive.
type Ranges struct {
	Low, High   []float64
	YLow, YHigh float64
}

// Ranges derives the ranges of the blocks from statistics of their rows, which saves a pass
// over the blocks: an encoder of numbers is monotone, so it maps the least value to the
// least. It returns nil where the statistics do not determine them, as with a NULL, whose
// replacement is a value too, and where rows have weights.
func (f *Fitted) Ranges(s *Spec, st *Stats) *Ranges {
	if s.WeightCol() >= 0 || s.EventCol() >= 0 || s.Narrow && !s.AutoNarrow() || st.Rows == 0 {
		return nil
	}
	r := &Ranges{}
	cols := f.Cols
	for i := range s.Cols {
		c, cs := &s.Cols[i], &st.Cols[i]
		switch {
		case c.Target:
			return nil
		case c.Role == Label:
			if !r.labels(f, cs) {
				return nil
			}
		case c.Role == Feature:
			if len(cols) == 0 || !r.add(&cols[0], cs, s.Narrow) {
				return nil
			}
			cols = cols[1:]
		}
	}
	return r
}

// add adds the dense columns of an encoder.
func (r *Ranges) add(c *FitCol, cs *ColStats, narrow bool) bool {
	switch c.Encoder {
	case OneHot, Bucketize, QuantileBucketize:
		return true
	case Plain, Standard, MinMax, MaxAbs, Robust, Dates:
	default:
		return false
	}
	if c.Indicator || cs.Nulls > 0 || cs.Number == nil || cs.Number.N == 0 {
		return false
	}
	b := block.New(2, 1, 0, narrow)
	b.Set(0, 0, cs.Number.Min)
	b.Set(1, 0, cs.Number.Max)
	if len(c.Center) > 0 {
		b.Standardize([]float64{c.Center[0]}, []float64{1 / c.Scale[0]})
	}
	r.Low, r.High = append(r.Low, b.Value(0, 0)+0), append(r.High, b.Value(1, 0)+0)
	return true
}

// labels adds the range of the labels: numbers, or the numbers of the classes that
// training rows have.
func (r *Ranges) labels(f *Fitted, cs *ColStats) bool {
	if f.Keys == nil {
		if cs.Number == nil || cs.Number.N == 0 {
			return false
		}
		r.YLow, r.YHigh = cs.Number.Min+0, cs.Number.Max+0
		return true
	}
	find, any := newFinder(f.Keys), false
	for _, cat := range cs.Cats {
		if cat.W.n == 0 {
			continue
		}
		k := float64(find.find([]byte(cat.Key)))
		if k < 0 {
			return false
		}
		if !any {
			r.YLow, r.YHigh, any = k, k, true
		}
		r.YLow, r.YHigh = min(r.YLow, k), max(r.YHigh, k)
	}
	return any
}
