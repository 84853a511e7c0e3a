package feature

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
)

// sketchSize is how many intervals a Sketch has at most.
const sketchSize = 4096

// Sketch is a histogram from which quantiles are estimated. A number's rank is its
// bits as an integer, so arranged that ranks are ordered as numbers are; an
// interval holds the numbers whose ranks are equal but for the low bits. low is the
// least number of bits with which at most sketchSize intervals are not empty. It
// depends on the set of numbers alone, and weights are exact sums, so the sketch is
// the same whatever the order of the numbers and however they are divided into
// leaves, which does not hold for Greenwald and Khanna's summary or a t-digest. Up
// to sketchSize different numbers have an interval each, and quantiles are exact.
type Sketch struct {
	low   uint // bits of ranks that do not count
	items []interval
}

// interval is the numbers whose ranks begin with at.
type interval struct {
	at uint64
	w  mass
}

// rankOf returns the rank of a number.
func rankOf(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 is 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// Ranks of the least and the greatest number.
var leastRank, greatestRank = rankOf(-math.MaxFloat64), rankOf(math.MaxFloat64)

func ofRank(r uint64) float64 {
	if r>>63 != 0 {
		return math.Float64frombits(r &^ (1 << 63))
	}
	return math.Float64frombits(^r)
}

// sketchOf returns the sketch of numbers, w being their weights or nil for 1 each. It overwrites
// both.
func sketchOf(vals, w []float64) Sketch {
	items := make([]interval, len(vals))
	for i, v := range vals {
		items[i] = interval{rankOf(v), mass{n: 1}}
		if w != nil {
			items[i].w.sum = &exact.Sum{}
			items[i].w.sum.Add(w[i])
		}
	}
	slices.SortFunc(items, func(a, b interval) int { return cmp.Compare(a.at, b.at) })
	return Sketch{0, items}.cut()
}

// merge returns the sketch of both; neither is changed.
func (s Sketch) merge(o Sketch) Sketch {
	if len(o.items) == 0 {
		return s
	}
	if len(s.items) == 0 {
		return o
	}
	out := Sketch{max(s.low, o.low), make([]interval, 0, len(s.items)+len(o.items))}
	for _, from := range []Sketch{s, o} {
		for _, it := range from.items {
			out.items = append(out.items, interval{it.at >> (out.low - from.low), it.w})
		}
	}
	slices.SortStableFunc(out.items, func(a, b interval) int { return cmp.Compare(a.at, b.at) })
	return out.cut()
}

// cut merges neighbours of equal rank, and drops as many low bits as are needed for
// at most sketchSize intervals. It overwrites s's items.
func (s Sketch) cut() Sketch {
	var apart [65]int // by number of further bits: pairs of neighbours that dropping so many would merge
	for i := range s.items {
		if i > 0 {
			apart[bits.Len64(s.items[i].at^s.items[i-1].at)]++
		}
	}
	more, left := uint(len(apart)-1), 1
	for more > 0 && left+apart[more] <= sketchSize {
		left += apart[more]
		more--
	}
	out := s.items[:0]
	for _, it := range s.items {
		it.at >>= more
		if n := len(out); n > 0 && out[n-1].at == it.at {
			out[n-1].w = out[n-1].w.with(it.w)
		} else {
			out = append(out, it)
		}
	}
	return Sketch{s.low + more, slices.Clip(slices.Clone(out))}
}

// Quantile returns the least number that has at least the share q of the weight at or
// below it, the mean of two where that is a tie, as medians are taken; within an
// interval of several numbers as if they lay evenly in it.
func (s Sketch) Quantile(q float64) float64 {
	var total float64
	for _, it := range s.items {
		total += it.w.Value()
	}
	want, w := float64(q*total), 0.0
	for i, it := range s.items {
		here := it.w.Value()
		last := i+1 == len(s.items)
		low, high := ofRank(max(it.at<<s.low, leastRank)), ofRank(min(it.at<<s.low|(1<<s.low-1), greatestRank))
		switch {
		case w+here == want && !last && s.low == 0:
			return float64(0.5*low) + float64(0.5*ofRank(s.items[i+1].at))
		case w+here >= want || last:
			if s.low > 0 {
				low += float64((high - low) * min(max((want-w)/here, 0), 1))
			}
			return low
		}
		w += here
	}
	return 0
}

func (s Sketch) encode(e *canon.E) {
	e.U8(uint8(s.low))
	e.U32(uint32(len(s.items)))
	for _, it := range s.items {
		e.U64(it.at)
		it.w.encode(e)
	}
}

func decodeSketch(d *canon.D) Sketch {
	s := Sketch{low: uint(d.U8())}
	for range d.Count(17) {
		s.items = append(s.items, interval{d.U64(), decodeMass(d)})
	}
	if s.low > 63 || len(s.items) > sketchSize {
		d.Fail()
	}
	return s
}
