package catalog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// readBitmap decodes a bitmap, which shares the bytes until it is changed.
func readBitmap(b []byte) (*roaring.Bitmap, error) {
	m := roaring.New()
	if len(b) == 0 {
		return m, nil
	}
	if _, err := m.FromBuffer(b); err != nil {
		return nil, pgerr.Wrap(pgerr.DataCorrupted, err, "invalid bitmap of deleted rows")
	}
	return m, nil
}

// joined returns the bitmap of b's rows and others in its portable form, and how many they
// are; disjoint is false where b has one of those already.
func joined(b []byte, rows *roaring.Bitmap) (out []byte, n int64, disjoint bool, err error) {
	if rows.GetCardinality() == 1 {
		if out, n, ok := withRow(b, rows.Minimum()); ok {
			return out, n, true, nil
		}
	}
	have, err := readBitmap(b)
	if err != nil || have.Intersects(rows) {
		return nil, 0, false, err
	}
	have.Or(rows)
	have.RunOptimize()
	w := bytes.NewBuffer(make([]byte, 0, have.GetSerializedSizeInBytes()))
	if _, err = have.WriteTo(w); err != nil {
		return nil, 0, false, pgerr.From(err)
	}
	return w.Bytes(), int64(have.GetCardinality()), true, nil
}

// The portable form without runs, as in github.com/RoaringBitmap/RoaringFormatSpec:
//
//	cookie │ containers │ (key, rows − 1) … │ offset … │ container …
//
// A container of at most arrayRows is their sorted low halves, a larger one a bit for each
// of 65536. One of runs takes 4 bytes for each and 2 more.
const (
	noRuns    = 12346
	arrayRows = 4096
	bitsBytes = 8192
)

var le = binary.LittleEndian

// withRow returns b with one row more, and how many there are then, without decoding it: each
// UPDATE of a row makes such a bitmap of its segment's. The bytes are the same as joined's. ok is
// false where joined must do it: where the row is in b already, has no container, changes its
// container's kind, or where b is not such a bitmap.
func withRow(b []byte, row uint32) (out []byte, n int64, ok bool) {
	if len(b) < 8 || le.Uint32(b) != noRuns {
		return nil, 0, false
	}
	size := int(le.Uint32(b[4:]))
	if size > 1<<16 || len(b) < 8+8*size {
		return nil, 0, false
	}
	at := -1
	for i := range size {
		n += int64(le.Uint16(b[8+4*i+2:])) + 1
		if uint32(le.Uint16(b[8+4*i:])) == row>>16 {
			at = i
		}
	}
	if at < 0 {
		return nil, 0, false
	}
	rows, from := int(le.Uint16(b[8+4*at+2:]))+1, int(le.Uint32(b[8+4*size+4*at:]))
	switch {
	case rows == arrayRows:
		return nil, 0, false
	case rows > arrayRows:
		out = withBit(b, from, uint16(row))
	default:
		if out = withLow(b, from, rows, uint16(row)); out == nil {
			break
		}
		for i := at + 1; i < size; i++ {
			o := out[8+4*size+4*i:]
			le.PutUint32(o, le.Uint32(o)+2)
		}
	}
	if out == nil {
		return nil, 0, false
	}
	le.PutUint16(out[8+4*at+2:], uint16(rows)) // less one, with the new one
	return out, n + 1, true
}

// withBit sets a bit of the container that begins at a place; nil where it is set, or
// where runs were shorter then.
func withBit(b []byte, from int, low uint16) []byte {
	if from > len(b)-bitsBytes || b[from+int(low/8)]>>(low%8)&1 != 0 {
		return nil
	}
	out := bytes.Clone(b)
	c := out[from : from+bitsBytes]
	c[low/8] |= 1 << (low % 8)
	runs, last := 0, uint64(0) // bits whose lower neighbour is not set
	for i := 0; i < len(c); i += 8 {
		w := le.Uint64(c[i:])
		runs += bits.OnesCount64(w &^ (w<<1 | last))
		last = w >> 63
	}
	if 2+4*runs <= bitsBytes {
		return nil
	}
	return out
}

// withLow is withBit for a container that is a list.
func withLow(b []byte, from, rows int, low uint16) []byte {
	if from > len(b)-2*rows {
		return nil
	}
	at := func(c []byte, i int) uint16 { return le.Uint16(c[from+2*i:]) }
	i := sort.Search(rows, func(i int) bool { return at(b, i) >= low })
	if i < rows && at(b, i) == low {
		return nil
	}
	to := from + 2*i
	out := append(le.AppendUint16(append(make([]byte, 0, len(b)+2), b[:to]...), low), b[to:]...)
	runs := 1
	for k := range rows {
		if at(out, k)+1 != at(out, k+1) {
			runs++
		}
	}
	if 2+4*runs <= 2*(rows+1) {
		return nil
	}
	return out
}
