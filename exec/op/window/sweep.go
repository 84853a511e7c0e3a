package window

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// place is rangeOffsets of partitions in memory whose ordering values and offset are numbers of one unit: as the rows
// go on, so does their bound, and all bounds are found in one pass. It returns false for other values, and for those
// that are so large that their sums need a closer look.
func (s *sweeping) place(t types.Type, back bool, off types.Datum) bool {
	if a, ok := s.arr.(*array.Float64); ok {
		by, ok := off.(float64)
		return ok && sweep(s, a.Float64Values(), by, back != s.desc, math.MaxFloat64/4)
	}
	by, most, ok := distance(t, off)
	if !ok {
		return false
	}
	var vals []int64
	switch a := s.arr.(type) {
	case *array.Int64:
		vals = a.Int64Values()
	case *array.Timestamp:
		vals = long(a.TimestampValues(), 1)
	case *array.Int32:
		vals = long(a.Int32Values(), 1)
	case *array.Int16:
		vals = long(a.Int16Values(), 1)
	case *array.Date32:
		vals = long(a.Date32Values(), datetime.MicrosPerDay)
	default:
		return false
	}
	return sweep(s, vals, by, back != s.desc, most)
}

// long returns values times a number, at most the greatest integer.
func long[T kernel.Integer](vals []T, times int64) []int64 {
	out, most := make([]int64, len(vals)), math.MaxInt64/times
	for i, v := range vals {
		out[i] = max(-most, min(int64(v), most)) * times
	}
	return out
}

// distance returns an offset as a number, and the greatest magnitude of it and of ordering values for which their sum
// is what it seems: times end in the year 4713 BC.
func distance(t types.Type, off types.Datum) (by, most int64, ok bool) {
	const millennia = 9e16
	switch o := off.(type) {
	case int64:
		return o, math.MaxInt64 / 2, t.IsInteger()
	case datetime.Interval:
		var days int64
		switch {
		case o.Months != 0, o.Days < -1e6, o.Days > 1e6:
			return 0, 0, false
		case t.OID == types.TimestampOID, t.OID == types.DateOID:
			days = int64(o.Days)
		case t.OID != types.TimestamptzOID || o.Days != 0: // a day there has 23 to 25 hours
			return 0, 0, false
		}
		if o.Micros > millennia || o.Micros < -millennia {
			return 0, 0, false
		}
		return days*datetime.MicrosPerDay + o.Micros, millennia, true
	}
	return 0, 0, false
}

// sweeping is where bounds are placed: at the first row (or after the last) within an offset of each row's value.
type sweeping struct {
	p           *block
	arr         arrow.Array
	dst         []int64
	after, desc bool
}

func sweep[T int64 | float64](s *sweeping, vals []T, by T, back bool, most T) bool {
	nulls := s.arr.NullN() > 0
	if !(by <= most) {
		return false
	}
	for i, v := range vals {
		if !(v <= most && v >= -most) && !(nulls && s.arr.IsNull(i)) {
			return false
		}
	}
	if back {
		by = -by
	}
	for _, part := range s.p.parts {
		from, to := int(part.from), int(part.to)
		for nulls && from < to && s.arr.IsNull(from) {
			s.null(from)
			from++
		}
		for nulls && from < to && s.arr.IsNull(to-1) {
			to--
			s.null(to)
		}
		at := from
		for i := from; i < to; i++ {
			limit := vals[i] + by
			if s.desc {
				for at < to && (vals[at] > limit || s.after && vals[at] == limit) {
					at++
				}
			} else {
				for at < to && (vals[at] < limit || s.after && vals[at] == limit) {
					at++
				}
			}
			s.dst[i] = int64(at)
		}
	}
	return true
}

// null places the bound of a row whose value is NULL, the peer of others and of nothing else.
func (s *sweeping) null(i int) {
	if s.dst[i] = s.p.peer[i]; s.after {
		s.dst[i] = s.p.peerEnd[i]
	}
}
