package source

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Moments in files have other ranges than ours: what does not fit is an error and never another
// moment. The least and greatest integers are infinities, as they are here; DuckDB writes one more
// than the least.

// dateOf converts days since 1970.
func dateOf(days int64) (int32, error) {
	switch {
	case days == datetime.DateNegInf+1:
		days = datetime.DateNegInf
	case !datetime.ValidDate(days) && !datetime.IsInfDate(days):
		return 0, datetime.ErrDateRange()
	}
	return int32(days), nil
}

// timeOf converts times of a day in a unit.
func timeOf(u arrow.TimeUnit) func(int64) (int64, error) {
	return func(v int64) (int64, error) {
		t, ok := inMicros(v, u)
		if !ok || t < 0 || t > datetime.MicrosPerDay {
			return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "time out of range")
		}
		return t, nil
	}
}

// timestampOf converts moments in a unit since 1970.
func timestampOf(u arrow.TimeUnit) func(int64) (int64, error) {
	return func(v int64) (int64, error) {
		if u == arrow.Microsecond {
			switch {
			case v == datetime.TimestampNegInf+1:
				return datetime.TimestampNegInf, nil
			case datetime.IsInfTimestamp(v):
				return v, nil
			}
		}
		t, ok := inMicros(v, u)
		if !ok || !datetime.ValidTimestamp(t) {
			return 0, datetime.ErrTimestampRange()
		}
		return t, nil
	}
}

// inMicros converts to microseconds, towards the past; ok is false where they do not fit.
func inMicros(v int64, u arrow.TimeUnit) (t int64, ok bool) {
	per := int64(1)
	switch u {
	case arrow.Second:
		per = 1e6
	case arrow.Millisecond:
		per = 1e3
	case arrow.Nanosecond:
		t, _ = checked.FloorDiv(v, 1e3)
		return t, true
	}
	return v * per, v <= math.MaxInt64/per && v >= math.MinInt64/per
}

// moments decodes values of 4 or 8 bytes, each converted by of.
func moments[T int32 | int64](of func(int64) (T, error)) func(b []byte, out []T) error {
	return func(b []byte, out []T) (err error) {
		if len(b) == 4*len(out) {
			for i := range out {
				if out[i], err = of(int64(int32(binary.LittleEndian.Uint32(b[4*i:])))); err != nil {
					return err
				}
			}
			return nil
		}
		for i := range out {
			if out[i], err = of(int64(binary.LittleEndian.Uint64(b[8*i:]))); err != nil {
				return err
			}
		}
		return nil
	}
}

// inRange decodes values that are the same here from least to most, as almost all are, and converts
// the others by of.
func inRange[T int32 | int64](least, most T, of func(int64) (T, error)) func(b []byte, out []T) error {
	return func(b []byte, out []T) error {
		_ = same(b, out)
		for i, v := range out {
			if v < least || v > most {
				var err error
				if out[i], err = of(int64(v)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// The Julian day of 1970-01-01, from which INT96 counts days.
const julian1970 = 2440588

// int96s decodes Impala's and Spark's old timestamps: nanoseconds of a day, then the Julian day. The
// library makes 64 bits of nanoseconds of them, which end in 2262.
func int96s(b []byte, out []int64) error {
	for i := range out {
		v := b[12*i:]
		nanos, day := int64(binary.LittleEndian.Uint64(v)), int64(binary.LittleEndian.Uint32(v[8:]))-julian1970
		micros, _ := checked.FloorDiv(nanos, 1000)
		out[i] = day*datetime.MicrosPerDay + micros
		if !datetime.ValidDate(day) || day > math.MaxInt64/datetime.MicrosPerDay || !datetime.ValidTimestamp(out[i]) {
			return datetime.ErrTimestampRange()
		}
	}
	return nil
}

// half converts a float of 16 bits (IEEE 754 binary16).
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0: // zeros and what is below the least normal value
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

func halves(b []byte, out []float32) error {
	for i := range out {
		out[i] = half(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return nil
}
