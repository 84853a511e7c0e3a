package feature

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
)

// sketchSize is the number of distinct values up to which a Sketch is exact,
// and the number of values it is cut down to beyond that.
const (
	sketchExact = 8192
	sketchSize  = 4096
)

// Sketch is a weighted sample that knows the quantiles of many values: exactly
// while there are few distinct ones, else to about one part in sketchSize for
// every level of merging. It makes no random choice.
type Sketch []sketchItem

type sketchItem struct{ V, W float64 }

// sketchOf takes values, w their weights or nil for 1 each. It sorts vals in
// place where there are no weights.
func sketchOf(vals, w []float64) Sketch {
	var s Sketch
	if w != nil {
		for i, v := range vals {
			s = append(s, sketchItem{v, w[i]})
		}
		return s.settle()
	}
	slices.Sort(vals)
	for _, v := range vals {
		if n := len(s); n > 0 && s[n-1].V == v {
			s[n-1].W++
		} else {
			s = append(s, sketchItem{v, 1})
		}
	}
	return s.cut()
}

// settle sorts the items in place, puts equal values together and cuts.
func (s Sketch) settle() Sketch {
	if len(s) == 0 {
		return nil
	}
	slices.SortStableFunc(s, func(a, b sketchItem) int { return cmp.Compare(a.V, b.V) })
	out := s[:1]
	for _, it := range s[1:] {
		if n := len(out) - 1; out[n].V == it.V {
			out[n].W += it.W
		} else {
			out = append(out, it)
		}
	}
	return out.cut()
}

// merge gives the sketch of both; neither is changed.
func (s Sketch) merge(o Sketch) Sketch {
	if len(o) == 0 {
		return s
	}
	if len(s) == 0 {
		return o
	}
	return append(slices.Clone(s), o...).settle()
}

// cut brings a sketch that grew beyond what is kept exactly down to size:
// neighbours are put together up to an equal share of the weight, under the
// value in the middle. The ends stay.
func (s Sketch) cut() Sketch {
	if len(s) <= sketchExact {
		return s
	}
	share := s.total() / sketchSize
	out := Sketch{s[0]}
	var w float64
	from := 1
	for i := 1; i < len(s)-1; i++ {
		w += s[i].W
		if w >= share || i == len(s)-2 {
			out = append(out, sketchItem{s[(from+i)/2].V, w})
			w, from = 0, i+1
		}
	}
	return append(out, s[len(s)-1])
}

func (s Sketch) total() (w float64) {
	for _, it := range s {
		w += it.W
	}
	return w
}

// Quantile gives the least value that has at least the share q of the weight at
// or below it, the mean of two where that is a tie, as medians are taken.
func (s Sketch) Quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	want := float64(q * s.total())
	var w float64
	for i, it := range s {
		w += it.W
		if w == want && i+1 < len(s) {
			return float64(0.5*it.V) + float64(0.5*s[i+1].V)
		}
		if w >= want {
			return it.V
		}
	}
	return s[len(s)-1].V
}

func (s Sketch) encode(e *canon.E) {
	e.U32(uint32(len(s)))
	for _, it := range s {
		e.F64(it.V)
		e.F64(it.W)
	}
}

func decodeSketch(d *canon.D) Sketch {
	var s Sketch
	for range d.Count(16) {
		s = append(s, sketchItem{d.F64(), d.F64()})
	}
	return s
}
