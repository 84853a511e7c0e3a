package store

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// extremes returns rows of the least and of the greatest value, -1 where there is none or values do
// not compare simply.
func extremes(t types.Type, arr arrow.Array) (lo, hi int) {
	n, null := arr.Len(), nullsOf(arr)
	if arr.NullN() == n {
		return -1, -1
	}
	valid, off := null.valid, null.off
	there := func(i int) bool { return !null.at(i) }
	switch a := arr.(type) {
	case *array.Int16:
		return kernel.Extremes(a.Int16Values(), valid, off)
	case *array.Int32:
		return kernel.Extremes(a.Int32Values(), valid, off)
	case *array.Int64:
		return kernel.Extremes(a.Int64Values(), valid, off)
	case *array.Uint32:
		return kernel.Extremes(a.Uint32Values(), valid, off)
	case *array.Date32:
		return kernel.Extremes(a.Date32Values(), valid, off)
	case *array.Time64:
		return kernel.Extremes(a.Time64Values(), valid, off)
	case *array.Timestamp:
		return kernel.Extremes(a.TimestampValues(), valid, off)
	case *array.Float32:
		return kernel.FloatExtremes(a.Float32Values(), valid, off)
	case *array.Float64:
		return kernel.FloatExtremes(a.Float64Values(), valid, off)
	case *array.String:
		switch {
		case t.IsText() && t.OID != types.BpcharOID:
			return kernel.TextExtremes(a, valid, off)
		case t.IsText():
			return extremesBy(n, there, func(i, j int) int { return compareText(t, a, i, j) })
		}
	case *array.Binary:
		if t.OID == types.NumericOID {
			if _, ok := commonScale(a, null); ok {
				return extremesBy(n, there, func(i, j int) int { return cmp.Compare(coefficient(a.Value(i)), coefficient(a.Value(j))) })
			}
			return extremesBy(n, there, func(i, j int) int { return number.CompareDecimalBytes(a.Value(i), a.Value(j)) })
		}
	case *array.FixedSizeBinary:
		if t.OID == types.UUIDOID {
			return extremesBy(n, there, func(i, j int) int { return bytes.Compare(a.Value(i), a.Value(j)) })
		}
	case *array.Dictionary:
		if t.IsText() {
			return dictExtremes(t, a)
		}
	}
	return -1, -1
}

// zoneAt returns the zone of a group's column with the extremes lo and hi, and the number of NULLs. Distinct
// is left to the sketch.
func zoneAt(num int16, t types.Type, arr arrow.Array, lo, hi int) catalog.Zone {
	z := catalog.Zone{Column: num, Nulls: int64(arr.NullN())}
	if lo < 0 {
		return z
	}
	z.Min = types.DatumAt(t, arr, lo)
	if z.Max = z.Min; hi != lo {
		z.Max = types.DatumAt(t, arr, hi)
	}
	if a, ok := arr.(*array.Binary); ok && t.OID == types.NumericOID {
		if scale, ok := commonScale(a, nullsOf(arr)); ok {
			z.Scale = 1 + scale
		}
	}
	if s, ok := z.Min.(string); ok {
		z.Min = cutText(types.Compared(t, s))
	}
	if s, ok := z.Max.(string); ok {
		if s = types.Compared(t, s); len(s) > zoneStringBytes {
			z.Max = nil
		} else {
			z.Max = s
		}
	}
	return z
}

// cutText cuts a long lower bound at a character's start.
func cutText(s string) string {
	if len(s) <= zoneStringBytes {
		return s
	}
	n := zoneStringBytes
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return strings.Clone(s[:n]) // the catalog keeps it, and not what it was cut from
}

// nulls is the bitmap of an array's NULLs; it is empty where there are none.
type nulls struct {
	valid []byte
	off   int
}

func nullsOf(arr arrow.Array) nulls {
	if arr.NullN() == 0 {
		return nulls{}
	}
	return nulls{arr.NullBitmapBytes(), arr.Data().Offset()}
}

func (n nulls) at(i int) bool {
	return n.valid != nil && n.valid[(n.off+i)>>3]>>((n.off+i)&7)&1 == 0
}

// dictExtremes compares each value that some row has once.
func dictExtremes(t types.Type, a *array.Dictionary) (lo, hi int) {
	s, null := batch.StringsOf(a), nullsOf(a)
	n := s.Values.Len()
	there := make([]bool, n+1) // by value; the last: NULL
	if null.valid == nil {
		for _, k := range s.Index {
			there[k] = true
		}
	} else {
		for i, k := range s.Index {
			if null.at(i) {
				k = int32(n)
			}
			there[k] = true
		}
	}
	if t.OID == types.BpcharOID {
		lo, hi = extremesBy(n, func(k int) bool { return there[k] }, func(i, j int) int { return compareText(t, s.Values, i, j) })
	} else {
		bits := make([]byte, batch.BitmapBytes(n))
		for k := range n {
			if there[k] {
				batch.SetBit(bits, k)
			}
		}
		lo, hi = kernel.TextExtremes(s.Values, bits, 0)
	}
	row := func(k int) int {
		for i, v := range s.Index {
			if int(v) == k && !null.at(i) {
				return i
			}
		}
		return -1
	}
	return row(lo), row(hi)
}

func compareText(t types.Type, a *array.String, i, j int) int {
	return cmp.Compare(types.Compared(t, a.Value(i)), types.Compared(t, a.Value(j)))
}

// extremesBy returns the first rows of the least and of the greatest value of those that are there.
func extremesBy(n int, there func(i int) bool, compare func(i, j int) int) (lo, hi int) {
	lo, hi = -1, -1
	for i := range n {
		if !there(i) {
			continue
		}
		if lo < 0 || compare(i, lo) < 0 {
			lo = i
		}
		if hi < 0 || compare(i, hi) > 0 {
			hi = i
		}
	}
	return lo, hi
}

// widen joins the zone of one more group to that of a segment.
func widen(t types.Type, z *catalog.Zone, rows int64, g catalog.Zone, groupRows int64) {
	switch {
	case g.Nulls == groupRows: // nothing to add
	case z.Nulls == rows: // nothing there yet
		z.Min, z.Max, z.Scale = g.Min, g.Max, g.Scale
	default:
		if z.Scale != g.Scale {
			z.Scale = 0
		}
		if g.Min == nil || z.Min != nil && types.Compare(t, g.Min, z.Min) < 0 {
			z.Min = g.Min
		}
		if g.Max == nil || z.Max != nil && types.Compare(t, g.Max, z.Max) > 0 {
			z.Max = g.Max
		}
	}
	z.Nulls += g.Nulls
}

// zoneOf returns the zone of a column over all groups. distinct estimates how many distinct values it has.
func zoneOf(t types.Type, num int16, groups []footerGroup, col int, distinct int64) catalog.Zone {
	z := catalog.Zone{Column: num}
	var rows int64
	for i := range groups {
		widen(t, &z, rows, groups[i].Zones[col], groups[i].Rows)
		rows += groups[i].Rows
	}
	if z.Distinct = min(distinct, rows-z.Nulls); t.OID == types.BoolOID {
		z.Distinct = min(2, rows-z.Nulls)
	}
	return z
}
