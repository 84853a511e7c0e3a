package store

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Span is a run of rows of a segment, a group mostly, and the range of one column's
// values in it.
type Span struct {
	Segment  *catalog.Segment
	Ordinal  uint32
	From, To int64 // rows
	Min, Max int64 // Min is the greater one where all are NULL
	Nulls    bool  // there may be some
}

// Spans lists the runs of a snapshot's rows that keep (nil: all) does not exclude, in their order,
// with the bounds that zone maps have of an integer column: those of groups where the file can be
// read here, else the segment's. ok is false where they do not cover all rows.
func (p *Pin) Spans(ctx context.Context, m *catalog.Manifest, num int16, keep func(zones []catalog.Zone, rows int64) bool) (out []Span, ok bool) {
	if m == nil {
		return nil, true
	}
	ordinal := uint32(0)
	add := func(s *catalog.Segment, from, to int64, zones []catalog.Zone) bool {
		if keep != nil && !keep(zones, to-from) {
			return true
		}
		i := slices.IndexFunc(zones, func(z catalog.Zone) bool { return z.Column == num })
		if i < 0 {
			return false
		}
		z := &zones[i]
		sp := Span{Segment: s, Ordinal: ordinal, From: from, To: to, Nulls: z.Nulls > 0, Min: 1}
		if z.Nulls < to-from {
			lo, ok := z.Min.(int64)
			hi, ok2 := z.Max.(int64)
			if !ok || !ok2 {
				return false
			}
			sp.Min, sp.Max = lo, hi
		}
		out = append(out, sp)
		return true
	}
	for _, segs := range m.Partitions {
		for _, s := range segs {
			if s.Live() > 0 {
				if !p.spans(ctx, s, add) {
					return nil, false
				}
			}
			ordinal++
		}
	}
	return out, true
}

// spans adds the runs of a segment.
func (p *Pin) spans(ctx context.Context, s *catalog.Segment, add func(s *catalog.Segment, from, to int64, zones []catalog.Zone) bool) bool {
	if s.Inline != nil || s.Rows <= GroupRows {
		return add(s, 0, s.Rows, s.Zones)
	}
	g, back, err := p.borrow(ctx, s)
	defer func() { giveBack(back) }()
	if err != nil || g.foot.Rows != s.Rows { // its reader repairs it
		return add(s, 0, s.Rows, s.Zones)
	}
	from := int64(0)
	for i := range g.foot.Groups {
		gr := &g.foot.Groups[i]
		if !add(s, from, from+gr.Rows, gr.Zones) {
			return false
		}
		from += gr.Rows
	}
	return true
}

// boundSpans is how many spans bounds are computed from; of more a sample is taken.
const boundSpans = 2048

// Ranges divides the values of a column, attribute num, among n readers so that each has
// about as many of the spans' rows, which are taken to lie evenly in their ranges.
func Ranges(spans []Span, num int16, n int) []op.Range {
	step := len(spans)/boundSpans + 1
	below := func(x int64) (rows float64) { // rows with lesser values
		for i := 0; i < len(spans); i += step {
			s := &spans[i]
			switch rowCount := float64(s.To - s.From); {
			case s.Min > s.Max || x <= s.Min:
			case x > s.Max:
				rows += rowCount
			default:
				rows += rowCount * (float64(x) - float64(s.Min)) / (float64(s.Max) - float64(s.Min) + 1)
			}
		}
		return rows
	}
	all := below(math.MaxInt64)
	out := make([]op.Range, n)
	from := int64(math.MinInt64)
	for i := range out {
		to := int64(math.MaxInt64)
		if i < n-1 {
			want := all * float64(i+1) / float64(n)
			lo, hi := from, to
			for lo < hi { // the least x with so many rows below it
				mid := lo + int64(uint64(hi-lo)/2)
				if below(mid) < want {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			to = max(lo, math.MinInt64+1) - 1
		}
		out[i] = op.Range{Num: num, From: from, To: to, Nulls: i == 0}
		if from = to; to < math.MaxInt64 {
			from++
		}
	}
	return out
}

// Repeated returns how many rows are read more than once, if each reader of a range reads the spans
// that have values in it.
func Repeated(spans []Span, ranges []op.Range) (rows int64) {
	for _, s := range spans {
		readers := int64(0)
		for _, r := range ranges {
			if s.Min <= s.Max && s.Min <= r.To && r.From <= s.Max || s.Nulls && r.Nulls {
				readers++
			}
		}
		rows += max(readers-1, 0) * (s.To - s.From)
	}
	return rows
}

// RangeSplits cuts spans into splits for a node that reads r: neighbouring runs of rows
// together, up to rows of them.
func RangeSplits(spans []Span, leaf int, rows int64, r op.Range) (out []op.Split) {
	if rows <= 0 {
		rows = SplitRows
	}
	var last *op.Split
	for _, s := range spans {
		some := s.Min <= s.Max && s.Min <= r.To && r.From <= s.Max
		if !some && !(s.Nulls && r.Nulls) {
			last = nil
			continue
		}
		var within *op.Range
		if s.Nulls && !r.Nulls || s.Min <= s.Max && (s.Min < r.From || r.To < s.Max) {
			within = &r
		}
		if last != nil && last.Ordinal == s.Ordinal && last.To == s.From && s.To-last.From <= rows && (last.Range == nil) == (within == nil) {
			last.To = s.To
			continue
		}
		for from := s.From; from < s.To; from += rows {
			out = append(out, op.Split{Scan: leaf, Segment: s.Segment, Ordinal: s.Ordinal, From: from, To: min(from+rows, s.To), Range: within})
		}
		last = &out[len(out)-1]
	}
	return out
}

// within selects the rows of a split that its node is to read.
type within interface {
	// rows narrows the selection of n rows, whose columns column returns; an empty one passes none.
	rows(column func(i, n int) (arrow.Array, error), sel []int32, n int) ([]int32, error)
}

// rangeFilter passes the rows of a split's range.
type rangeFilter struct {
	*op.Range
	col int // of the scan
}

func newRangeFilter(s *plan.Scan, r *op.Range) (within, error) {
	at, err := columnOf(s, r.Num)
	return &rangeFilter{r, at}, err
}

// columnOf returns the index of an attribute among a scan's columns.
func columnOf(s *plan.Scan, num int16) (int, error) {
	at := slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.Num == num })
	if at < 0 {
		return 0, pgerr.Internal("store: a part by attribute %d, which scan of %s does not read", num, s.Name)
	}
	return at, nil
}

func (f *rangeFilter) rows(column func(i, n int) (arrow.Array, error), sel []int32, n int) ([]int32, error) {
	arr, err := column(f.col, n)
	if err != nil {
		return nil, err
	}
	switch a := arr.(type) {
	case *array.Int16:
		return rangeRows(f.Range, a.Int16Values(), a, sel, n), nil
	case *array.Int32:
		return rangeRows(f.Range, a.Int32Values(), a, sel, n), nil
	case *array.Int64:
		return rangeRows(f.Range, a.Int64Values(), a, sel, n), nil
	case *array.Date32:
		return rangeRows(f.Range, a.Date32Values(), a, sel, n), nil
	}
	return nil, pgerr.Internal("store: a range of %s", arr.DataType())
}

func rangeRows[T ~int16 | ~int32 | ~int64](r *op.Range, vals []T, arr arrow.Array, sel []int32, n int) []int32 {
	nulls := arr.NullN() > 0
	pass := func(i int) bool {
		if nulls && arr.IsNull(i) {
			return r.Nulls
		}
		v := int64(vals[i])
		return r.From <= v && v <= r.To
	}
	if sel == nil {
		out := make([]int32, 0, n)
		for i := range n {
			if pass(i) {
				out = append(out, int32(i))
			}
		}
		return out
	}
	out := make([]int32, 0, len(sel))
	for _, i := range sel {
		if pass(int(i)) {
			out = append(out, i)
		}
	}
	return out
}
