package store

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// bounds returns the zone of a group's column: least and greatest value, for types that compare
// simply, and the number of NULLs. Distinct is left to the sketch.
func bounds(num int16, t types.Type, arr arrow.Array) catalog.Zone {
	z := catalog.Zone{Column: num, Nulls: int64(arr.NullN())}
	n := arr.Len()
	if int(z.Nulls) == n {
		return z
	}
	lo, hi := -1, -1
	switch a := arr.(type) {
	case *array.Int16:
		lo, hi = extremes(a, a.Int16Values())
	case *array.Int32:
		lo, hi = extremes(a, a.Int32Values())
	case *array.Int64:
		lo, hi = extremes(a, a.Int64Values())
	case *array.Uint32:
		lo, hi = extremes(a, a.Uint32Values())
	case *array.Date32:
		lo, hi = extremes(a, a.Date32Values())
	case *array.Time64:
		lo, hi = extremes(a, a.Time64Values())
	case *array.Timestamp:
		lo, hi = extremes(a, a.TimestampValues())
	case *array.Float32:
		lo, hi = floatExtremes(a, a.Float32Values())
	case *array.Float64:
		lo, hi = floatExtremes(a, a.Float64Values())
	case *array.String:
		switch {
		case ordered(t) && t.OID != types.BpcharOID:
			lo, hi = textExtremes(a)
		case ordered(t):
			lo, hi = extremesBy(a, func(i, j int) int { return cmp.Compare(types.Compared(t, a.Value(i)), types.Compared(t, a.Value(j))) })
		}
	case *array.Binary:
		if t.OID == types.NumericOID {
			lo, hi = extremesBy(a, func(i, j int) int { return number.CompareDecimalBytes(a.Value(i), a.Value(j)) })
		}
	case *array.FixedSizeBinary:
		if t.OID == types.UUIDOID {
			lo, hi = extremesBy(a, func(i, j int) int { return bytes.Compare(a.Value(i), a.Value(j)) })
		}
	case *array.Dictionary:
		if ordered(t) {
			lo, hi = dictExtremes(t, a)
		}
	}
	if lo < 0 {
		return z
	}
	z.Min = types.DatumAt(t, arr, lo)
	if z.Max = z.Min; hi != lo {
		z.Max = types.DatumAt(t, arr, hi)
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
	return s[:n]
}

// ordered reports whether t is a string type whose order is that of its significant bytes. Enums order by
// label, jsonb by value.
func ordered(t types.Type) bool {
	switch t.OID {
	case types.TextOID, types.VarcharOID, types.BpcharOID, types.NameOID:
		return true
	}
	return false
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

func extremes[T cmp.Ordered](arr arrow.Array, v []T) (lo, hi int) {
	if arr.NullN() == 0 {
		least, most := v[0], v[0]
		for i, x := range v {
			if x < least {
				least, lo = x, i
			}
			if x > most {
				most, hi = x, i
			}
		}
		return lo, hi
	}
	lo, hi = -1, -1
	null := nullsOf(arr)
	for i, x := range v {
		if null.at(i) {
			continue
		}
		if lo < 0 || x < v[lo] {
			lo = i
		}
		if hi < 0 || x > v[hi] {
			hi = i
		}
	}
	return lo, hi
}

// floatExtremes orders NaN after everything, as SQL does.
func floatExtremes[T float32 | float64](arr arrow.Array, v []T) (lo, hi int) {
	null := nullsOf(arr)
	lo, hi, nan := -1, -1, -1
	var least, most T
	for i, x := range v {
		if lo >= 0 && x >= least && x <= most || null.at(i) {
			continue
		}
		switch {
		case x != x:
			if nan < 0 {
				nan = i
			}
		case lo < 0:
			lo, hi, least, most = i, i, x, x
		case x < least:
			lo, least = i, x
		default:
			hi, most = i, x
		}
	}
	if nan >= 0 {
		if hi = nan; lo < 0 {
			lo = nan
		}
	}
	return lo, hi
}

// head returns the first eight bytes of a text as a number that orders as they do: a text is less
// than another if its head is. The text is data[from:to].
func head(data []byte, from, to int32) uint64 {
	if int(from)+8 > len(data) {
		var last [8]byte
		copy(last[:], data[from:to])
		return binary.BigEndian.Uint64(last[:])
	}
	h := binary.BigEndian.Uint64(data[from:])
	if n := to - from; n < 8 {
		h &= ^(^uint64(0) >> (8 * uint32(n)))
	}
	return h
}

// textExtremes is extremesBy bytes: few texts are compared beyond their heads.
func textExtremes(a *array.String) (lo, hi int) {
	lo, hi = -1, -1
	offs, data := a.ValueOffsets(), a.ValueBytes()
	null := nullsOf(a)
	var least, most uint64
	for i := range a.Len() {
		h := head(data, offs[i]-offs[0], offs[i+1]-offs[0])
		if lo >= 0 && h > least && h < most || null.at(i) {
			continue
		}
		if lo < 0 {
			lo, hi, least, most = i, i, h, h
			continue
		}
		if h < least || h == least && a.Value(i) < a.Value(lo) {
			lo, least = i, h
		}
		if h > most || h == most && a.Value(i) > a.Value(hi) {
			hi, most = i, h
		}
	}
	return lo, hi
}

// dictExtremes compares each value that some row has once.
func dictExtremes(t types.Type, a *array.Dictionary) (lo, hi int) {
	lo, hi = -1, -1
	s := batch.StringsOf(a)
	rows := make([]int32, s.Values.Len()) // by value: a row that has it, + 1
	null := nullsOf(a)
	if null.valid == nil {
		for i, k := range s.Index {
			rows[k] = int32(i) + 1
		}
	} else {
		for i, k := range s.Index {
			if !null.at(i) {
				rows[k] = int32(i) + 1
			}
		}
	}
	var least, most string
	for k, row := range rows {
		if row == 0 {
			continue
		}
		v := types.Compared(t, s.Values.Value(k))
		if lo < 0 || v < least {
			lo, least = int(row)-1, v
		}
		if hi < 0 || v > most {
			hi, most = int(row)-1, v
		}
	}
	return lo, hi
}

func extremesBy(arr arrow.Array, compare func(i, j int) int) (lo, hi int) {
	lo, hi = -1, -1
	for i := 0; i < arr.Len(); i++ {
		if arr.IsNull(i) {
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
		z.Min, z.Max = g.Min, g.Max
	default:
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
