package number

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// The encoding of a variable numeric in a Binary column. The low two bits of the first byte are the
// form:
//
//	form 0  small    bits 2-7 the scale, 63 meaning that a little-endian uint16
//	                 scale follows; then 0 to 8 bytes of the coefficient,
//	                 little-endian two's complement, as few as hold it
//	form 1  big      bit 2 the sign, then uint16 scale, then the magnitude of
//	                 the coefficient, big-endian, without leading zeros; only
//	                 for coefficients that do not fit an int64
//	form 2  special  bits 2-3: 0 NaN, 1 Infinity, 2 -Infinity
//
// One value of one scale has one encoding. Values that are equal at different
// scales have different ones; NormalizeDecimalBytes makes them the same.
const (
	formSmall   = 0
	formBig     = 1
	formSpecial = 2

	longScale   = 63
	maxBigBytes = (maxIntDigits+maxDisplayScale)*10/24 + 2
)

// AppendBinary appends the column encoding of d.
func (d Decimal) AppendBinary(dst []byte) []byte {
	switch d.kind {
	case decNaN:
		return append(dst, formSpecial)
	case decPosInf:
		return append(dst, formSpecial|1<<2)
	case decNegInf:
		return append(dst, formSpecial|2<<2)
	}
	if d.big != nil {
		h := byte(formBig)
		if d.big.Sign() < 0 {
			h |= 1 << 2
		}
		dst = binary.LittleEndian.AppendUint16(append(dst, h), uint16(d.scale))
		at := len(dst)
		dst = append(dst, make([]byte, (d.big.BitLen()+7)/8)...)
		d.big.FillBytes(dst[at:])
		return dst
	}
	return appendSmall(dst, d.coef, d.scale)
}

// appendSmall appends form 0.
func appendSmall(dst []byte, coef int64, scale int32) []byte {
	if scale < longScale {
		dst = append(dst, byte(scale)<<2)
	} else {
		dst = binary.LittleEndian.AppendUint16(append(dst, longScale<<2), uint16(scale))
	}
	if coef == 0 {
		return dst
	}
	for v := coef; ; v >>= 8 {
		dst = append(dst, byte(v))
		if v == int64(int8(v)) {
			return dst // the rest is the sign of what is written
		}
	}
}

// appendWords appends the number of magnitude hi·2^64 + lo in the form it has.
func appendWords(dst []byte, neg bool, hi, lo uint64, scale int32) []byte {
	if hi == 0 && (lo <= math.MaxInt64 || neg && lo == 1<<63) {
		if neg {
			lo = -lo
		}
		return appendSmall(dst, int64(lo), scale)
	}
	h := byte(formBig)
	if neg {
		h |= 1 << 2
	}
	dst = binary.LittleEndian.AppendUint16(append(dst, h), uint16(scale))
	var words [16]byte
	binary.BigEndian.PutUint64(words[:], hi)
	binary.BigEndian.PutUint64(words[8:], lo)
	zeros := bits.LeadingZeros64(hi)
	if hi == 0 {
		zeros += bits.LeadingZeros64(lo)
	}
	return append(dst, words[zeros/8:]...)
}

func errBadNumeric() error {
	return pgerr.New(pgerr.DataCorrupted, "invalid numeric in column data")
}

// DecodeDecimal reads the column encoding.
func DecodeDecimal(b []byte) (Decimal, error) {
	if len(b) == 0 {
		return Decimal{}, errBadNumeric()
	}
	h := b[0]
	switch h & 3 {
	case formSmall:
		v, scale, ok := smallDecimal(b)
		if !ok {
			return Decimal{}, errBadNumeric()
		}
		return Decimal{coef: v, scale: scale}, nil
	case formBig:
		if len(b) < 4 || len(b) > maxBigBytes+3 {
			return Decimal{}, errBadNumeric()
		}
		scale := int32(binary.LittleEndian.Uint16(b[1:]))
		if scale > maxDisplayScale {
			return Decimal{}, errBadNumeric()
		}
		if b = b[3:]; len(b) <= 16 {
			hi, lo := wordsOf(b)
			return decimalOfWords(h&4 != 0, hi, lo, scale), nil
		}
		v := new(big.Int).SetBytes(b)
		if h&4 != 0 {
			v.Neg(v)
		}
		return mkDecimal(v, scale), nil
	case formSpecial:
		if len(b) == 1 {
			switch h >> 2 {
			case 0:
				return DecimalNaN, nil
			case 1:
				return DecimalInf, nil
			case 2:
				return DecimalNegInf, nil
			}
		}
	}
	return Decimal{}, errBadNumeric()
}

// smallDecimal reads form 0.
func smallDecimal(b []byte) (v int64, scale int32, ok bool) {
	scale = int32(b[0] >> 2)
	b = b[1:]
	if scale == longScale {
		if len(b) < 2 {
			return 0, 0, false
		}
		scale = int32(binary.LittleEndian.Uint16(b))
		b = b[2:]
		if scale > maxDisplayScale {
			return 0, 0, false
		}
	}
	n := len(b)
	if n == 0 {
		return 0, scale, true
	}
	if n > 8 {
		return 0, 0, false
	}
	v = int64(int8(b[n-1]))
	for i := n - 2; i >= 0; i-- {
		v = v<<8 | int64(b[i])
	}
	return v, scale, true
}

// SmallDecimalBytes reads an encoding whose coefficient fits an int64, for
// kernels; ok is false for the other forms.
func SmallDecimalBytes(b []byte) (coef int64, scale int32, ok bool) {
	if len(b) == 0 || b[0]&3 != formSmall {
		return 0, 0, false
	}
	return smallDecimal(b)
}

// Coefficients reads encodings, end to end, of numbers that all have a scale below 63 and coefficients that fit an int64,
// but for those that are not valid; false if there is another.
func Coefficients(out []int64, offs []int32, data []byte, scale uint8, valid []byte) bool {
	if len(offs) <= len(out) {
		return len(out) == 0
	}
	head, bad := scale<<2|formSmall, byte(0)
	from := int(offs[0])
	for i := range out {
		to := int(offs[i+1])
		unused := uint(9-(to-from)) * 8
		at := from
		from = to
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		if unused > 64 {
			return false
		}
		// The nine bytes from the head on: what is behind the number is shifted out.
		if at+9 <= len(data) {
			b := data[at : at+9]
			bad |= b[0] ^ head
			out[i] = int64(binary.LittleEndian.Uint64(b[1:])<<unused) >> unused
			continue
		}
		bad |= data[at] ^ head
		out[i], _, _ = smallDecimal(data[at:to])
	}
	return bad == 0
}

// SignOfBytes returns the sign of a number by its encoding, 1 for NaN as it is above all numbers,
// for kernels; ok is false for other bytes.
func SignOfBytes(b []byte) (sign int, ok bool) {
	if v, _, ok := SmallDecimalBytes(b); ok {
		return cmp.Compare(v, 0), true
	}
	switch {
	case len(b) >= 4 && b[0]&3 == formBig: // what is 0 is small
		return 1 - int(b[0]&4)/2, true
	case len(b) == 1 && b[0]&3 == formSpecial:
		return 1 - int(b[0]>>2&2), true
	}
	return 0, false
}

// ScaleOfBytes returns the scale of a finite number by its encoding, for kernels; ok is false for
// all else.
func ScaleOfBytes(b []byte) (scale int32, ok bool) {
	if _, scale, ok := SmallDecimalBytes(b); ok {
		return scale, true
	}
	if len(b) < 4 || b[0]&3 != formBig {
		return 0, false
	}
	scale = int32(binary.LittleEndian.Uint16(b[1:]))
	return scale, scale <= maxDisplayScale
}

// wideBytes is the longest magnitude that WideDecimalBytes reads: with the sign
// it leaves room in 128 bits.
const wideBytes = 15

// WideDecimalBytes reads an encoding whose coefficient, hi·2^64 + lo, fits 120
// bits, for kernels; ok is false for the other forms.
func WideDecimalBytes(b []byte) (hi int64, lo uint64, scale int32, ok bool) {
	if v, scale, ok := SmallDecimalBytes(b); ok {
		return v >> 63, uint64(v), scale, true
	}
	if len(b) < 4 || len(b) > wideBytes+3 || b[0]&3 != formBig {
		return 0, 0, 0, false
	}
	if scale = int32(binary.LittleEndian.Uint16(b[1:])); scale > maxDisplayScale {
		return 0, 0, 0, false
	}
	h, lo := wordsOf(b[3:])
	if b[0]&4 != 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		h, _ = bits.Sub64(0, h, borrow)
	}
	return int64(h), lo, scale, true
}

// CompareDecimalBytes orders two encodings by value. Damaged bytes order as NaN.
func CompareDecimalBytes(a, b []byte) int {
	if len(a) > 0 && len(b) > 0 && a[0] == b[0] && a[0]&3 == formSmall {
		if bytes.Equal(a, b) {
			return 0
		}
		va, sa, oka := smallDecimal(a)
		vb, sb, okb := smallDecimal(b)
		if oka && okb && sa == sb {
			return cmp.Compare(va, vb)
		}
	}
	da, err := DecodeDecimal(a)
	if err != nil {
		da = DecimalNaN
	}
	db, err := DecodeDecimal(b)
	if err != nil {
		db = DecimalNaN
	}
	return da.Cmp(db)
}

// NormalizeDecimalBytes appends to dst the encoding of b's value at its least
// scale, so that equal values have equal bytes, as hashing and grouping need.
func NormalizeDecimalBytes(dst, b []byte) []byte {
	if v, scale, ok := SmallDecimalBytes(b); ok && (scale == 0 || v%10 != 0) {
		return append(dst, b...)
	}
	d, err := DecodeDecimal(b)
	if err != nil {
		return append(dst, b...)
	}
	return d.HashKey(dst)
}

// HashKey appends the encoding of d at its least scale.
func (d Decimal) HashKey(dst []byte) []byte { return d.trimZeros().AppendBinary(dst) }

// Approximate reads the column encoding as a float, with an error of a few units in its last place
// at most: NaN for bytes that are no number, or one of more than 38 digits or a scale above 200.
func Approximate(b []byte) float64 {
	if len(b) == 0 {
		return math.NaN()
	}
	switch b[0] & 3 {
	case formSmall:
		if v, scale, ok := smallDecimal(b); ok && scale <= 200 {
			return float64(v) / math.Pow10(int(scale))
		}
	case formBig:
		if len(b) < 4 || len(b) > 16+3 {
			break
		}
		scale := binary.LittleEndian.Uint16(b[1:])
		if scale > 200 {
			break
		}
		hi, lo := wordsOf(b[3:])
		f := (float64(hi)*(1<<64) + float64(lo)) / math.Pow10(int(scale))
		if b[0]&4 != 0 {
			f = -f
		}
		return f
	}
	return math.NaN()
}
