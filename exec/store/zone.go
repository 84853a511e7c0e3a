package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// bounds gives the zone of a group's column: least and greatest value of the
// types that compare simply, and the NULLs. Distinct is left to the sketch.
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
		if ordered(t) {
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
			s := batch.StringsOf(a)
			used := make([]bool, s.Values.Len())
			for i, k := range s.Index {
				if a.IsValid(i) && !used[k] {
					used[k] = true
					if lo < 0 || types.Compared(t, s.Value(i)) < types.Compared(t, s.Value(lo)) {
						lo = i
					}
					if hi < 0 || types.Compared(t, s.Value(i)) > types.Compared(t, s.Value(hi)) {
						hi = i
					}
				}
			}
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

// ordered tells the string types whose order is that of the bytes that count. Enums
// order by label, jsonb by value.
func ordered(t types.Type) bool {
	switch t.OID {
	case types.TextOID, types.VarcharOID, types.BpcharOID, types.NameOID:
		return true
	}
	return false
}

func extremes[T cmp.Ordered](arr arrow.Array, v []T) (lo, hi int) {
	lo, hi = -1, -1
	if arr.NullN() == 0 {
		lo, hi = 0, 0
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
	for i, x := range v {
		if arr.IsNull(i) {
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
	nulls := arr.NullN() > 0
	lo, hi = -1, -1
	nan := -1
	var least, most T
	for i, x := range v {
		switch {
		case nulls && arr.IsNull(i):
		case x != x:
			if nan < 0 {
				nan = i
			}
		case lo < 0:
			lo, hi, least, most = i, i, x, x
		case x < least:
			lo, least = i, x
		case x > most:
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

// sketch estimates the number of distinct values (HyperLogLog, 1,024
// registers: about 3 % off).
type sketch struct{ reg [1024]uint8 }

func (s *sketch) add(h uint64) {
	r := uint8(bits.LeadingZeros64(h<<10|1<<9)) + 1
	if i := h >> 54; r > s.reg[i] {
		s.reg[i] = r
	}
}

func (s *sketch) estimate() int64 {
	const m = 1024
	sum, zero := 0.0, 0
	for _, r := range s.reg {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zero++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e < 2.5*m && zero > 0 {
		e = m * math.Log(float64(m)/float64(zero))
	}
	return int64(math.Round(e))
}

func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// observe adds a group's values.
func (s *sketch) observe(arr arrow.Array) {
	nulls := arr.NullN() > 0
	switch a := arr.(type) {
	case *array.Dictionary:
		v := batch.StringsOf(a)
		used := make([]bool, v.Values.Len())
		for i, k := range v.Index {
			if !(nulls && a.IsNull(i)) && !used[k] {
				used[k] = true
				s.add(kernel.HashBytes([]byte(v.Values.Value(int(k)))))
			}
		}
	case *array.String:
		for i := 0; i < a.Len(); i++ {
			if !nulls || a.IsValid(i) {
				s.add(kernel.HashBytes([]byte(a.Value(i))))
			}
		}
	case *array.Binary:
		for i := 0; i < a.Len(); i++ {
			if !nulls || a.IsValid(i) {
				s.add(kernel.HashBytes(a.Value(i)))
			}
		}
	default:
		dt, ok := arr.DataType().(arrow.FixedWidthDataType)
		if !ok || dt.BitWidth() < 8 {
			return
		}
		w := dt.BitWidth() / 8
		b := arr.Data().Buffers()[1].Bytes()[arr.Data().Offset()*w:]
		switch {
		case w == 4:
			for i := range arr.Len() {
				if !nulls || arr.IsValid(i) {
					s.add(mix(uint64(binary.LittleEndian.Uint32(b[4*i:]))))
				}
			}
		case w == 8:
			for i := range arr.Len() {
				if !nulls || arr.IsValid(i) {
					s.add(mix(binary.LittleEndian.Uint64(b[8*i:])))
				}
			}
		default:
			for i := range arr.Len() {
				if !nulls || arr.IsValid(i) {
					s.add(kernel.HashBytes(b[w*i : w*i+w]))
				}
			}
		}
	}
}

// zoneOf gives the zones of a column over all groups.
func zoneOf(t types.Type, num int16, groups []footerGroup, col int, s *sketch) catalog.Zone {
	z := catalog.Zone{Column: num}
	var rows int64
	for i := range groups {
		widen(t, &z, rows, groups[i].Zones[col], groups[i].Rows)
		rows += groups[i].Rows
	}
	if z.Distinct = min(s.estimate(), rows-z.Nulls); t.OID == types.BoolOID {
		z.Distinct = min(2, rows-z.Nulls)
	}
	return z
}
