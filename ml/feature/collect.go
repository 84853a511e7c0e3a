package feature

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/sql/types"
)

// chunkRows is how many values of a column are looked at at once.
const chunkRows = 256

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
	train, held := v.Split(s.Holdout)
	st := &Stats{Rows: int64(train.Rows), Held: int64(held.Rows), Cols: make([]ColStats, len(s.Cols))}
	for i := range s.Cols {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &s.Cols[i]
		var err error
		if c.Role == Label && s.Classes { // held out rows may have a class of their own
			if err := s.column(v, i, c, &st.Cols[i]); err != nil {
				return nil, err
			}
			continue
		}
		if err := s.check(held, i); err != nil {
			return nil, err
		}
		switch {
		case c.Role == Weight:
			st.Weight, err = weights(train, i, c.Name)
		case c.Role == Feature && (c.Encoder == Array || c.Encoder == PlainArray):
			err = arrays(train, i, c, &st.Cols[i])
		default:
			err = s.column(train, i, c, &st.Cols[i])
		}
		if err != nil {
			return nil, err
		}
	}
	if s.WeightCol() < 0 {
		st.Weight = float64(train.Rows)
	}
	return st, nil
}

// check looks at the values of held out rows, which no statistics see.
func (s *Spec) check(v *dataset.View, i int) error {
	c := &s.Cols[i]
	if v.Rows == 0 {
		return nil
	}
	var none ColStats
	switch {
	case c.Role == Weight:
		_, err := weights(v, i, c.Name)
		return err
	case c.Role == Feature && (c.Encoder == Array || c.Encoder == PlainArray):
		return arrays(v, i, c, &none)
	default:
		return s.column(v, i, c, &none)
	}
}

func weights(v *dataset.View, i int, name string) (float64, error) {
	var buf [chunkRows]float64
	var lanes [f64.Lanes]float64
	for from := 0; from < v.Rows; from += chunkRows {
		vals := buf[:min(chunkRows, v.Rows-from)]
		if v.Numbers(i, from, vals) > 0 {
			return 0, errWeightNull(name)
		}
		for j, w := range vals {
			if w-w != 0 {
				return 0, errNotFinite("weight", name)
			}
			if w < 0 {
				return 0, errWeightNegative(name)
			}
			lanes[j%f64.Lanes] += w
		}
	}
	return f64.Fold(&lanes), nil
}

func (s *Spec) column(v *dataset.View, i int, c *Col, st *ColStats) error {
	moments, extremes, cats, sketch := s.needs(c)
	if moments {
		if err := s.numbers(v, i, c, st, extremes, sketch); err != nil {
			return err
		}
	}
	if cats {
		n := map[string]int64{}
		var nulls int64
		for r := range v.Rows {
			b := v.Bytes(i, r)
			if b == nil {
				nulls++
				continue
			}
			if IsNumber(c.Type) && c.Role == Label && badFloat(c.Type, b) {
				return errNotFinite("label", c.Name)
			}
			n[string(b)]++ // no allocation where the key is known
			if len(n) > maxDistinct {
				return errManyCategories(c.Name)
			}
		}
		st.Nulls = nulls
		st.Cats = countCats(n)
		if c.Role == Label && len(st.Cats) > MaxClasses {
			return errManyClasses(c.Name)
		}
	}
	if c.Role == Label && st.Nulls > 0 {
		return errLabelNull(c.Name)
	}
	return nil
}

func badFloat(t types.Type, key []byte) bool {
	v := keyNumber(t, key)
	return v-v != 0
}

// numbers reads a column once, in chunks around its first value.
func (s *Spec) numbers(v *dataset.View, i int, c *Col, st *ColStats, extremes, sketch bool) error {
	var buf, kept [chunkRows]float64
	var acc f64.MomentAcc
	var sample []float64
	var nulls, count int64
	num := &NumberStats{}
	var shift float64
	have := 0 // values of kept not yet added: a multiple of the lanes is added at a time
	for from := 0; from < v.Rows; from += chunkRows {
		vals := buf[:min(chunkRows, v.Rows-from)]
		n := readNumbers(v, c.Type, i, from, vals)
		if n > 0 { // close the gaps
			nulls += int64(n)
			k := 0
			for j, x := range vals {
				if !v.Null(i, from+j) {
					vals[k] = x
					k++
				}
			}
			vals = vals[:k]
		}
		if len(vals) == 0 {
			continue
		}
		if count == 0 {
			shift = vals[0]
			num.Min, num.Max = vals[0], vals[0]
		}
		count += int64(len(vals))
		if extremes {
			for _, x := range vals {
				num.Min, num.Max = math.Min(num.Min, x), math.Max(num.Max, x)
			}
		}
		if sketch {
			sample = append(sample, vals...)
		}
		for len(vals) > 0 {
			if have == 0 && len(vals) == chunkRows {
				f64.Moments(vals, shift, &acc)
				break
			}
			k := copy(kept[have:], vals)
			vals = vals[k:]
			if have += k; have == chunkRows {
				f64.Moments(kept[:], shift, &acc)
				have = 0
			}
		}
	}
	f64.Moments(kept[:have], shift, &acc)
	num.finish(count, shift, &acc)
	if num.M2-num.M2 != 0 || num.Mean-num.Mean != 0 {
		what := "feature"
		if c.Role == Label {
			what = "label"
		}
		return errNotFinite(what, c.Name)
	}
	st.Number, st.Nulls = num, nulls
	if sketch {
		st.Sketch = sketchOf(sample)
	}
	return nil
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

func arrays(v *dataset.View, i int, c *Col, st *ColStats) error {
	var vals []float64
	var acc []f64.MomentAcc
	var shift []float64
	var count int64
	for r := range v.Rows {
		var ok bool
		if vals, ok = v.Array(i, r, vals[:0]); !ok {
			st.Nulls++
			continue
		}
		if count == 0 {
			acc, shift = make([]f64.MomentAcc, len(vals)), append(shift, vals...)
			st.Elems = make([]NumberStats, len(vals))
		}
		if len(vals) != len(acc) {
			return errArrayLength(c.Name, len(acc), len(vals))
		}
		l := int(count % f64.Lanes)
		for j, x := range vals {
			d := x - shift[j]
			acc[j].S1[l] += d
			acc[j].S2[l] = f64.FMA(d, d, acc[j].S2[l])
		}
		count++
	}
	for j := range acc {
		e := &st.Elems[j]
		e.finish(count, shift[j], &acc[j])
		if e.M2-e.M2 != 0 || e.Mean-e.Mean != 0 {
			return errNotFinite("feature", c.Name)
		}
	}
	return nil
}
