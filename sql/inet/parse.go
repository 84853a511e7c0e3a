package inet

import (
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Parse reads the text of a value of inet, or of cidr, which may leave out octets and the mask and has no bits
// right of it.
func Parse(s string, cidr bool) ([]byte, error) {
	name, read := "inet", inetV4
	if cidr {
		name, read = "cidr", cidrV4
	}
	if strings.Contains(s, ":") {
		read = anyV6
	}
	a, ok := read(s)
	if !ok {
		return nil, pgerr.InvalidText(name, s)
	}
	if cidr && !a.isNetwork() {
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid cidr value: \"%s\"", s).WithDetail("Value has bits set to right of mask.")
	}
	return a.value(), nil
}

// octets reads numbers up to 255 with points between. A point may be the last.
func octets(s string, trailing bool) (ip []byte, rest string, ok bool) {
	for s != "" && ascii.IsDigit(s[0]) {
		n := 0
		for s != "" && ascii.IsDigit(s[0]) {
			if n = 10*n + int(s[0]-'0'); n > 255 {
				return nil, "", false
			}
			s = s[1:]
		}
		if len(ip) == 4 {
			return nil, "", false
		}
		ip = append(ip, byte(n))
		if s == "" || s[0] != '.' {
			return ip, s, true
		}
		s = s[1:]
	}
	return ip, s, trailing && len(ip) > 0
}

// mask reads what follows an IPv4 address: nothing, for -1, or a slash and the mask's length.
func mask(s string) (bits int, ok bool) {
	if s == "" {
		return -1, true
	}
	if len(s) < 2 || s[0] != '/' {
		return 0, false
	}
	for _, c := range []byte(s[1:]) {
		if !ascii.IsDigit(c) {
			return 0, false
		}
		if bits = 10*bits + int(c-'0'); bits > 32 {
			return 0, false
		}
	}
	return bits, true
}

func inetV4(s string) (addr, bool) {
	ip, rest, ok := octets(s, true)
	bits, ok2 := mask(rest)
	if !ok || !ok2 || bits < 0 && len(ip) != 4 || bits/8 > len(ip) {
		return addr{}, false
	}
	if bits < 0 {
		bits = 32
	}
	return addr{append(ip, make([]byte, 4-len(ip))...), bits}, true
}

func cidrV4(s string) (addr, bool) {
	var ip []byte
	var ok bool
	rest := s
	if digits, hex := strings.CutPrefix(strings.ToLower(s), "0x"); hex {
		n := 0
		for ; n < len(digits); n++ {
			d, isHex := ascii.HexDigit(digits[n])
			if !isHex {
				break
			}
			if n%2 == 0 {
				ip = append(ip, d<<4)
			} else {
				ip[n/2] |= d
			}
		}
		rest, ok = digits[n:], n > 0 && len(ip) <= 4
	} else {
		ip, rest, ok = octets(s, false)
	}
	bits, ok2 := mask(rest)
	if !ok || !ok2 {
		return addr{}, false
	}
	if bits < 0 { // that of the address's class
		switch {
		case ip[0] >= 240:
			bits = 32
		case ip[0] >= 224:
			bits = 8
		case ip[0] >= 192:
			bits = 24
		case ip[0] >= 128:
			bits = 16
		default:
			bits = 8
		}
		if bits = max(bits, 8*len(ip)); bits == 8 && ip[0] == 224 {
			bits = 4
		}
	}
	return addr{append(ip, make([]byte, 4-len(ip))...), bits}, true
}

// decimal reads a number without leading zeros; none is 0.
func decimal(s string, most int) (n int, ok bool) {
	for i, c := range []byte(s) {
		if !ascii.IsDigit(c) || i > 0 && n == 0 {
			return 0, false
		}
		if n = 10*n + int(c-'0'); n > most {
			return 0, false
		}
	}
	return n, s != ""
}

// anyV6 reads an IPv6 address, of which the last 32 bits may be written as an IPv4 address, and a mask.
func anyV6(s string) (addr, bool) {
	s, tail, slash := strings.Cut(s, "/")
	bits := 128
	if slash {
		n, ok := decimal(tail, 128)
		if !ok {
			return addr{}, false
		}
		bits = n
	}
	head, after, gap := strings.Cut(s, "::")
	ip, ok := words(head, !gap, slash)
	if !gap {
		return addr{ip, bits}, ok && len(ip) == 16
	}
	end, ok2 := words(after, true, slash)
	zeros := 16 - len(ip) - len(end)
	if !ok || !ok2 || zeros <= 0 {
		return addr{}, false
	}
	return addr{append(append(ip, make([]byte, zeros)...), end...), bits}, true
}

// words reads groups of four hexadecimal digits with colons between, the last of which may be an IPv4 address
// if v4 allows it. As PostgreSQL has it, that may leave out its last octets and the digits of others, of the last one only before
// a mask.
func words(s string, v4, masked bool) (ip []byte, ok bool) {
	if s == "" {
		return nil, true
	}
	groups := strings.Split(s, ":")
	for i, g := range groups {
		if strings.Contains(g, ".") {
			parts := strings.Split(g, ".")
			if !v4 || i != len(groups)-1 || len(parts) > 4 || len(ip) > 12 {
				return nil, false
			}
			for k, p := range parts {
				n, ok := decimal(p, 255)
				if p == "" && (k < len(parts)-1 || masked) {
					n, ok = 0, true
				}
				if !ok {
					return nil, false
				}
				ip = append(ip, byte(n))
			}
			return append(ip, make([]byte, 4-len(parts))...), true
		}
		n := 0
		if g == "" || len(g) > 4 || len(ip) > 14 {
			return nil, false
		}
		for _, c := range []byte(g) {
			d, isHex := ascii.HexDigit(c)
			if !isHex {
				return nil, false
			}
			n = n<<4 | int(d)
		}
		ip = append(ip, byte(n>>8), byte(n))
	}
	return ip, true
}
