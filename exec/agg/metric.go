package agg

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/sql/types"
)

// The metrics of predictions, by scikit-learn's definitions (User Guide 3.4).
// A row with a NULL among its arguments does not count.
//
//	errorSums   sums                              mean_absolute_error, root_mean_squared_error, r2_score
//	errorTotals sums                              ml_regression
//	confusion   rows by (label, prediction)       accuracy, precision_score, recall_score, f1_score,
//	                                              balanced_accuracy, matthews_corrcoef, ml_classification
//	ranked      scores by label                   roc_auc, average_precision
//	logLoss     sums by label                     log_loss, brier_score
//	classLoss   sums                              log_loss of classes, top_k_accuracy
//	rowLoss     a sum, the greatest               mean_squared_error, mean_absolute_percentage_error, mean_pinball_loss, max_error
//	medianError errors                            median_absolute_error
func metricOf(name string, args []types.Type) Agg {
	switch name {
	case "mean_absolute_error", "root_mean_squared_error", "r2_score":
		return &errorSums{fn: name}
	case "ml_regression":
		return &errorTotals{}
	case "mean_squared_error", "mean_absolute_percentage_error", "max_error", "mean_pinball_loss":
		return &rowLoss{loss: rowLosses[name], most: name == "max_error"}
	case "median_absolute_error":
		return newMedianError()
	case "accuracy", "precision_score", "recall_score", "f1_score", "balanced_accuracy", "matthews_corrcoef", "ml_classification":
		return &confusion{fn: name, ofLabels: labelsOf(args[0])}
	case "top_k_accuracy":
		return &classLoss{ofLabels: labelsOf(args[0]), top: true}
	case "roc_auc", "average_precision":
		r := &ranked{precision: name == "average_precision"}
		r.ofLabels = labelsOf(args[0])
		return r
	case "log_loss", "brier_score":
		if len(args) == 3 {
			return &classLoss{ofLabels: labelsOf(args[0]), binary: args[1].OID == types.Float8OID}
		}
		l := &logLoss{square: name == "brier_score"}
		l.ofLabels = labelsOf(args[0])
		return l
	}
	return nil
}

// errorSums keeps the sums of a regression's errors.
type errorSums struct {
	fn string
	s  []residuals
}

// residuals are Σ|y−p|, Σ(y−p)², Σy and Σy².
type residuals struct{ abs, sq, y, yy exact.Sum }

func (r *residuals) parts() [4]*exact.Sum { return [4]*exact.Sum{&r.abs, &r.sq, &r.y, &r.yy} }

func (e *errorSums) Resize(groups int) { e.s = grown(e.s, groups) }

func (e *errorSums) Update(groups []uint32, args []arrow.Array) error {
	y, p := args[0].(*array.Float64), args[1].(*array.Float64)
	for i, g := range groups {
		if y.IsNull(i) || p.IsNull(i) {
			continue
		}
		s, t := &e.s[g], y.Value(i)
		d := t - p.Value(i)
		s.abs.Add(math.Abs(d))
		if e.fn != "mean_absolute_error" {
			s.sq.Add(d * d)
		}
		if e.fn == "r2_score" {
			s.y.Add(t)
			s.yy.AddProduct(t, t)
		}
	}
	return nil
}

func (e *errorSums) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Sum
	for g, b := range stored(groups, states) {
		if len(b) != 4*exact.Bytes {
			return badState()
		}
		for k, to := range e.s[g].parts() {
			one.Decode(b[k*exact.Bytes:])
			to.Merge(&one)
		}
	}
	return nil
}

func (e *errorSums) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for _, s := range e.s[g].parts() {
			dst = s.Append(dst)
		}
		return dst, true
	}), nil
}

func (e *errorSums) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		s := &e.s[g]
		if s.abs.N() == 0 {
			return nil, nil
		}
		return metric.RegressionMetric(e.fn, float64(s.abs.N()), s.abs.Value(), s.sq.Value(), 0, func() float64 { return exact.Spread(&s.yy, &s.y, &s.y) }), nil
	})
}

func (e *errorSums) Bytes() int64 { return int64(cap(e.s)) * 4 * exact.Bytes }

// confusion keeps each group's confusion matrix.
type confusion struct {
	fn string
	ofLabels
	cells []metric.Matrix
	bytes int64
	// positive is the positive one of two classes, where a third argument names it: its number + 1.
	positive uint32
}

func (c *confusion) Resize(groups int) {
	c.cells = grown(c.cells, groups)
}

func (c *confusion) add(g uint32, cell [2]uint32, n int64) {
	m := &c.cells[g]
	was := m.Bytes()
	m.Add(cell[0], cell[1], float64(n))
	c.bytes += m.Bytes() - was
}

func (c *confusion) Update(groups []uint32, args []arrow.Array) error {
	if len(groups) > 0 && same(groups) {
		return c.UpdateList(groups[0], nil, len(groups), args)
	}
	label, got := c.truth(args[0]), c.rows(args[1])
	c.named(args)
	nulls := args[0].NullN()+args[1].NullN() > 0
	for i, g := range groups {
		if !nulls || !args[0].IsNull(i) && !args[1].IsNull(i) {
			c.add(g, [2]uint32{label[i], got[i]}, 1)
		}
	}
	return nil
}

// named notes the positive class, if there is an argument that names it, which is the same for all
// rows: what rows there are does not tell, as they may all be of one class.
func (c *confusion) named(args []arrow.Array) {
	for i := 0; len(args) == 3 && c.positive == 0 && i < args[2].Len(); i++ {
		if !args[2].IsNull(i) {
			c.positive = c.labels.of(args[2], i) + 1
		}
	}
}

// UpdateList implements Lister: of few labels, as mostly, without a map.
func (c *confusion) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	args = listed(rows, args)
	label, got := c.truth(args[0]), c.rows(args[1])
	c.named(args)
	nulls := args[0].NullN()+args[1].NullN() > 0
	if !nulls && c.ofTwo(g, label, got) {
		return nil
	}
	const few = 16
	var near [few * few]int64
	for i, a := range label {
		if nulls && (args[0].IsNull(i) || args[1].IsNull(i)) {
			continue
		}
		if b := got[i]; a < few && b < few {
			near[a*few+b]++
		} else {
			c.add(g, [2]uint32{a, b}, 1)
		}
	}
	for at, n := range near {
		if n > 0 {
			c.add(g, [2]uint32{uint32(at / few), uint32(at % few)}, n)
		}
	}
	return nil
}

// ofTwo adds rows of the first two labels; it returns false where there are others. The four cells
// are computed from sums: to add each row to its cell would wait for the store of the row before.
func (c *confusion) ofTwo(g uint32, label, got []uint32) bool {
	real, pred, both, ok := f64.CountTwo(label, got)
	if !ok {
		return false
	}
	for at, n := range [4]int64{int64(len(label)) - int64(real) - int64(pred) + int64(both), int64(pred) - int64(both), int64(real) - int64(both), int64(both)} {
		if n > 0 {
			c.add(g, [2]uint32{uint32(at / 2), uint32(at % 2)}, n)
		}
	}
	return true
}

// A state is a row after the other: both keys with their lengths, the count. The positive class
// is a row of none.
func (c *confusion) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		put := func(cell [2]uint32, n int64) {
			for _, id := range cell {
				dst = binary.AppendUvarint(dst, uint64(len(c.labels.keys[id])))
				dst = append(dst, c.labels.keys[id]...)
			}
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		for cell, n := range c.cells[g].Cells() {
			put(cell, int64(n))
		}
		if c.positive > 0 {
			put([2]uint32{c.positive - 1, c.positive - 1}, 0)
		}
		return dst, true
	}), nil
}

func (c *confusion) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		for b := state; len(b) > 0; {
			var cell [2]uint32
			for k := range cell {
				n, w := binary.Uvarint(b)
				if w <= 0 || n > uint64(len(b)-w) {
					return badState()
				}
				cell[k] = c.labels.number(b[w : w+int(n)])
				b = b[w+int(n):]
			}
			n, w := binary.Uvarint(b)
			if w <= 0 {
				return badState()
			}
			if b = b[w:]; n == 0 {
				c.positive = cell[0] + 1
				continue
			}
			c.add(g, cell, int64(n))
		}
	}
	return nil
}

func (c *confusion) Results(from, to int) (arrow.Array, error) {
	t := types.Float8
	if c.fn == "ml_classification" {
		t, _ = types.ArrayOf(t)
	}
	return datumColumn(t, from, to, func(g int) (types.Datum, error) {
		switch m := c.metrics(&c.cells[g]); {
		case m == nil:
			return nil, nil
		case c.fn == "ml_classification":
			out := types.Array{Elem: types.Float8}
			for _, v := range m {
				out.Elems = append(out.Elems, v)
			}
			return out, nil
		default:
			return m[slices.Index(classMeasures, c.fn)], nil
		}
	})
}

// metrics returns fn.ClassMetrics of a matrix, nil of one without rows. Precision, recall and F1
// are those of the positive class, if one is named; else of two classes those of the greater one,
// of more the plain mean over the classes ("macro" in scikit-learn), as a training's own metrics are.
// One class alone is the negative one if it is 0, false or "".
func (c *confusion) metrics(m *metric.Matrix) []float64 {
	s := m.Scores(func(a, b uint32) int { return cmp.Compare(c.labels.keys[a], c.labels.keys[b]) })
	if s.Rows == 0 {
		return nil
	}
	main, n := s.Macro, len(s.Classes)
	switch {
	case c.positive > 0:
		main = s.Of[c.positive-1]
	case n == 1 && c.labels.keys[s.Classes[0]] == c.labels.negative():
		main = metric.ClassScores{}
	case n == 2:
		main = s.Of[s.Classes[1]]
	}
	// Each row has one label and one prediction: micro averages are all the accuracy.
	micro := s.Accuracy
	return slices.Concat([]float64{micro}, main[:], s.Macro[:], []float64{micro, micro, micro}, s.Weighted[:], []float64{s.Balanced, s.Correlation})
}

// classMeasures are the aggregates of fn.ClassMetrics, "" for those that have none.
var classMeasures = []string{"accuracy", "precision_score", "recall_score", "f1_score", "", "", "", "", "", "", "", "", "", "balanced_accuracy", "matthews_corrcoef"}

func (c *confusion) Bytes() int64 { return c.bytes + c.labels.bytes + int64(cap(c.cells))*8 }
