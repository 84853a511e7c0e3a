package feature

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Target encoding replaces a category by the mean of the target over its rows, drawn
// towards the mean over all rows the fewer they are (Micci-Barreca, "A preprocessing scheme
// for high-cardinality categorical attributes", 2001), with the formulas of scikit-learn's
// TargetEncoder. Of several classes there is a number each, the share of the class.
//
// A mean over rows that a model is then trained on tells it their targets: a category of one row
// is its target. So training rows are divided into folds, and a row's number is computed of
// the other folds. Predictions and rows held out use the means over all training rows.
//
//	record ─▶ fold    by the row's hash; its copies go to the folds in turn
//	(category, fold, class) ─▶ sums of weights and targets, exact
//	sums ─▶ a table over all folds: the model's; a table without each fold: for training alone
const (
	targetFolds = 5
	// maxTargetSums bounds a column's sums by category, fold and class, and its categories times classes.
	maxTargetSums = 1 << 20
)

// OutOfFold reports whether rows are encoded by the targets of other rows. Copies of a row must lie
// together then, so that they can be divided.
func (s *Spec) OutOfFold() bool {
	return slices.ContainsFunc(s.Cols, func(c Col) bool { return c.Role == Feature && c.Encoder == TargetEncode })
}

// checkTarget returns an error where there is no target to encode by.
func checkTarget(s *Spec) error {
	switch {
	case s.LabelCol() < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "ml.target_encode needs a target, and the model has none").
			WithHint("Encode the column by ml.one_hot_encoder or ml.hash_bucketize.")
	case s.EventCol() >= 0:
		return pgerr.Unsupported("ml.target_encode does not go with durations")
	case s.Targets() != nil:
		return pgerr.Unsupported("ml.target_encode does not go with several targets").WithHint("Train a model for each target.")
	}
	return nil
}

// smooth is the weight of the mean over all rows, in rows; negative for that which the data suggest.
func (c *Col) smooth() float64 {
	if len(c.Boundaries) > 0 {
		return c.Boundaries[0]
	}
	return -1
}

// targetSums are the sums of a number's weighted values and squares.
type targetSums [2]exact.Sum

func (t *targetSums) add(w, y float64) {
	t[0].AddProduct(w, y)
	p := w * y
	t[1].AddProduct(p, y)
	if rest := math.FMA(w, y, -p); rest-rest == 0 {
		t[1].Add(rest * y)
	}
}

// with is the sums of both; nil is none.
func (t *targetSums) with(o *targetSums) *targetSums {
	if t == nil || o == nil {
		return t
	}
	both := *t
	both[0].Merge(&o[0])
	both[1].Merge(&o[1])
	return &both
}

// targetCounter collects a column's sums.
type targetCounter struct {
	label   int
	classes bool
	folds   []uint8 // by row
	counter catCounter
	sums    []targetSums // by the counter's numbers, of a number
	key     []byte
}

// A key of the sums is the category, of a known length, its fold and the class.

// appendCategory begins a key.
func appendCategory(key, category []byte) []byte {
	if category == nil {
		return append(key, 0)
	}
	return append(binary.AppendUvarint(key, uint64(len(category))+1), category...)
}

// splitTargetKey takes a key apart; category is nil for NULL.
func splitTargetKey(key string) (category []byte, fold int, class string) {
	b := []byte(key)
	n, size := binary.Uvarint(b)
	if b = b[max(size, 0):]; n > 0 && n-1 < uint64(len(b)) {
		category, b = b[:n-1:n-1], b[n-1:]
	}
	if len(b) == 0 || b[0] >= targetFolds {
		return category, 0, ""
	}
	return category, int(b[0]), string(b[1:])
}

// add adds rows [from, from+n) of weights w, nil for 1 each.
func (t *targetCounter) add(c *Col, v *record.View, i, from, n int, w []float64) error {
	var y [chunkRows]float64
	if !t.classes {
		v.Numbers(t.label, from, y[:n])
	}
	for r := range n {
		weight := 1.0
		if w != nil {
			weight = w[r]
		}
		class := []byte(nil)
		if t.classes {
			class = v.Bytes(t.label, from+r)
		}
		if weight == 0 || t.classes && class == nil || y[r]-y[r] != 0 {
			continue // the label's own collector returns the error
		}
		t.key = append(appendCategory(t.key[:0], v.Bytes(i, from+r)), t.folds[from+r])
		t.key = append(t.key, class...)
		k := t.counter.slot(t.key)
		hits := &t.counter.hits[k]
		hits.n++
		hits.w.add(weight, w != nil)
		if t.classes {
			continue
		}
		if int(k) == len(t.sums) {
			t.sums = append(t.sums, targetSums{})
		}
		t.sums[k].add(weight, y[r])
	}
	if len(t.counter.List) > maxTargetSums {
		return errManyTargets(c.Name)
	}
	return nil
}

// list returns the sums, ascending by key.
func (t *targetCounter) list() []CatCount {
	out := t.counter.list()
	if t.classes {
		return out
	}
	for i := range out {
		out[i].Y = &t.sums[t.counter.Find([]byte(out[i].Key))]
	}
	return out
}

// targetGroup is the sums of a category, or of all rows.
type targetGroup []targetPart

// targetPart is those of a fold, and of a class.
type targetPart struct {
	fold, class int
	w           mass
	y           *targetSums // of a number
}

// moments are the weight of rows, the sum of a number of each, and the sum of its squared deviations from
// its mean.
type moments struct{ weight, sum, spread float64 }

// without returns the moments without a fold, of no fold for -1: of a target that is a number, or of
// what is 1 for the rows of a class and otherwise 0.
func (g targetGroup) without(fold, class int, spread bool) (m moments) {
	var all, here mass
	y := &targetSums{}
	for _, p := range g {
		if p.fold == fold {
			continue
		}
		if all = all.with(p.w); p.class == class {
			here = here.with(p.w)
		}
		if p.y != nil {
			y = y.with(p.y)
		}
	}
	if m.weight = all.Value(); !(m.weight > 0) {
		return moments{}
	}
	if class >= 0 {
		m.sum = here.Value()
		m.spread = max(m.sum-float64(m.sum*m.sum)/m.weight, 0)
		return m
	}
	switch m.sum = y[0].Value(); {
	case spread && !y[1].Finite():
		m.spread = math.Inf(1)
	case spread:
		sum := y[0].Big()
		square := new(big.Float).SetPrec(512).Mul(sum, sum)
		m.spread, _ = y[1].Big().Sub(y[1].Big(), square.Quo(square, big.NewFloat(m.weight))).Float64()
		m.spread = max(m.spread, 0)
	}
	return m
}

// mean is the mean of own drawn towards that of all.
func (own moments) mean(all moments, smooth float64) float64 {
	if !(all.weight > 0) {
		return 0
	}
	mean := all.sum / all.weight
	switch {
	case !(own.weight > 0):
		return mean
	case smooth >= 0:
		return (own.sum + float64(smooth*mean)) / (own.weight + smooth)
	}
	// The share of the category's own mean is such that its expected error is least where the means of categories are
	// normally distributed (Micci-Barreca, section 3.2).
	of := float64(all.spread / all.weight * own.weight)
	share := of / (of + own.spread/own.weight)
	if share != share { // neither varies
		return mean
	}
	return float64(share*(own.sum/own.weight)) + float64((1-share)*mean)
}

// fitTarget computes the tables of a column: first the numbers of what has no category, then those of each
// category.
func (f *Fitted) fitTarget(c *Col, fc *FitCol, cs *ColStats, standardize bool) error {
	fc.Dim = 1
	if len(f.Keys) > 2 {
		fc.Dim = len(f.Keys)
	}
	if len(fc.Cats) > maxTargetSums/fc.Dim { // of few rows there are more such numbers than sums
		return errManyTargets(c.Name)
	}
	classes := newFinder(f.Keys)
	most := max(len(f.Keys), 1)
	all := make(targetGroup, targetFolds*most)
	for i := range all {
		all[i].fold, all[i].class = i/most, i%most
	}
	groups := make([]targetGroup, len(fc.Cats))
	known := fc.known()
	for i := range cs.Target {
		t := &cs.Target[i]
		category, fold, class := splitTargetKey(t.Key)
		k := 0
		if f.Keys != nil {
			if k = int(classes.find([]byte(class))); k < 0 {
				continue
			}
		}
		sum := &all[fold*most+k]
		if sum.w = sum.w.with(t.W); sum.y == nil {
			sum.y = t.Y
		} else {
			sum.y = sum.y.with(t.Y)
		}
		if at := known.find(category); category != nil && at >= 0 {
			groups[at] = append(groups[at], targetPart{fold, k, t.W, t.Y})
		}
	}
	smooth := c.smooth()
	table := func(fold int) []float64 {
		out := make([]float64, fc.Dim*(len(groups)+1))
		for j := range fc.Dim {
			class := j
			switch {
			case f.Keys == nil:
				class = -1
			case fc.Dim == 1:
				class = 1 // of two
			}
			whole := all.without(fold, class, smooth < 0)
			if !(whole.weight > 0) { // all rows are of one fold
				whole = all.without(-1, class, smooth < 0)
			}
			out[j] = moments{}.mean(whole, smooth)
			for at, g := range groups {
				out[(at+1)*fc.Dim+j] = g.without(fold, class, smooth < 0).mean(whole, smooth)
			}
		}
		return out
	}
	fc.Bounds = table(-1)
	for k := range targetFolds {
		fc.folds = append(fc.folds, table(k))
	}
	if standardize {
		weights := make([]float64, len(groups))
		for at, g := range groups {
			weights[at] = g.without(-1, -1, false).weight
		}
		fc.standardizeTable(weights, all.without(-1, -1, false).weight)
	}
	return nil
}

// standardizeTable sets center and scale to the mean and deviation over the rows, whose weights by category and in
// all are given.
func (c *FitCol) standardizeTable(weights []float64, total float64) {
	for j := range c.Dim {
		over := func(of func(v float64) float64) float64 {
			sum, rest := 0.0, total
			for k, w := range weights {
				sum += float64(w * of(c.Bounds[(k+1)*c.Dim+j]))
				rest -= w
			}
			return (sum + float64(max(rest, 0)*of(c.Bounds[j]))) / total
		}
		mean := over(func(v float64) float64 { return v })
		dev := math.Sqrt(over(func(v float64) float64 { return float64((v - mean) * (v - mean)) }))
		if !(dev > 0) {
			dev = 1
		}
		c.Center, c.Scale = append(c.Center, mean), append(c.Scale, dev)
	}
}

// EncodeFolds writes what training needs beside the canonical bytes.
func (f *Fitted) EncodeFolds(e *canon.E) {
	for i := range f.Cols {
		if f.Cols[i].Encoder == TargetEncode {
			for k := range targetFolds {
				e.F64s(f.Cols[i].folds[k])
			}
		}
	}
}

// DecodeFolds reads what EncodeFolds wrote.
func (f *Fitted) DecodeFolds(d *canon.D) {
	for i := range f.Cols {
		c := &f.Cols[i]
		if c.Encoder != TargetEncode {
			continue
		}
		for range targetFolds {
			of := d.F64s()
			if len(of) != len(c.Bounds) {
				d.Fail()
			}
			c.folds = append(c.folds, of)
		}
	}
}

// HasFolds reports whether training rows are encoded otherwise than rows to predict.
func (f *Fitted) HasFolds() bool {
	return slices.ContainsFunc(f.Cols, func(c FitCol) bool { return c.folds != nil })
}

// OutOfFold reports whether training rows have other numbers than the same rows have later.
func (c *FitCol) OutOfFold() bool { return c.Encoder == TargetEncode }

// folded is rows to train on, which have folds.
type folded struct {
	*record.View
	folds []uint8
}

// target writes the numbers of categories.
func (w *writer) target(c *FitCol, src source, col, dense int) func(from, to int) {
	find := c.finder()
	at := func(i int) int32 { return find(src.Bytes(col, i)) }
	if d, ok := src.(coded); ok {
		at = d.codes(col, find)
	}
	rows, _ := src.(*folded)
	return func(from, to int) {
		for i := from; i < to; i++ {
			table := c.Bounds
			if rows != nil {
				table = c.folds[rows.folds[i]]
			}
			k := int(at(i)+1) * c.Dim
			for j, v := range table[k : k+c.Dim] {
				w.b.Set(i, dense+j, c.scaled(j, v))
			}
		}
	}
}

// Numbers are what a TargetEncode gives: Dim of no category, then of each.
func (c *FitCol) Numbers() []float64 {
	out := make([]float64, len(c.Bounds))
	for i, v := range c.Bounds {
		out[i] = c.scaled(i%c.Dim, v)
	}
	return out
}

// scaled is a number after the encoder's center and scale, if it has them.
func (c *FitCol) scaled(j int, v float64) float64 {
	if len(c.Center) == 0 {
		return v
	}
	return (v - c.Center[j]) / c.Scale[j]
}
