package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/types"
)

// bitParse reads bits of a text and cuts or fills them to the length of bit(n) at once, in the result.
func bitParse(to types.Type) function.Impl {
	return function.Try1(func(c *function.Call, s string) (string, error) {
		b := c.Text(int(to.Mod))
		if out := b.Extend(int(to.Mod)); writeBits(out, s) {
			return b.String(), nil
		}
		c.Parsing(to, s)
		d, err := types.ParseBits(s)
		if err != nil {
			return "", err
		}
		fit, err := types.ApplyMod(to, d, true)
		if err != nil {
			return "", err
		}
		return fit.(string), nil
	})
}

// writeBits fills out with the bits of a text, zeros after them; false for texts that are none.
func writeBits(out []byte, s string) bool {
	hex := false
	if s != "" {
		switch s[0] | 0x20 {
		case 'x':
			s, hex = s[1:], true
		case 'b':
			s = s[1:]
		}
	}
	at := 0
	for i := range len(s) {
		if !hex {
			if s[i]&^1 != '0' {
				return false
			}
			if at < len(out) {
				out[at] = s[i]
				at++
			}
			continue
		}
		d, ok := ascii.HexDigit(s[i])
		if !ok {
			return false
		}
		bits := [4]byte{'0' + d>>3, '0' + d>>2&1, '0' + d>>1&1, '0' + d&1}
		at += copy(out[at:], bits[:])
	}
	for ; at < len(out); at++ {
		out[at] = '0'
	}
	return true
}
