package agg

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/types"
)

// metric computes the measures of predictions. The definitions are
// scikit-learn's (User Guide 3.4); precision, recall and F1 of two classes are
// of the positive one (the greater), of more classes the mean over classes
// weighted by their rows.
func (c *collect) metric(rows []types.Row) (types.Datum, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	n := float64(len(rows))
	switch c.call.Fn.Name {
	case "accuracy":
		hits := 0
		for _, r := range rows {
			if types.Compare(c.args[0], r[0], r[1]) == 0 {
				hits++
			}
		}
		return float64(hits) / n, nil
	case "precision_score", "recall_score", "f1_score":
		return c.byClass(rows), nil
	case "roc_auc":
		return c.rocAUC(rows), nil
	case "log_loss":
		return c.logLoss(rows), nil
	}
	var abs, sq, sum, tot exact
	for _, r := range rows {
		y, p := r[0].(float64), r[1].(float64)
		abs.add(math.Abs(y - p))
		sq.add((y - p) * (y - p))
		sum.add(y)
	}
	switch c.call.Fn.Name {
	case "mean_absolute_error":
		return abs.value() / n, nil
	case "root_mean_squared_error":
		return math.Sqrt(sq.value() / n), nil
	}
	mean := sum.value() / n
	for _, r := range rows {
		d := r[0].(float64) - mean
		tot.add(d * d)
	}
	switch {
	case tot.value() > 0:
		return 1 - sq.value()/tot.value(), nil
	case sq.value() == 0:
		return 1.0, nil
	}
	return 0.0, nil
}

// classes lists the labels that occur, in order.
func (c *collect) classes(rows []types.Row, cols ...int) []types.Datum {
	var out []types.Datum
	for _, r := range rows {
		for _, k := range cols {
			out = append(out, r[k])
		}
	}
	slices.SortFunc(out, func(a, b types.Datum) int { return types.Compare(c.args[0], a, b) })
	return slices.CompactFunc(out, func(a, b types.Datum) bool { return types.Compare(c.args[0], a, b) == 0 })
}

func (c *collect) byClass(rows []types.Row) types.Datum {
	labels := c.classes(rows, 0, 1)
	index := func(d types.Datum) int {
		i, _ := slices.BinarySearchFunc(labels, d, func(a, b types.Datum) int { return types.Compare(c.args[0], a, b) })
		return i
	}
	tp, pred, real := make([]float64, len(labels)), make([]float64, len(labels)), make([]float64, len(labels))
	for _, r := range rows {
		y, p := index(r[0]), index(r[1])
		real[y]++
		pred[p]++
		if y == p {
			tp[y]++
		}
	}
	score := func(i int) float64 {
		var p, r float64
		if pred[i] > 0 {
			p = tp[i] / pred[i]
		}
		if real[i] > 0 {
			r = tp[i] / real[i]
		}
		switch c.call.Fn.Name {
		case "precision_score":
			return p
		case "recall_score":
			return r
		}
		if p+r == 0 {
			return 0
		}
		return 2 * p * r / (p + r)
	}
	if len(labels) <= 2 {
		return score(len(labels) - 1)
	}
	var s float64
	for i := range labels {
		s += score(i) * real[i]
	}
	return s / float64(len(rows))
}

// rocAUC is the Mann-Whitney statistic, ties counting half.
func (c *collect) rocAUC(rows []types.Row) types.Datum {
	labels := c.classes(rows, 0)
	if len(labels) != 2 {
		return nil
	}
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b types.Row) int { return cmp.Compare(a[1].(float64), b[1].(float64)) })
	var pos, neg, below, area float64
	for i := 0; i < len(sorted); {
		j := i
		var p, n float64
		for j < len(sorted) && sorted[j][1].(float64) == sorted[i][1].(float64) {
			if types.Compare(c.args[0], sorted[j][0], labels[1]) == 0 {
				p++
			} else {
				n++
			}
			j++
		}
		area += p * (below + n/2)
		below += n
		pos += p
		neg += n
		i = j
	}
	return area / (pos * neg)
}

func (c *collect) logLoss(rows []types.Row) types.Datum {
	labels := c.classes(rows, 0)
	if len(labels) > 2 {
		return nil
	}
	const eps = 2.220446049250313e-16
	// With one class present, 0, false and "" are negative, all else positive.
	positive := labels[len(labels)-1]
	if len(labels) == 1 {
		switch labels[0] {
		case int64(0), 0.0, false, "":
			positive = nil
		}
	}
	var s exact
	for _, r := range rows {
		p := min(max(r[1].(float64), eps), 1-eps)
		if positive != nil && types.Compare(c.args[0], r[0], positive) == 0 {
			s.add(-math.Log(p))
		} else {
			s.add(-math.Log1p(-p))
		}
	}
	return s.value() / float64(len(rows))
}
