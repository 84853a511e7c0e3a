package textfn

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
)

// casedTexts is lower or upper, where the 26 letters from first on are of the other case and f changes a character: of whole
// columns at once where these are ASCII, as texts keep their lengths then.
func casedTexts(first byte, f func(rune) rune) function.Impl {
	slow := function.Try1(func(c *function.Call, s string) (string, error) { return cased(c, s, first, f), nil })
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := args[0]
		if v.Kind != vector.Str || v.One || c.N == 0 {
			return slow(c, args)
		}
		from := v.Off[0]
		in := v.Data[from:v.Off[c.N]]
		if !isASCII(in) {
			return slow(c, args)
		}
		out := &vector.Vec{Kind: vector.Str, N: c.N, Valid: c.Valid, Off: v.Off[:c.N+1], Data: c.Arena.Bytes(len(in))}
		turnCase(out.Data, in, first)
		c.Meter().Poll(len(in))
		if from > 0 {
			out.Off = vector.Alloc[int32](c.Arena, c.N+1)
			for i := range out.Off {
				out.Off[i] = v.Off[i] - from
			}
		}
		return out, nil
	}
}

// cased is lower or upper of a text.
func cased(c *function.Call, s string, first byte, f func(rune) rune) string {
	if len(s) > vector.PollBytes || !isASCII(vector.StringBytes(s)) {
		return c.Mapped(s, f)
	}
	t := c.Text(len(s))
	turnCase(t.Extend(len(s)), vector.StringBytes(s), first)
	return t.String()
}

// turnCase writes ASCII into out, the 26 letters from first on in the other case: eight at a time. A byte has its high bit
// in the sum with 128-first where it is first or later, and with 128-first-26 where it is behind the last letter.
func turnCase(out, in []byte, first byte) {
	const ones = 0x0101010101010101
	least, past := uint64(128-first)*ones, uint64(128-first-26)*ones
	for ; len(in) >= 8 && len(out) >= 8; in, out = in[8:], out[8:] {
		x := binary.LittleEndian.Uint64(in)
		letters := (x + least) &^ (x + past) & (0x80 * ones)
		binary.LittleEndian.PutUint64(out, x^letters>>2)
	}
	for i, b := range in {
		if b-first < 26 {
			b ^= 'a' - 'A'
		}
		out[i] = b
	}
}

func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 32; b = b[32:] {
		x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if x&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
