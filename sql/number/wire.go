package number

import (
	"encoding/binary"
	"math/big"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	numericNeg    = 0x4000
	numericNaN    = 0xC000
	numericPosInf = 0xD000
	numericNegInf = 0xF000
	infScale      = 32 // what PostgreSQL sends beside an infinity
)

// AppendWire appends d in the binary form of the wire: digits to base 10,000.
func (d Decimal) AppendWire(dst []byte) []byte {
	head := func(n, weight int, sign uint16, scale int32) {
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
		dst = binary.BigEndian.AppendUint16(dst, uint16(weight))
		dst = binary.BigEndian.AppendUint16(dst, sign)
		dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
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
		dst = binary.BigEndian.AppendUint16(dst, g)
	}
	return dst
}

// ParseDecimalWire reads the binary form of the wire.
func ParseDecimalWire(b []byte) (Decimal, error) {
	if len(b) < 8 {
		return Decimal{}, pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message")
	}
	n, weight := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:])))
	sign, scale := binary.BigEndian.Uint16(b[4:]), int32(binary.BigEndian.Uint16(b[6:]))
	b = b[8:]
	if len(b) != 2*n {
		return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
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
		return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid sign in external \"numeric\" value")
	}
	if scale > maxDisplayScale {
		return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid scale in external \"numeric\" value")
	}
	digits := make([]byte, 0, 4*n)
	for i := range n {
		g := binary.BigEndian.Uint16(b[2*i:])
		if g >= 10000 {
			return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid digit in external \"numeric\" value")
		}
		digits = append(digits, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	if n == 0 {
		return Decimal{scale: scale}, nil
	}
	v, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
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
