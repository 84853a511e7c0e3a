package inet

import (
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The families, as a value and the wire hold them.
const (
	v4 = 2
	v6 = 3
)

// addr is a value taken apart.
type addr struct {
	ip   []byte // 4 or 16
	bits int
}

// of takes a value apart. Its memory is the value's.
func of(v []byte) addr {
	n := (len(v) - 2) / 2
	return addr{ip: v[len(v)-n:], bits: int(v[1+n])}
}

// value is the bytes that hold a.
func (a addr) value() []byte {
	n := len(a.ip)
	v := make([]byte, 2+2*n)
	v[0] = v4
	if n == 16 {
		v[0] = v6
	}
	for i, b := range a.ip {
		v[1+i] = b & maskByte(a.bits, i)
	}
	v[1+n] = byte(a.bits)
	copy(v[2+n:], a.ip)
	return v
}

func (a addr) maxBits() int { return 8 * len(a.ip) }

// maskByte is byte i of a mask of so many bits.
func maskByte(bits, i int) byte {
	switch n := bits - 8*i; {
	case n <= 0:
		return 0
	case n < 8:
		return ^byte(0) << (8 - n)
	}
	return 0xff
}

// apply makes an address of the same family, byte by byte.
func (a addr) apply(bits int, f func(i int, b byte) byte) []byte {
	out := addr{ip: make([]byte, len(a.ip)), bits: bits}
	for i, b := range a.ip {
		out.ip[i] = f(i, b)
	}
	return out.value()
}

// isNetwork reports whether no bit is set right of the mask.
func (a addr) isNetwork() bool {
	for i, b := range a.ip {
		if b&^maskByte(a.bits, i) != 0 {
			return false
		}
	}
	return true
}

// common is the number of leading bits, up to most, in which two addresses agree.
func common(a, b addr, most int) int {
	for n := range most {
		if (a.ip[n/8]^b.ip[n/8])>>(7-n%8)&1 != 0 {
			return n
		}
	}
	return most
}

// Send appends the binary form of a value.
func Send(dst, v []byte, cidr bool) []byte {
	a := of(v)
	flag := byte(0)
	if cidr {
		flag = 1
	}
	return append(append(dst, v[0], byte(a.bits), flag, byte(len(a.ip))), a.ip...)
}

// Receive reads the binary form of a value of the named type.
func Receive(b []byte, name string, cidr bool) ([]byte, error) {
	bad := func(what string) error {
		return pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid %s in external \"%s\" value", what, name)
	}
	short := func() error { return pgerr.New(pgerr.ProtocolViolation, "no data left in message") }
	if len(b) < 1 {
		return nil, short()
	}
	n := 4
	switch b[0] {
	case v4:
	case v6:
		n = 16
	default:
		return nil, bad("address family")
	}
	switch {
	case len(b) < 2:
		return nil, short()
	case int(b[1]) > 8*n:
		return nil, bad("bits")
	case len(b) < 4:
		return nil, short()
	case int(b[3]) != n:
		return nil, bad("length")
	case len(b) < 4+n:
		return nil, short()
	case len(b) > 4+n:
		return nil, pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
	}
	a := addr{ip: b[4:], bits: int(b[1])}
	if cidr && !a.isNetwork() {
		return nil, pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid external \"cidr\" value").WithDetail("Value has bits set to right of mask.")
	}
	return a.value(), nil
}
