package types

import (
	"encoding/hex"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// parseBytea reads both forms of bytea: \x and hexadecimal digits, or text
// with \\ and \ooo.
func parseBytea(s string) ([]byte, error) {
	if len(s) >= 2 && s[0] == '\\' && s[1] == 'x' {
		return DecodeHex(s[2:])
	}
	return DecodeEscape(s)
}

// DecodeEscape reads text with \\ and \ooo.
func DecodeEscape(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		switch {
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s", "bytea")
		}
	}
	return out, nil
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// DecodeHex reads hexadecimal digits, blanks between pairs allowed.
func DecodeHex(s string) ([]byte, error) {
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		hi, ok := ascii.HexDigit(c)
		if !ok {
			return nil, errHexDigit(s[i:])
		}
		i++
		if i == len(s) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, ok := ascii.HexDigit(s[i])
		if !ok {
			return nil, errHexDigit(s[i:])
		}
		out = append(out, hi<<4|lo)
	}
	return out, nil
}

func errHexDigit(rest string) error {
	for _, r := range rest {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%c\"", r)
	}
	return nil
}

// appendBytea appends the text form of b.
func appendBytea(dst, b []byte, form ByteaOutput) []byte {
	if form == ByteaHex {
		return hex.AppendEncode(append(dst, '\\', 'x'), b)
	}
	for _, c := range b {
		switch {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// parseUUID reads a uuid: 32 hexadecimal digits, hyphens after any group of
// four, braces around.
func parseUUID(text string) (u [16]byte, err error) {
	s := text
	brace := len(s) > 0 && s[0] == '{'
	if brace {
		s = s[1:]
	}
	for i := range u {
		if len(s) < 2 {
			return u, pgerr.InvalidText("uuid", text)
		}
		hi, ok1 := ascii.HexDigit(s[0])
		lo, ok2 := ascii.HexDigit(s[1])
		if !ok1 || !ok2 {
			return u, pgerr.InvalidText("uuid", text)
		}
		u[i] = hi<<4 | lo
		s = s[2:]
		if len(s) > 0 && s[0] == '-' && i%2 == 1 && i < 15 {
			s = s[1:]
		}
	}
	if brace {
		if s != "}" {
			return u, pgerr.InvalidText("uuid", text)
		}
	} else if s != "" {
		return u, pgerr.InvalidText("uuid", text)
	}
	return u, nil
}

// appendUUID appends the text form of u.
func appendUUID(dst []byte, u [16]byte) []byte {
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		from := []int{0, 4, 6, 8, 10}[i]
		dst = hex.AppendEncode(dst, u[from:from+n])
	}
	return dst
}

// ParseBits reads a bit string: digits 0 and 1 (after an optional b), or
// hexadecimal digits after x. The result has digits 0 and 1 only.
func ParseBits(s string) (string, error) {
	body, isHex := s, false
	if s != "" {
		switch s[0] | 0x20 {
		case 'b':
			body = s[1:]
		case 'x':
			body, isHex = s[1:], true
		}
	}
	out := make([]byte, 0, len(body)*4)
	for _, r := range body {
		if !isHex {
			if r != '0' && r != '1' {
				return "", pgerr.New(pgerr.InvalidTextRepresentation, "\"%c\" is not a valid binary digit", r)
			}
			out = append(out, byte(r))
			continue
		}
		d, ok := byte(0), false
		if r < 0x80 {
			d, ok = ascii.HexDigit(byte(r))
		}
		if !ok {
			return "", pgerr.New(pgerr.InvalidTextRepresentation, "\"%c\" is not a valid hexadecimal digit", r)
		}
		for b := 3; b >= 0; b-- {
			out = append(out, '0'+d>>b&1)
		}
	}
	return string(out), nil
}
