package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// A key is a byte string whose bytes.Compare order is the order of the value:
//
//	integers, dates     big endian, sign bit flipped
//	floats              the bits in total order; -0 as 0; NaN greatest
//	numeric             class, exponent, digits, 0
//	strings, bytea      the bytes, 0 as 0 255; then 0 0
//	arrays              1 key …, 2 for NULL; then 0
//	records             1 key or 2, field by field
//	jsonb               rank of the kind, count, contents
//
// No key is a prefix of another of its type, so that keys of several columns
// follow each other and a descending one is its complement.

// AppendKey appends the key of row i of arr, which is not NULL.
func AppendKey(dst []byte, t types.Type, arr arrow.Array, i int) []byte {
	switch a := arr.(type) {
	case *array.Int64:
		return appendInt64(dst, a.Value(i))
	case *array.Int32:
		return appendUint32(dst, uint32(a.Value(i))^1<<31)
	case *array.Int16:
		v := uint16(a.Value(i)) ^ 1<<15
		return append(dst, byte(v>>8), byte(v))
	case *array.Uint32:
		return appendUint32(dst, a.Value(i))
	case *array.Date32:
		return appendUint32(dst, uint32(a.Value(i))^1<<31)
	case *array.Timestamp:
		return appendInt64(dst, int64(a.Value(i)))
	case *array.Time64:
		return appendInt64(dst, int64(a.Value(i)))
	case *array.Float64:
		return binary.BigEndian.AppendUint64(dst, floatKey(a.Value(i)))
	case *array.Float32:
		return appendUint32(dst, uint32(floatKey32(a.Value(i))))
	case *array.Boolean:
		if a.Value(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *array.String:
		return appendStringKey(dst, t, a.Value(i))
	case *array.Dictionary:
		d := dictOf(a)
		o := offsets(d)
		k := values[int32](a.Data())[i]
		return appendStringKey(dst, t, str(bytesOf(d)[o[k]:o[k+1]]))
	case *array.Binary:
		if t.OID == types.NumericOID {
			return appendNumericKey(dst, a.Value(i))
		}
		return appendBytesKey(dst, a.Value(i))
	case *array.FixedSizeBinary:
		return appendFixedKey(dst, t, a.Value(i))
	case *array.List:
		et, _ := t.Elem()
		child := a.ListValues()
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			dst = appendField(dst, et, child, k)
		}
		return append(dst, 0)
	case *array.Struct:
		for f := 0; f < a.NumField(); f++ {
			ft := types.Text
			if t.Rec != nil && f < len(t.Rec.Fields) {
				ft = t.Rec.Fields[f].Type
			}
			dst = appendField(dst, ft, a.Field(f), i)
		}
		return dst
	}
	return dst // Null: all alike
}

// appendField appends an element or field: NULL is greater than all values.
func appendField(dst []byte, t types.Type, arr arrow.Array, i int) []byte {
	if arr.IsNull(i) {
		return append(dst, 2)
	}
	return AppendKey(append(dst, 1), t, arr, i)
}

func appendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^1<<63)
}

func appendUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

func f64(b uint64) float64 { return math.Float64frombits(b) }

func floatKey(f float64) uint64 {
	if f != f {
		return math.MaxUint64
	}
	if f == 0 {
		f = 0 // -0
	}
	b := math.Float64bits(f)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// floatOf returns the float whose floatKey is k; of those that are equal, 0 and the usual NaN.
func floatOf(k uint64) float64 {
	switch {
	case k == math.MaxUint64:
		return math.NaN()
	case k>>63 == 0:
		return math.Float64frombits(^k)
	}
	return math.Float64frombits(k &^ (1 << 63))
}

func floatKey32(f float32) uint32 {
	if f != f {
		return math.MaxUint32
	}
	if f == 0 {
		f = 0
	}
	b := math.Float32bits(f)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func appendStringKey(dst []byte, t types.Type, s string) []byte {
	if t.OID == types.JSONBOID {
		return appendJSONKey(dst, s)
	}
	return appendBytesKey(dst, types.Compared(t, s))
}

func appendBytesKey[S string | []byte](dst []byte, s S) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return appendZeros(dst, s)
		}
	}
	return append(append(dst, s...), 0, 0)
}

func appendZeros[S string | []byte](dst []byte, s S) []byte {
	for i := 0; i < len(s); i++ {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 255)
		}
	}
	return append(dst, 0, 0)
}

// The classes of numeric keys.
const (
	numNegInf = iota
	numNegative
	numZero
	numPositive
	numPosInf
	numNaN
)

func appendNumericKey(dst []byte, b []byte) []byte {
	var tmp [24]byte
	var digits []byte
	var scale int
	neg := false
	if v, s, ok := number.SmallDecimalBytes(b); ok {
		neg, scale = v < 0, int(s)
		u := uint64(v)
		if neg {
			u = -u
		}
		digits = strconv.AppendUint(tmp[:0], u, 10)
	} else {
		d, err := number.DecodeDecimal(b)
		text := d.String()
		switch {
		case err != nil || text == "NaN":
			return append(dst, numNaN)
		case text == "Infinity":
			return append(dst, numPosInf)
		case text == "-Infinity":
			return append(dst, numNegInf)
		}
		if text[0] == '-' {
			neg, text = true, text[1:]
		}
		for i := 0; i < len(text); i++ {
			if text[i] == '.' {
				scale = len(text) - i - 1
				continue
			}
			digits = append(digits, text[i])
		}
	}
	digits = bytes.TrimLeft(digits, "0")
	exp := len(digits) - scale
	digits = bytes.TrimRight(digits, "0")
	if len(digits) == 0 {
		return append(dst, numZero)
	}
	if !neg {
		dst = append(dst, numPositive)
	} else {
		dst = append(dst, numNegative)
	}
	at := len(dst)
	dst = appendUint32(dst, uint32(int32(exp))^1<<31)
	for i := 0; i < len(digits); i += 2 {
		v := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			v += digits[i+1] - '0'
		}
		dst = append(dst, v+1)
	}
	dst = append(dst, 0)
	if neg {
		invert(dst[at:])
	}
	return dst
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

const microsPerDay = 86400 * 1000000

func appendFixedKey(dst []byte, t types.Type, b []byte) []byte {
	switch t.Class() {
	case types.ClassInterval:
		micros := int64(binary.LittleEndian.Uint64(b))
		days := int64(int32(binary.LittleEndian.Uint32(b[8:])))
		months := int64(int32(binary.LittleEndian.Uint32(b[12:])))
		// For the order of intervals a month is 30 days and a day 24 hours; the sum needs more than 64
		// bits.
		total := months*30 + days
		neg := total < 0
		u := uint64(total)
		if neg {
			u = -u
		}
		hi, lo := bits.Mul64(u, microsPerDay)
		if neg {
			var borrow uint64
			lo, borrow = bits.Sub64(0, lo, 0)
			hi, _ = bits.Sub64(0, hi, borrow)
		}
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(micros), 0)
		hi, _ = bits.Add64(hi, uint64(micros>>63), carry)
		dst = binary.BigEndian.AppendUint64(dst, hi^1<<63)
		return binary.BigEndian.AppendUint64(dst, lo)
	case types.ClassTimetz:
		micros := int64(binary.LittleEndian.Uint64(b))
		zone := int32(binary.LittleEndian.Uint32(b[8:]))
		dst = appendInt64(dst, micros+int64(zone)*1000000)
		return appendUint32(dst, uint32(zone)^1<<31)
	}
	return append(dst, b...)
}
