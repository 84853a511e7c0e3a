package eval

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func isBit(t types.Type) bool { return t.OID == types.BitOID || t.OID == types.VarbitOID }

// addBits registers the functions of bit strings, which are carried as text of
// zeros and ones.
func addBits(t table) {
	length := func(s string) int64 { return int64(len(s)) }
	t.puts(always(strict1(length)), "length(bit)", "bit_length(bit)")
	t.put("octet_length(bit)", always(strict1(func(s string) int64 { return int64(len(s)+7) / 8 })))
	t.put("bit_count(bit)", always(strict1(func(s string) int64 { return int64(strings.Count(s, "1")) })))
	t.put("bitcat(varbit,varbit)", always(strict2(func(a, b string) string { return a + b })))
	pair := func(name string, op func(a, b byte) bool) {
		verb := map[string]string{"bitand": "AND", "bitor": "OR", "bitxor": "XOR"}[name]
		t.put(name+"(bit,bit)", always(try2(func(_ *call, a, b string) (string, error) {
			if len(a) != len(b) {
				return "", pgerr.New(pgerr.StringDataLengthMismatch, "cannot %s bit strings of different sizes", verb)
			}
			return mapBits(a, func(i int) bool { return op(a[i], b[i]) }), nil
		})))
	}
	pair("bitand", func(a, b byte) bool { return a == '1' && b == '1' })
	pair("bitor", func(a, b byte) bool { return a == '1' || b == '1' })
	pair("bitxor", func(a, b byte) bool { return a != b })
	t.put("bitnot(bit)", always(strict1(func(s string) string { return mapBits(s, func(i int) bool { return s[i] == '0' }) })))
	t.put("bitshiftleft(bit,int4)", always(strict2(shiftBits)))
	t.put("bitshiftright(bit,int4)", always(strict2(func(s string, n int64) string { return shiftBits(s, -n) })))
	t.put("substring(bit,int4,int4)", always(try3(func(_ *call, s string, from, n int64) (string, error) { return substring(s, from, n, true) })))
	t.put("substring(bit,int4)", always(try2(func(_ *call, s string, from int64) (string, error) { return substring(s, from, 0, false) })))
	t.put("position(bit,bit)", always(strict2(func(s, sub string) int64 { return int64(strings.Index(s, sub)) + 1 })))
	t.put("overlay(bit,bit,int4,int4)", always(try4(func(_ *call, s, by string, from, n int64) (string, error) { return overlay(s, by, from, n) })))
	t.put("overlay(bit,bit,int4)", always(try3(func(_ *call, s, by string, from int64) (string, error) {
		return overlay(s, by, from, int64(len(by)))
	})))
	t.put("get_bit(bit,int4)", always(try2(func(_ *call, s string, i int64) (int64, error) {
		if i < 0 || i >= int64(len(s)) {
			return 0, pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, len(s)-1)
		}
		return int64(s[i] - '0'), nil
	})))
	t.put("set_bit(bit,int4,int4)", always(try3(func(_ *call, s string, i, v int64) (string, error) {
		if i < 0 || i >= int64(len(s)) {
			return "", pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, len(s)-1)
		}
		if v != 0 && v != 1 {
			return "", pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
		}
		return s[:i] + string(rune('0'+v)) + s[i+1:], nil
	})))
	resize := func(o types.OID) maker {
		return always(try3(func(_ *call, s string, n int64, explicit bool) (string, error) {
			if n > maxBits {
				n = 1
			}
			d, err := types.ApplyMod(types.Type{OID: o, Mod: int32(n)}, s, explicit)
			if err != nil {
				return "", err
			}
			return d.(string), nil
		}))
	}
	t.put("bit(bit,int4,bool)", resize(types.BitOID))
	t.put("varbit(varbit,int4,bool)", resize(types.VarbitOID))
	t.put("bit(int4,int4)", always(strict2(func(v, n int64) string { return bitsOf(uint64(v), 32, v < 0, int(n)) })))
	t.put("bit(int8,int4)", always(strict2(func(v, n int64) string { return bitsOf(uint64(v), 64, v < 0, int(n)) })))
	t.put("int4(bit)", always(bitToInt(types.Int4)))
	t.put("int8(bit)", always(bitToInt(types.Int8)))
}

func mapBits(s string, f func(i int) bool) string {
	b := make([]byte, len(s))
	for i := range b {
		b[i] = '0' + b2u(f(i))
	}
	return string(b)
}

func shiftBits(s string, n int64) string {
	w := int64(len(s))
	switch {
	case n >= w || n <= -w:
		return strings.Repeat("0", len(s))
	case n >= 0:
		return s[n:] + strings.Repeat("0", int(n))
	}
	return strings.Repeat("0", int(-n)) + s[:w+n]
}

// maxBits is the longest bit string that a modifier may ask for.
const maxBits = 83886080

// bitsOf gives the low n bits of a number of width bits, extended by its sign.
func bitsOf(v uint64, width int, negative bool, n int) string {
	if n < 1 || n > maxBits {
		n = 1
	}
	b := make([]byte, n)
	for i := range b {
		k := n - 1 - i // bit number
		bit := byte(0)
		switch {
		case k < width:
			bit = byte(v >> k & 1)
		case negative:
			bit = 1
		}
		b[i] = '0' + bit
	}
	return string(b)
}

func intToBit(from types.Type, n int) impl {
	width := 32
	if from.OID == types.Int8OID {
		width = 64
	}
	return strict1(func(v int64) string { return bitsOf(uint64(v), width, v < 0, n) })
}

func bitToInt(to types.Type) impl {
	width := 32
	if to.OID == types.Int8OID {
		width = 64
	}
	return try1(func(_ *call, s string) (int64, error) {
		if len(s) > width {
			return 0, errRange(to)
		}
		var v uint64
		for i := range len(s) {
			v = v<<1 | uint64(s[i]-'0')
		}
		if width == 32 {
			return int64(int32(uint32(v))), nil
		}
		if v > math.MaxInt64 {
			return int64(v), nil
		}
		return int64(v), nil
	})
}
