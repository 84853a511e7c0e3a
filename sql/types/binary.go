package types

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var be = binary.BigEndian

// AppendBinary appends the binary wire form of d, a value of t that is not
// NULL, without a length word.
func AppendBinary(dst []byte, t Type, d Datum) []byte {
	def := t.OID.def()
	if def.send != nil {
		return def.send(dst, d)
	}
	switch v := d.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case string:
		return append(dst, v...)
	case []byte:
		return append(dst, v...)
	case [16]byte:
		return append(dst, v[:]...)
	case float64:
		if def.form == FormFloat32 {
			return be.AppendUint32(dst, math.Float32bits(float32(v)))
		}
		if math.IsNaN(v) {
			return be.AppendUint64(dst, 0x7ff8000000000000)
		}
		return be.AppendUint64(dst, math.Float64bits(v))
	case number.Decimal:
		return v.AppendWire(dst)
	case datetime.Interval:
		dst = be.AppendUint64(dst, uint64(v.Micros))
		dst = be.AppendUint32(dst, uint32(v.Days))
		return be.AppendUint32(dst, uint32(v.Months))
	case datetime.TimeTZ:
		return be.AppendUint32(be.AppendUint64(dst, uint64(v.Micros)), uint32(v.Zone))
	case int64:
		switch def.form {
		case FormInt16:
			return be.AppendUint16(dst, uint16(v))
		case FormInt64:
			return be.AppendUint64(dst, uint64(v))
		}
		return be.AppendUint32(dst, uint32(v))
	case Array:
		return appendArrayBinary(dst, t, v)
	case Row:
		dst = be.AppendUint32(dst, uint32(len(v)))
		for i, e := range v {
			ft := t.fieldType(i, e)
			dst = be.AppendUint32(dst, uint32(ft.OID))
			dst = appendSized(dst, ft, e)
		}
	}
	return dst
}

// appendSized appends a length word, -1 for NULL, and the value.
func appendSized(dst []byte, t Type, d Datum) []byte {
	if d == nil {
		return be.AppendUint32(dst, math.MaxUint32)
	}
	from := len(dst)
	dst = AppendBinary(append(dst, 0, 0, 0, 0), t, d)
	be.PutUint32(dst[from:], uint32(len(dst)-from-4))
	return dst
}

func appendArrayBinary(dst []byte, t Type, v Array) []byte {
	elem := v.Elem
	if e, ok := t.Elem(); ok {
		elem = e
	}
	lower := uint32(1)
	if t.OID == Int2VectorOID || t.OID == OIDVectorOID {
		lower = 0
	}
	dims, nulls := uint32(1), uint32(0)
	if len(v.Elems) == 0 && lower == 1 {
		dims = 0
	}
	for _, e := range v.Elems {
		if e == nil {
			nulls = 1
		}
	}
	dst = be.AppendUint32(dst, dims)
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, uint32(elem.OID))
	if dims == 1 {
		dst = be.AppendUint32(dst, uint32(len(v.Elems)))
		dst = be.AppendUint32(dst, lower)
	}
	for _, e := range v.Elems {
		dst = appendSized(dst, elem, e)
	}
	return dst
}

func sendBits(dst []byte, d Datum) []byte {
	s := d.(string)
	dst = be.AppendUint32(dst, uint32(len(s)))
	for i := 0; i < len(s); i += 8 {
		var c byte
		for j := i; j < min(i+8, len(s)); j++ {
			c |= (s[j] & 1) << (7 - (j - i))
		}
		dst = append(dst, c)
	}
	return dst
}

// sendVersioned puts a version before the text.
func sendVersioned(dst []byte, d Datum) []byte { return append(append(dst, 1), d.(string)...) }

func sendChar(dst []byte, d Datum) []byte {
	if v := d.(string); v != "" {
		return append(dst, v[0])
	}
	return append(dst, 0)
}

func sendLSN(dst []byte, d Datum) []byte {
	a, b, _ := strings.Cut(d.(string), "/")
	hi, _ := strconv.ParseUint(a, 16, 32)
	lo, _ := strconv.ParseUint(b, 16, 32)
	return be.AppendUint64(dst, hi<<32|lo)
}

func sendTID(dst []byte, d Datum) []byte {
	v := d.(int64)
	return be.AppendUint16(be.AppendUint32(dst, uint32(v>>16)), uint16(v))
}

func sendTimestamp(dst []byte, d Datum) []byte {
	v := d.(int64)
	if !datetime.IsInfTimestamp(v) {
		v -= datetime.PgEpochMicros
	}
	return be.AppendUint64(dst, uint64(v))
}

func sendDate(dst []byte, d Datum) []byte {
	v := d.(int64)
	if !datetime.IsInfDate(v) {
		v -= datetime.PgEpochDays
	}
	return be.AppendUint32(dst, uint32(v))
}

func errBinary(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, format, args...)
}

// errShort is the error for a value that ends too soon: PostgreSQL takes it for a broken message.
func errShort() error { return pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message") }
