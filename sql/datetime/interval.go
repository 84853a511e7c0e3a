package datetime

import (
	"cmp"
	"encoding/binary"
)

// Interval is a span of time as PostgreSQL keeps it: three parts that do not
// convert into each other. In a column it is 16 little-endian bytes: Micros,
// Days, Months.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// TimeTZ is a time of day with its zone. In a column it is 12 little-endian
// bytes: Micros, Zone.
type TimeTZ struct {
	Micros int64 // since midnight, local
	Zone   int32 // seconds west of UTC, as PostgreSQL counts
}

// Cmp orders intervals: a month is 30 days, a day 24 hours.
func (iv Interval) Cmp(o Interval) int {
	ad, am := iv.Span()
	bd, bm := o.Span()
	if c := cmp.Compare(ad, bd); c != 0 {
		return c
	}
	return cmp.Compare(am, bm)
}

// Span is the interval as whole days and a rest within a day.
func (iv Interval) Span() (days, micros int64) {
	days, micros = iv.Micros/MicrosPerDay, iv.Micros%MicrosPerDay
	if micros < 0 {
		days, micros = days-1, micros+MicrosPerDay
	}
	return days + int64(iv.Months)*30 + int64(iv.Days), micros
}

// Cmp orders by the instant, then by the zone.
func (v TimeTZ) Cmp(o TimeTZ) int {
	if c := cmp.Compare(v.Micros+int64(v.Zone)*1e6, o.Micros+int64(o.Zone)*1e6); c != 0 {
		return c
	}
	return cmp.Compare(int64(v.Zone), int64(o.Zone))
}

// PutInterval writes the column form of iv into 16 bytes.
func PutInterval(b []byte, iv Interval) {
	binary.LittleEndian.PutUint64(b, uint64(iv.Micros))
	binary.LittleEndian.PutUint32(b[8:], uint32(iv.Days))
	binary.LittleEndian.PutUint32(b[12:], uint32(iv.Months))
}

// GetInterval reads the column form.
func GetInterval(b []byte) Interval {
	return Interval{
		Micros: int64(binary.LittleEndian.Uint64(b)),
		Days:   int32(binary.LittleEndian.Uint32(b[8:])),
		Months: int32(binary.LittleEndian.Uint32(b[12:])),
	}
}

// PutTimeTZ writes the column form of v into 12 bytes.
func PutTimeTZ(b []byte, v TimeTZ) {
	binary.LittleEndian.PutUint64(b, uint64(v.Micros))
	binary.LittleEndian.PutUint32(b[8:], uint32(v.Zone))
}

// GetTimeTZ reads the column form.
func GetTimeTZ(b []byte) TimeTZ {
	return TimeTZ{Micros: int64(binary.LittleEndian.Uint64(b)), Zone: int32(binary.LittleEndian.Uint32(b[8:]))}
}
