package source

import (
	"encoding/binary"
	"errors"
)

// hybrid decodes numbers of a few bits as Parquet stores levels and indices: runs of
// one value, and groups of eight packed bit by bit (Parquet's format, "Run Length
// Encoding / Bit-Packing Hybrid").
type hybrid struct {
	in    []byte
	width uint

	same  int // how many values of the run are left, all of them value
	value int32

	packed []byte // the packed groups
	at     int    // the next of them
	left   int    // how many are left
}

var errHybrid = errors.New("a run of levels or indices is cut off")

func newHybrid(in []byte, width uint) (hybrid, error) {
	if width > 31 {
		return hybrid{}, errors.New("levels or indices have too many bits")
	}
	return hybrid{in: in, width: width}, nil
}

// run reads the head of the next run.
func (h *hybrid) run() error {
	head, n := binary.Uvarint(h.in)
	if n <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return errHybrid
	}
	h.in = h.in[n:]
	count := int(head >> 1)
	if head&1 == 0 {
		bytes := int(h.width+7) / 8
		if len(h.in) < bytes {
			return errHybrid
		}
		h.value = 0
		for i := range bytes {
			h.value |= int32(h.in[i]) << (8 * i)
		}
		h.in = h.in[bytes:]
		h.same = count
		return nil
	}
	// Some writers leave out the end of the last group.
	bytes := min(count*int(h.width), len(h.in))
	h.packed, h.in = h.in[:bytes], h.in[bytes:]
	h.at, h.left = 0, count*8
	if h.width > 0 {
		h.left = min(h.left, bytes*8/int(h.width))
	}
	if h.left == 0 {
		return errHybrid
	}
	return nil
}

// all takes up to n values that are all v, and returns how many they were: what a
// column without NULLs costs.
func (h *hybrid) all(v int32, n int) (int, error) {
	if h.same == 0 && h.left == 0 {
		if err := h.run(); err != nil {
			return 0, err
		}
	}
	if h.same == 0 || h.value != v {
		return 0, nil
	}
	n = min(n, h.same)
	h.same -= n
	return n, nil
}

// read fills out.
func (h *hybrid) read(out []int32) error {
	for len(out) > 0 {
		switch {
		case h.same > 0:
			n := min(h.same, len(out))
			for i := range out[:n] {
				out[i] = h.value
			}
			h.same -= n
			out = out[n:]
		case h.left > 0:
			n := min(h.left, len(out))
			h.unpack(out[:n])
			h.left -= n
			out = out[n:]
		default:
			if err := h.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hybrid) unpack(out []int32) {
	mask := uint64(1)<<h.width - 1
	bit := uint(h.at) * h.width
	h.at += len(out)
	i := 0
	for ; i < len(out) && int(bit>>3)+8 <= len(h.packed); i++ {
		out[i] = int32(binary.LittleEndian.Uint64(h.packed[bit>>3:]) >> (bit & 7) & mask)
		bit += h.width
	}
	for ; i < len(out); i++ { // near the end
		var word [8]byte
		copy(word[:], h.packed[min(int(bit>>3), len(h.packed)):])
		out[i] = int32(binary.LittleEndian.Uint64(word[:]) >> (bit & 7) & mask)
		bit += h.width
	}
}
