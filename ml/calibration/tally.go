package calibration

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Cell is the rows with about one score.
type Cell struct {
	Key    int64
	Weight float64
	Of     float64 // the weight of those of the class
}

// Tally is what a calibration is fitted to: of a regression one list, of the sizes of errors; of two classes one, by the
// score of the second; of more one for each class. Weights must be such that their sums are exact.
type Tally struct {
	Rows  int64 // with a weight
	Lists []map[int64]*Cell
}

// Scores are counted in steps of log-odds. Beyond mostOdds, probabilities of less than a millionth, they are the same.
const mostOdds = 13.815509557963773 // of 1 - 1e-6

// perUnit is the number of steps, of so many lists, which must find room in memory.
func perUnit(lists int) float64 {
	if lists > 16 {
		return 32
	}
	return 512
}

// TallyBytes is about the most memory of a tally of a model with so many classes, 0 for one of numbers.
func TallyBytes(classes int) int64 {
	const cell = 80
	switch {
	case classes == 0:
		return cell << 15
	case classes == 2:
		classes = 1
	}
	return int64(float64(classes) * cell * (2*mostOdds*perUnit(classes) + 2))
}

// odds returns the log-odds of a probability.
func odds(p float64) float64 {
	if !(p > 1e-6) {
		return -mostOdds
	}
	if p >= 1-1e-6 {
		return mostOdds
	}
	return f64.Log1(p / (1 - p))
}

// Sizes of errors are told apart by their highest bits: to a 4096th.
const errorShift = 40

// Add adds rows: their labels, weights that are above 0 where they count, and scores.
func (t *Tally) Add(y, w []float64, s *family.Scores) {
	lists := 1
	if len(s.Probs) > 2 {
		lists = len(s.Probs)
	}
	for len(t.Lists) < lists {
		t.Lists = append(t.Lists, map[int64]*Cell{})
	}
	steps := perUnit(lists)
	for i, weight := range w {
		if !(weight > 0) {
			continue
		}
		t.Rows++
		if s.Probs == nil {
			t.put(0, int64(math.Float64bits(math.Abs(y[i]-s.Value[i]))>>errorShift), weight, 0)
			continue
		}
		for k := range lists {
			class := k
			if lists == 1 {
				class = 1
			}
			of := 0.0
			if int(y[i]) == class {
				of = weight
			}
			t.put(k, int64(math.RoundToEven(odds(s.Prob(class, i))*steps)), weight, of)
		}
	}
}

func (t *Tally) put(list int, key int64, weight, of float64) {
	c := t.Lists[list][key]
	if c == nil {
		c = &Cell{Key: key}
		t.Lists[list][key] = c
	}
	c.Weight, c.Of = c.Weight+weight, c.Of+of
}

// Merge adds other rows.
func (t *Tally) Merge(o *Tally) {
	t.Rows += o.Rows
	for k := range o.Lists {
		if k == len(t.Lists) {
			t.Lists = append(t.Lists, map[int64]*Cell{})
		}
		for _, c := range o.Lists[k] {
			t.put(k, c.Key, c.Weight, c.Of)
		}
	}
}

// cells returns a list, ascending.
func (t *Tally) cells(list int) []*Cell {
	if list >= len(t.Lists) {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.Lists[list]), func(a, b *Cell) int { return cmp.Compare(a.Key, b.Key) })
}

// Encode writes what DecodeTally reads.
func (t *Tally) Encode(e *canon.E) {
	e.I64(t.Rows)
	e.U32(uint32(len(t.Lists)))
	for k := range t.Lists {
		cells := t.cells(k)
		e.U32(uint32(len(cells)))
		for _, c := range cells {
			e.I64(c.Key)
			e.F64(c.Weight)
			e.F64(c.Of)
		}
	}
}

// DecodeTally reads what Encode wrote.
func DecodeTally(d *canon.D) *Tally {
	t := &Tally{Rows: d.I64()}
	for range d.Count(4) {
		list := map[int64]*Cell{}
		for range d.Count(24) {
			c := &Cell{d.I64(), d.F64(), d.F64()}
			list[c.Key] = c
		}
		t.Lists = append(t.Lists, list)
	}
	return t
}
