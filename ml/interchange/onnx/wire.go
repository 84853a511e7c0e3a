package onnx

import (
	"encoding/binary"
	"math"

	"github.com/tributarydb/tributary/ml/interchange"
)

// The wire format of protocol buffers: fields of a number and a type, and no lengths but the bytes' own.
const (
	varint  = 0
	fixed64 = 1
	counted = 2
	fixed32 = 5
)

func bad(why string, args ...any) error { return interchange.Damaged("onnx", why, args...) }

// field is a field of a message: a number, or bytes.
type field struct {
	number int
	wire   int
	n      uint64 // of varint, fixed64 and fixed32
	b      []byte // of counted
}

// fields calls f with each field of a message.
func fields(b []byte, f func(x field) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return bad("a field has no number")
		}
		b = b[n:]
		x := field{number: int(key >> 3), wire: int(key & 7)}
		switch x.wire {
		case varint:
			if x.n, n = binary.Uvarint(b); n <= 0 {
				return bad("a number is cut off")
			}
			b = b[n:]
		case fixed64:
			if len(b) < 8 {
				return bad("a number is cut off")
			}
			x.n, b = binary.LittleEndian.Uint64(b), b[8:]
		case fixed32:
			if len(b) < 4 {
				return bad("a number is cut off")
			}
			x.n, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		case counted:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return bad("a field is longer than the file")
			}
			x.b, b = b[n:n+int(size)], b[n+int(size):]
		default:
			return bad("a field is of type %d", x.wire)
		}
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// ints appends a repeated number, which may be packed.
func (x field) ints(to *[]int64) error {
	if x.wire != counted {
		*to = append(*to, int64(x.n))
		return nil
	}
	for b := x.b; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return bad("a number is cut off")
		}
		*to, b = append(*to, int64(v)), b[n:]
	}
	return nil
}

// floats appends a repeated float of so many bytes, which may be packed.
func (x field) floats(size int, to *[]float64) error {
	if x.wire != counted {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x.n)
		*to = append(*to, float(b[:size]))
		return nil
	}
	if len(x.b)%size != 0 {
		return bad("a list of numbers is cut off")
	}
	for b := x.b; len(b) > 0; b = b[size:] {
		*to = append(*to, float(b[:size]))
	}
	return nil
}

func float(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// message is a message that is written.
type message []byte

func (m *message) key(number, wire int) {
	*m = binary.AppendUvarint(*m, uint64(number)<<3|uint64(wire))
}

func (m *message) int(number int, v int64) {
	m.key(number, varint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) bytes(number int, b []byte) {
	m.key(number, counted)
	*m = append(binary.AppendUvarint(*m, uint64(len(b))), b...)
}

func (m *message) text(number int, s string) { m.bytes(number, []byte(s)) }
