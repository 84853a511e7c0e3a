package inet

import (
	"bytes"
	"math"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Family is 4 or 6, MaskLen the length of the mask.
func Family(v []byte) int64 {
	if len(of(v).ip) == 4 {
		return 4
	}
	return 6
}

func MaskLen(v []byte) int64 { return int64(of(v).bits) }

// SameFamily reports whether both are IPv4, or both IPv6.
func SameFamily(a, b []byte) bool { return a[0] == b[0] }

// WithMaskLen sets the length of the mask, to the whole address for -1. In a cidr the bits right of it become 0.
func WithMaskLen(v []byte, bits int64, cidr bool) ([]byte, error) {
	a := of(v)
	if bits == -1 {
		bits = int64(a.maxBits())
	}
	if bits < 0 || bits > int64(a.maxBits()) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid mask length: %d", bits)
	}
	a.bits = int(bits)
	if cidr {
		return a.network(), nil
	}
	return a.value(), nil
}

func (a addr) network() []byte {
	return a.apply(a.bits, func(i int, b byte) byte { return b & maskByte(a.bits, i) })
}

// Network clears the bits right of the mask, Broadcast sets them.
func Network(v []byte) []byte { return of(v).network() }

func Broadcast(v []byte) []byte {
	a := of(v)
	return a.apply(a.bits, func(i int, b byte) byte { return b | ^maskByte(a.bits, i) })
}

// Netmask and Hostmask are the mask as an address, and its complement.
func Netmask(v []byte) []byte {
	a := of(v)
	return a.apply(a.maxBits(), func(i int, _ byte) byte { return maskByte(a.bits, i) })
}

func Hostmask(v []byte) []byte {
	a := of(v)
	return a.apply(a.maxBits(), func(i int, _ byte) byte { return ^maskByte(a.bits, i) })
}

// Within reports whether network b contains a, which may be the same network.
func Within(a, b []byte) bool { return SameFamily(a, b) && of(a).bits >= of(b).bits && Overlap(a, b) }

// Inside is Within for networks that are not the same.
func Inside(a, b []byte) bool { return of(a).bits > of(b).bits && Within(a, b) }

// Overlap reports whether one of two networks contains the other.
func Overlap(a, b []byte) bool {
	x, y := of(a), of(b)
	most := min(x.bits, y.bits)
	return SameFamily(a, b) && common(x, y, most) == most
}

// Compare orders two networks; it is negative, zero or positive as bytes.Compare is, and like PostgreSQL's the
// difference of masks where these decide.
func Compare(a, b []byte) int64 {
	if x, y := of(a), of(b); Overlap(a, b) && x.bits != y.bits {
		return int64(x.bits - y.bits)
	}
	return int64(bytes.Compare(a, b))
}

// Merge is the smallest network that contains both.
func Merge(a, b []byte) ([]byte, error) {
	if !SameFamily(a, b) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot merge addresses from different families")
	}
	x, y := of(a), of(b)
	x.bits = common(x, y, min(x.bits, y.bits))
	return x.network(), nil
}

// Not, And and Or are of the bits of addresses; the mask is the longer one.
func Not(v []byte) []byte {
	a := of(v)
	return a.apply(a.bits, func(_ int, b byte) byte { return ^b })
}

func And(a, b []byte) ([]byte, error) {
	return both(a, b, "AND", func(x, y byte) byte { return x & y })
}

func Or(a, b []byte) ([]byte, error) {
	return both(a, b, "OR", func(x, y byte) byte { return x | y })
}

func both(a, b []byte, verb string, f func(x, y byte) byte) ([]byte, error) {
	if !SameFamily(a, b) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot %s inet values of different sizes", verb)
	}
	x, y := of(a), of(b)
	return x.apply(max(x.bits, y.bits), func(i int, c byte) byte { return f(c, y.ip[i]) }), nil
}

func errRange() error { return pgerr.New(pgerr.NumericValueOutOfRange, "result is out of range") }

// Add is the address n further on.
func Add(v []byte, n int64) ([]byte, error) {
	a := of(v)
	sum, carry := addr{ip: make([]byte, len(a.ip)), bits: a.bits}, int64(0)
	for i := len(a.ip) - 1; i >= 0; i-- {
		carry += int64(a.ip[i]) + n&0xff
		sum.ip[i] = byte(carry)
		carry >>= 8
		n >>= 8
	}
	if n+carry != 0 || n != 0 && n != -1 {
		return nil, errRange()
	}
	return sum.value(), nil
}

// Subtract is the address n before.
func Subtract(v []byte, n int64) ([]byte, error) {
	if n == math.MinInt64 { // whose negative is itself, to PostgreSQL too
		return Add(v, n)
	}
	return Add(v, -n)
}

// Distance is how far a is after b.
func Distance(a, b []byte) (int64, error) {
	if !SameFamily(a, b) {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "cannot subtract inet values of different sizes")
	}
	x, y := of(a).ip, of(b).ip
	var diff, borrow int64
	var out uint64
	for i, at := len(x)-1, 0; i >= 0; i, at = i-1, at+1 {
		diff = int64(x[i]) - int64(y[i]) + borrow
		borrow = diff >> 8
		if at < 8 {
			out |= uint64(byte(diff)) << (8 * at)
		} else if int64(int8(diff)) != int64(out)>>63 {
			return 0, errRange()
		}
	}
	if len(x) < 8 && borrow < 0 {
		out |= ^uint64(0) << (8 * len(x))
	}
	return int64(out), nil
}
