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
	t.put("bitcat(varbit,varbit)", always(concatTexts))
	pair := func(name string, op func(a, b byte) bool) {
		verb := map[string]string{"bitand": "AND", "bitor": "OR", "bitxor": "XOR"}[name]
		t.put(name+"(bit,bit)", always(try2(func(c *call, a, b string) (string, error) {
			if len(a) != len(b) {
				return "", pgerr.New(pgerr.StringDataLengthMismatch, "cannot %s bit strings of different sizes", verb)
			}
			return mapBits(c, a, func(i int) bool { return op(a[i], b[i]) }), nil
		})))
	}
	pair("bitand", func(a, b byte) bool { return a == '1' && b == '1' })
	pair("bitor", func(a, b byte) bool { return a == '1' || b == '1' })
	pair("bitxor", func(a, b byte) bool { return a != b })
	t.put("bitnot(bit)", always(try1(func(c *call, s string) (string, error) {
		return mapBits(c, s, func(i int) bool { return s[i] == '0' }), nil
	})))
	t.put("bitshiftleft(bit,int4)", always(try2(shiftBits)))
	t.put("bitshiftright(bit,int4)", always(try2(func(c *call, s string, n int64) (string, error) { return shiftBits(c, s, -n) })))
	t.put("substring(bit,int4,int4)", always(try3(func(_ *call, s string, from, n int64) (string, error) { return substring(s, from, n, true) })))
	t.put("substring(bit,int4)", always(try2(func(_ *call, s string, from int64) (string, error) { return substring(s, from, 0, false) })))
	t.put("position(bit,bit)", always(strict2(func(s, sub string) int64 { return int64(strings.Index(s, sub)) + 1 })))
	t.put("overlay(bit,bit,int4,int4)", always(try4(overlay)))
	t.put("overlay(bit,bit,int4)", always(try3(func(c *call, s, by string, from int64) (string, error) {
		return overlay(c, s, by, from, int64(len(by)))
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
	t.put("bit(int4,int4)", always(try2(func(c *call, v, n int64) (string, error) { return bitsOf(c, uint64(v), 32, v < 0, int(n)), nil })))
	t.put("bit(int8,int4)", always(try2(func(c *call, v, n int64) (string, error) { return bitsOf(c, uint64(v), 64, v < 0, int(n)), nil })))
	t.put("int4(bit)", always(bitToInt(types.Int4)))
	t.put("int8(bit)", always(bitToInt(types.Int8)))
}

func mapBits(c *call, s string, f func(i int) bool) string {
	b := c.text(len(s))
	for i := range len(s) {
		_ = b.WriteByte('0' + b2u(f(i)))
	}
	return b.String()
}

func shiftBits(c *call, s string, n int64) (string, error) {
	w := int64(len(s))
	n = max(-w, min(n, w))
	b := c.text(len(s))
	b.Repeat("0", -n)
	b.WriteString(s[max(n, 0) : w+min(n, 0)])
	b.Repeat("0", n)
	return b.String(), nil
}

// maxBits is the longest bit string that a modifier may ask for.
const maxBits = 83886080

// bitsOf gives the low n bits of a number of width bits, extended by its sign.
func bitsOf(c *call, v uint64, width int, negative bool, n int) string {
	if n < 1 || n > maxBits {
		n = 1
	}
	b := c.text(n)
	for i := range n {
		k := n - 1 - i // bit number
		bit := byte(0)
		switch {
		case k < width:
			bit = byte(v >> k & 1)
		case negative:
			bit = 1
		}
		_ = b.WriteByte('0' + bit)
	}
	return b.String()
}

func intToBit(from types.Type, n int) impl {
	width := 32
	if from.OID == types.Int8OID {
		width = 64
	}
	return try1(func(c *call, v int64) (string, error) { return bitsOf(c, uint64(v), width, v < 0, n), nil })
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
