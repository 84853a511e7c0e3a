package textfn

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// IsBit reports whether a type is bit or bit varying.
func IsBit(t types.Type) bool { return t.OID == types.BitOID || t.OID == types.VarbitOID }

// addBits registers the functions of bit strings, which are represented as text of
// zeros and ones.
func addBits(t function.Table) {
	length := func(s string) int64 { return int64(len(s)) }
	t.Puts(function.Always(function.Strict1(length)), "length(bit)", "bit_length(bit)")
	t.Put("octet_length(bit)", function.Always(function.Strict1(func(s string) int64 { return int64(len(s)+7) / 8 })))
	t.Put("bit_count(bit)", function.Always(function.Strict1(func(s string) int64 { return int64(strings.Count(s, "1")) })))
	t.Put("bitcat(varbit,varbit)", function.Always(concatTexts))
	pair := func(name string, op func(a, b byte) bool) {
		verb := map[string]string{"bitand": "AND", "bitor": "OR", "bitxor": "XOR"}[name]
		t.Put(name+"(bit,bit)", function.Always(function.Try2(func(c *function.Call, a, b string) (string, error) {
			if len(a) != len(b) {
				return "", pgerr.New(pgerr.StringDataLengthMismatch, "cannot %s bit strings of different sizes", verb)
			}
			return mapBits(c, a, func(i int) bool { return op(a[i], b[i]) }), nil
		})))
	}
	pair("bitand", func(a, b byte) bool { return a == '1' && b == '1' })
	pair("bitor", func(a, b byte) bool { return a == '1' || b == '1' })
	pair("bitxor", func(a, b byte) bool { return a != b })
	t.Put("bitnot(bit)", function.Always(function.Try1(func(c *function.Call, s string) (string, error) {
		return mapBits(c, s, func(i int) bool { return s[i] == '0' }), nil
	})))
	t.Put("bitshiftleft(bit,int4)", function.Always(function.Try2(shiftBits)))
	t.Put("bitshiftright(bit,int4)", function.Always(function.Try2(func(c *function.Call, s string, n int64) (string, error) { return shiftBits(c, s, -n) })))
	t.Put("substring(bit,int4,int4)", function.Always(function.Try3(func(_ *function.Call, s string, from, n int64) (string, error) { return substring(s, from, n, true) })))
	t.Put("substring(bit,int4)", function.Always(function.Try2(func(_ *function.Call, s string, from int64) (string, error) { return substring(s, from, 0, false) })))
	t.Put("position(bit,bit)", function.Always(function.Strict2(func(s, sub string) int64 { return int64(strings.Index(s, sub)) + 1 })))
	t.Put("overlay(bit,bit,int4,int4)", function.Always(function.Try4(overlay)))
	t.Put("overlay(bit,bit,int4)", function.Always(function.Try3(func(c *function.Call, s, by string, from int64) (string, error) {
		return overlay(c, s, by, from, int64(len(by)))
	})))
	t.Put("get_bit(bit,int4)", function.Always(function.Try2(func(_ *function.Call, s string, i int64) (int64, error) {
		if i < 0 || i >= int64(len(s)) {
			return 0, pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, len(s)-1)
		}
		return int64(s[i] - '0'), nil
	})))
	t.Put("set_bit(bit,int4,int4)", function.Always(function.Try3(func(_ *function.Call, s string, i, v int64) (string, error) {
		if i < 0 || i >= int64(len(s)) {
			return "", pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, len(s)-1)
		}
		if v != 0 && v != 1 {
			return "", pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
		}
		return s[:i] + string(rune('0'+v)) + s[i+1:], nil
	})))
	resize := func(o types.OID) function.Maker {
		return function.Always(function.Try3(func(_ *function.Call, s string, n int64, explicit bool) (string, error) {
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
	t.Put("bit(bit,int4,bool)", resize(types.BitOID))
	t.Put("varbit(varbit,int4,bool)", resize(types.VarbitOID))
	t.Put("bit(int4,int4)", function.Always(function.Try2(func(c *function.Call, v, n int64) (string, error) {
		return bitsOf(c, uint64(v), 32, v < 0, int(n)), nil
	})))
	t.Put("bit(int8,int4)", function.Always(function.Try2(func(c *function.Call, v, n int64) (string, error) {
		return bitsOf(c, uint64(v), 64, v < 0, int(n)), nil
	})))
	t.Put("int4(bit)", function.Always(BitToInt(types.Int4)))
	t.Put("int8(bit)", function.Always(BitToInt(types.Int8)))
}

func mapBits(c *function.Call, s string, f func(i int) bool) string {
	b := c.Text(len(s))
	for i := range len(s) {
		_ = b.WriteByte('0' + vector.ByteOf(f(i)))
	}
	return b.String()
}

func shiftBits(c *function.Call, s string, n int64) (string, error) {
	w := int64(len(s))
	n = max(-w, min(n, w))
	b := c.Text(len(s))
	b.Repeat("0", -n)
	b.WriteString(s[max(n, 0) : w+min(n, 0)])
	b.Repeat("0", n)
	return b.String(), nil
}

// maxBits is the longest bit string that a modifier may ask for.
const maxBits = 83886080

// bitsOf returns the low n bits of a number of width bits, extended by its sign.
func bitsOf(c *function.Call, v uint64, width int, negative bool, n int) string {
	if n < 1 || n > maxBits {
		n = 1
	}
	b := c.Text(n)
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

// IntToBit makes bits of the last n of an integer.
func IntToBit(from types.Type, n int) function.Impl {
	width := 32
	if from.OID == types.Int8OID {
		width = 64
	}
	return function.Try1(func(c *function.Call, v int64) (string, error) { return bitsOf(c, uint64(v), width, v < 0, n), nil })
}

// BitToInt reads bits as an integer.
func BitToInt(to types.Type) function.Impl {
	width := 32
	if to.OID == types.Int8OID {
		width = 64
	}
	return function.Try1(func(_ *function.Call, s string) (int64, error) {
		if len(s) > width {
			return 0, vector.ErrRange(to)
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
