package types

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

var be = binary.BigEndian

// AppendBinary appends the binary wire form of d, a value of t that is not
// NULL, without a length word.
func AppendBinary(dst []byte, t Type, d Datum) []byte {
	switch v := d.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case string:
		switch t.OID {
		case JSONBOID:
			dst = append(dst, 1)
		case BitOID, VarbitOID:
			return appendBits(dst, v)
		case CharOID:
			if v == "" {
				return append(dst, 0)
			}
			return append(dst, v[0])
		case TIDOID:
			return appendTID(dst, v)
		case PgLSNOID:
			a, b, _ := strings.Cut(v, "/")
			hi, _ := strconv.ParseUint(a, 16, 32)
			lo, _ := strconv.ParseUint(b, 16, 32)
			return be.AppendUint64(dst, hi<<32|lo)
		}
		return append(dst, v...)
	case []byte:
		return append(dst, v...)
	case [16]byte:
		return append(dst, v[:]...)
	case float64:
		if t.OID == Float4OID {
			return be.AppendUint32(dst, math.Float32bits(float32(v)))
		}
		if math.IsNaN(v) {
			return be.AppendUint64(dst, 0x7ff8000000000000)
		}
		return be.AppendUint64(dst, math.Float64bits(v))
	case Decimal:
		return appendNumericBinary(dst, v)
	case Interval:
		dst = be.AppendUint64(dst, uint64(v.Micros))
		dst = be.AppendUint32(dst, uint32(v.Days))
		return be.AppendUint32(dst, uint32(v.Months))
	case TimeTZ:
		return be.AppendUint32(be.AppendUint64(dst, uint64(v.Micros)), uint32(v.Zone))
	case int64:
		switch t.OID {
		case Int2OID:
			return be.AppendUint16(dst, uint16(v))
		case Int8OID, TimeOID:
			return be.AppendUint64(dst, uint64(v))
		case TimestampOID, TimestamptzOID:
			if !IsInfTimestamp(v) {
				v -= pgEpochMicros
			}
			return be.AppendUint64(dst, uint64(v))
		case DateOID:
			if !IsInfDate(v) {
				v -= pgEpochDays
			}
			return be.AppendUint32(dst, uint32(v))
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

func appendBits(dst []byte, s string) []byte {
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

func appendTID(dst []byte, s string) []byte {
	a, b, _ := strings.Cut(strings.Trim(s, "()"), ",")
	x, _ := strconv.ParseUint(a, 10, 32)
	y, _ := strconv.ParseUint(b, 10, 16)
	return be.AppendUint16(be.AppendUint32(dst, uint32(x)), uint16(y))
}

const (
	numericNeg    = 0x4000
	numericNaN    = 0xC000
	numericPosInf = 0xD000
	numericNegInf = 0xF000
	infScale      = 32 // what PostgreSQL sends beside an infinity
)

func appendNumericBinary(dst []byte, d Decimal) []byte {
	head := func(n, weight int, sign uint16, scale int32) {
		dst = be.AppendUint16(dst, uint16(n))
		dst = be.AppendUint16(dst, uint16(weight))
		dst = be.AppendUint16(dst, sign)
		dst = be.AppendUint16(dst, uint16(scale))
	}
	switch d.kind {
	case decNaN:
		head(0, 0, numericNaN, 0)
		return dst
	case decPosInf:
		head(0, 0, numericPosInf, infScale)
		return dst
	case decNegInf:
		head(0, 0, numericNegInf, infScale)
		return dst
	}
	if d.Sign() == 0 {
		head(0, 0, 0, d.scale)
		return dst
	}
	sign := uint16(0)
	if d.Sign() < 0 {
		sign = numericNeg
	}
	// Decimal digits, padded so that groups of four meet at the point.
	s := new(big.Int).Abs(d.coefBig()).String()
	if pad := int(d.scale) % 4; pad != 0 {
		s += "0000"[:4-pad]
	}
	if pad := len(s) % 4; pad != 0 {
		s = "0000"[:4-pad] + s
	}
	weight := len(s)/4 - (int(d.scale)+3)/4 - 1
	groups := make([]uint16, len(s)/4)
	for i := range groups {
		for j := range 4 {
			groups[i] = groups[i]*10 + uint16(s[4*i+j]-'0')
		}
	}
	for len(groups) > 0 && groups[0] == 0 {
		groups, weight = groups[1:], weight-1
	}
	for len(groups) > 0 && groups[len(groups)-1] == 0 {
		groups = groups[:len(groups)-1]
	}
	head(len(groups), weight, sign, d.scale)
	for _, g := range groups {
		dst = be.AppendUint16(dst, g)
	}
	return dst
}

func errBinary(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, format, args...)
}

func parseNumericBinary(b []byte) (Decimal, error) {
	if len(b) < 8 {
		return Decimal{}, errBinary("insufficient data left in message")
	}
	n, weight := int(be.Uint16(b)), int(int16(be.Uint16(b[2:])))
	sign, scale := be.Uint16(b[4:]), int32(be.Uint16(b[6:]))
	b = b[8:]
	if len(b) != 2*n {
		return Decimal{}, errBinary("incorrect binary data format")
	}
	switch sign {
	case 0, numericNeg:
	case numericNaN:
		return DecimalNaN, nil
	case numericPosInf:
		return DecimalInf, nil
	case numericNegInf:
		return DecimalNegInf, nil
	default:
		return Decimal{}, errBinary("invalid sign in external \"numeric\" value")
	}
	if scale > maxDisplayScale {
		return Decimal{}, errBinary("invalid scale in external \"numeric\" value")
	}
	digits := make([]byte, 0, 4*n)
	for i := range n {
		g := be.Uint16(b[2*i:])
		if g >= 10000 {
			return Decimal{}, errBinary("invalid digit in external \"numeric\" value")
		}
		digits = append(digits, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	if n == 0 {
		return Decimal{scale: scale}, nil
	}
	v, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return Decimal{}, errBinary("incorrect binary data format")
	}
	if sign == numericNeg {
		v.Neg(v)
	}
	d := mkDecimal(v, 0)
	if frac := 4 * (n - 1 - weight); frac >= 0 {
		// Positions far beyond any scale can only be cut off.
		if frac > maxDisplayScale+4*n+8 {
			return Decimal{scale: scale}, nil
		}
		d.scale = int32(frac)
	} else if d.Sign() != 0 {
		d = d.shift(-frac)
	}
	if d.scale > scale {
		return d.Trunc(scale), nil
	}
	return d.Round(scale).checked()
}
