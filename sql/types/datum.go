package types

import "github.com/tributarydb/tributary/sql/number"

// Datum is one value outside a column: a literal, a parameter, a bound of a
// zone map. nil is NULL. Otherwise it has the Go type of its SQL type:
//
//	bool                              bool
//	int2 int4 int8                    int64
//	oid and reg*                      int64 (0 to 2^32-1)
//	float4 float8                     float64
//	numeric (fixed and variable)      Decimal
//	string-represented types              string
//	bytea                             []byte
//	date (days since 1970-01-01)      int64
//	time (µs since midnight)          int64
//	timestamp, timestamptz (µs since 1970-01-01 UTC)  int64
//	timetz                            TimeTZ
//	interval                          Interval
//	uuid                              [16]byte
//	arrays                            Array
//	record                            Row
type Datum any

// FiniteOrNull returns f, and NULL where it is not finite: what was measured of a model, where
// that is no number, or too great for one, is not known.
func FiniteOrNull(f float64) Datum {
	if f-f != 0 {
		return nil
	}
	return f
}

// Array is a one-dimensional array value.
type Array struct {
	Elem  Type
	Elems []Datum
}

// Row is a composite value.
type Row []Datum

// DatumBytes estimates what a value takes beside its interface.
func DatumBytes(d Datum) int64 {
	switch v := d.(type) {
	case string:
		return int64(len(v))
	case []byte:
		return int64(len(v))
	case Array:
		var n int64
		for _, e := range v.Elems {
			n += 16 + DatumBytes(e)
		}
		return n
	case number.Decimal:
		return 32
	}
	return 8
}
