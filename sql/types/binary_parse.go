package types

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// ParseBinary reads the binary wire form of a value of t. The result shares no
// memory with b.
func ParseBinary(t Type, b []byte) (Datum, error) {
	d, err := parseBinary(t, b)
	if err != nil || t.Mod < 0 {
		return d, err
	}
	return ApplyMod(t, d, false)
}

func parseBinary(t Type, b []byte) (Datum, error) {
	def := t.OID.def()
	switch n := def.size; {
	case def.parse == nil:
		return nil, pgerr.Unsupported("type %s is not supported", t)
	case n == 0 || len(b) == n:
	case len(b) < n:
		return nil, errShort()
	default:
		return nil, errBinary("incorrect binary data format")
	}
	if def.receive != nil {
		return def.receive(t, b)
	}
	switch def.form {
	case FormBool:
		return b[0] != 0, nil
	case FormInt16:
		return int64(int16(be.Uint16(b))), nil
	case FormInt32:
		return int64(int32(be.Uint32(b))), nil
	case FormInt64:
		return int64(be.Uint64(b)), nil
	case FormUint32:
		return int64(be.Uint32(b)), nil
	case FormFloat32:
		return float64(math.Float32frombits(be.Uint32(b))), nil
	case FormFloat64:
		return math.Float64frombits(be.Uint64(b)), nil
	case FormFixed16:
		return [16]byte(b), nil
	case FormBinary:
		return append([]byte{}, b...), nil
	}
	s := string(b)
	return s, pgerr.CheckUTF8(s)
}

func receiveChar(_ Type, b []byte) (Datum, error) { return CharOf(b[0]), nil }

func receiveName(_ Type, b []byte) (Datum, error) {
	s := string(b)
	return TruncateName(s), pgerr.CheckUTF8(s)
}

func receiveNumeric(t Type, b []byte) (Datum, error) { return fixedOf(t)(number.ParseDecimalWire(b)) }

func receiveDate(_ Type, b []byte) (Datum, error) {
	v := int64(int32(be.Uint32(b)))
	if datetime.IsInfDate(v) {
		return v, nil
	}
	v += datetime.PgEpochDays
	if !datetime.ValidDate(v) {
		return nil, datetime.ErrDateRange()
	}
	return v, nil
}

func receiveTime(_ Type, b []byte) (Datum, error) {
	v := int64(be.Uint64(b))
	if v < 0 || v > datetime.MicrosPerDay {
		return nil, pgerr.New(pgerr.DatetimeFieldOverflow, "time out of range")
	}
	return v, nil
}

func receiveTimetz(_ Type, b []byte) (Datum, error) {
	v := datetime.TimeTZ{Micros: int64(be.Uint64(b)), Zone: int32(be.Uint32(b[8:]))}
	if v.Micros < 0 || v.Micros > datetime.MicrosPerDay {
		return nil, pgerr.New(pgerr.DatetimeFieldOverflow, "time out of range")
	}
	if v.Zone <= -datetime.MaxZone || v.Zone >= datetime.MaxZone {
		return nil, pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range")
	}
	return v, nil
}

func receiveTimestamp(_ Type, b []byte) (Datum, error) {
	v := int64(be.Uint64(b))
	if datetime.IsInfTimestamp(v) {
		return v, nil
	}
	v, ok := checked.Add(v, datetime.PgEpochMicros)
	if !ok || !datetime.ValidTimestamp(v) {
		return nil, datetime.ErrTimestampRange()
	}
	return v, nil
}

func receiveInterval(_ Type, b []byte) (Datum, error) {
	return datetime.Interval{Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])), Months: int32(be.Uint32(b[12:]))}, nil
}

func receiveTID(_ Type, b []byte) (Datum, error) { return TIDOf(be.Uint32(b), be.Uint16(b[4:])), nil }

func receiveLSN(_ Type, b []byte) (Datum, error) {
	v := be.Uint64(b)
	return fmt.Sprintf("%X/%X", v>>32, uint32(v)), nil
}

// receiveVersioned reads text after a version.
func receiveVersioned(parse func(string) (string, error)) func(t Type, b []byte) (Datum, error) {
	return func(t Type, b []byte) (Datum, error) {
		if len(b) < 1 || b[0] != 1 {
			v := 0
			if len(b) > 0 {
				v = int(b[0])
			}
			return nil, pgerr.New(pgerr.InvalidBinaryRepresentation, "unsupported %s version number %d", TypeName(t.OID), v)
		}
		s := string(b[1:])
		if err := pgerr.CheckUTF8(s); err != nil {
			return nil, err
		}
		return datum(parse(s))
	}
}

func receiveJSON(_ Type, b []byte) (Datum, error) {
	s := string(b)
	if err := pgerr.CheckUTF8(s); err != nil {
		return nil, err
	}
	return s, json.Valid(s)
}

func receiveBits(_ Type, b []byte) (Datum, error) {
	if len(b) < 4 {
		return nil, errShort()
	}
	n := int(int32(be.Uint32(b)))
	b = b[4:]
	if n < 0 || (n+7)/8 != len(b) {
		return nil, errBinary("invalid length in external bit string")
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = '0' + b[i/8]>>(7-i%8)&1
	}
	return string(out), nil
}

// sized takes a length word and so many bytes off b; null is a length of -1.
func sized(b []byte) (val, rest []byte, null bool, err error) {
	if len(b) < 4 {
		return nil, nil, false, errShort()
	}
	n := int(int32(be.Uint32(b)))
	b = b[4:]
	switch {
	case n == -1:
		return nil, b, true, nil
	case n < 0 || n > len(b):
		return nil, nil, false, errShort()
	}
	return b[:n], b[n:], false, nil
}

func receiveArray(t Type, b []byte) (Datum, error) {
	elem, _ := t.Elem()
	out := Array{Elem: elem}
	elem.Mod = -1
	if len(b) < 12 {
		return nil, errShort()
	}
	dims, flags, oid := int32(be.Uint32(b)), be.Uint32(b[4:]), OID(be.Uint32(b[8:]))
	b = b[12:]
	switch {
	case dims < 0 || dims > 6:
		return nil, errBinary("invalid number of dimensions: %d", dims)
	case flags > 1:
		return nil, errBinary("invalid array flags")
	case oid != elem.OID:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "binary data has array element type %d (%s) instead of expected %d (%s)",
			oid, TypeName(oid), elem.OID, TypeName(elem.OID))
	case dims > 1:
		return nil, pgerr.Unsupported("multidimensional arrays are not supported")
	}
	if dims == 1 {
		if len(b) < 8 {
			return nil, errShort()
		}
		n := int64(int32(be.Uint32(b)))
		b = b[8:]
		if n < 0 || n*4 > int64(len(b)) {
			return nil, errShort()
		}
		out.Elems = make([]Datum, n)
		for i := range out.Elems {
			val, rest, null, err := sized(b)
			if err != nil {
				return nil, err
			}
			b = rest
			if null {
				continue
			}
			if out.Elems[i], err = parseBinary(elem, val); err != nil {
				return nil, err
			}
		}
	}
	if len(b) > 0 {
		return nil, errBinary("incorrect binary data format")
	}
	return out, nil
}

func receiveRecord(t Type, b []byte) (Datum, error) {
	if t.Rec == nil {
		return nil, pgerr.Unsupported("input of anonymous composite types is not implemented")
	}
	if len(b) < 4 {
		return nil, errShort()
	}
	n := int(be.Uint32(b))
	b = b[4:]
	if n != len(t.Rec.Fields) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "wrong number of columns: %s, expected %d", strconv.Itoa(n), len(t.Rec.Fields))
	}
	row := make(Row, n)
	for i, f := range t.Rec.Fields {
		if len(b) < 4 {
			return nil, errShort()
		}
		if oid := OID(be.Uint32(b)); oid != f.Type.OID {
			return nil, pgerr.New(pgerr.DatatypeMismatch,
				"binary data has type %d (%s) instead of expected %d (%s) in record column %d",
				oid, TypeName(oid), f.Type.OID, TypeName(f.Type.OID), i+1)
		}
		val, rest, null, err := sized(b[4:])
		if err != nil {
			return nil, err
		}
		b = rest
		if null {
			continue
		}
		if row[i], err = ParseBinary(f.Type, val); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return nil, errBinary("improper binary format in record")
	}
	return row, nil
}
