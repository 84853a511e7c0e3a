package source

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/parquet"
)

// deltas decodes integers that are stored as differences (DELTA_BINARY_PACKED), one at a time: a damaged
// header that claims billions of values must not make us allocate memory for them.
//
//	values of a block │ miniblocks of a block │ values │ the first value │ block …
//	block   least difference │ bits of each miniblock │ miniblocks: differences, less the least
type deltas struct {
	b          []byte // the encoded bytes that follow
	left       int    // values that follow
	per, minis int    // values of a miniblock, miniblocks of a block
	begun      bool
	last       int64
	least      int64
	widths     []byte // of the miniblocks of the block that follow
	packed     []byte // the current miniblock
	bit, width int    // position and width of its next value
	rest       int    // values left in the miniblock
}

// mostBlock is the most values of a block; writers use 128 or 256.
const mostBlock = 1 << 16

// newDeltas decodes the header of a sequence of at most `most` values.
func newDeltas(b []byte, most int) (d deltas, err error) {
	var head [3]uint64
	for i := range head {
		n := 0
		if head[i], n = binary.Uvarint(b); n <= 0 {
			return d, errPage
		}
		b = b[n:]
	}
	block, minis, total := head[0], head[1], head[2]
	first, n := binary.Varint(b)
	if n <= 0 || block > mostBlock || minis == 0 || minis > block || block%(8*minis) != 0 || total > uint64(most) {
		return d, errPage
	}
	return deltas{b: b[n:], left: int(total), per: int(block / minis), minis: int(minis), last: first}, nil
}

// next returns the next value.
func (d *deltas) next() (int64, error) {
	d.left--
	if !d.begun {
		d.begun = true
		return d.last, nil
	}
	if d.rest == 0 {
		if err := d.open(); err != nil {
			return 0, err
		}
	}
	d.rest--
	d.last += d.least + int64(bitsAt(d.packed, d.bit, d.width))
	d.bit += d.width
	return d.last, nil
}

// open goes to the next miniblock.
func (d *deltas) open() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.b)
		if n <= 0 || len(d.b)-n < d.minis {
			return errPage
		}
		d.least, d.widths, d.b = least, d.b[n:n+d.minis], d.b[n+d.minis:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	size := d.per / 8 * d.width
	if d.width > 64 || size > len(d.b) {
		return errPage
	}
	d.packed, d.b, d.bit, d.rest = d.b[:size], d.b[size:], 0, d.per
	return nil
}

// bitsAt returns n bits of b, starting at position bit, the lowest first.
func bitsAt(b []byte, bit, n int) uint64 {
	if n == 0 {
		return 0
	}
	var x, over uint64
	if b = b[bit>>3:]; len(b) > 8 {
		x, over = binary.LittleEndian.Uint64(b), uint64(b[8])
	} else {
		for i, c := range b {
			x |= uint64(c) << (8 * i)
		}
	}
	if x >>= bit & 7; bit&7 > 0 {
		x |= over << (64 - bit&7)
	}
	return x & (math.MaxUint64 >> (64 - n))
}

// deltaStrings calls f with each of at most `most` strings: how many bytes of the previous string it
// begins with, and the rest of its bytes. before is the length of the previous page's last string, with
// which some writers let the page's first string share a prefix (PARQUET-246).
//
//	DELTA_LENGTH_BYTE_ARRAY            lengths │ bytes
//	DELTA_BYTE_ARRAY         prefixes │ lengths │ bytes
func deltaStrings(e parquet.Encoding, b []byte, most, before int, f func(prefix int, rest []byte)) error {
	var prefixes deltas
	if e == parquet.Encodings.DeltaByteArray {
		var err error
		if prefixes, err = newDeltas(b, most); err != nil {
			return err
		}
		if prefixes.left == 0 { // all are NULL: arrow-go leaves anything at all behind
			return nil
		}
		if b, err = behind(prefixes); err != nil {
			return err
		}
	}
	lengths, err := newDeltas(b, most)
	if err != nil {
		return err
	}
	if b, err = behind(lengths); err != nil {
		return err
	}
	if e == parquet.Encodings.DeltaByteArray && prefixes.left != lengths.left {
		return errPage
	}
	for last := int64(before); lengths.left > 0; {
		n, err := lengths.next()
		if err != nil {
			return err
		}
		prefix := int64(0)
		if prefixes.left > 0 {
			if prefix, err = prefixes.next(); err != nil {
				return err
			}
		}
		if n < 0 || n > int64(len(b)) || prefix < 0 || prefix > last {
			return errPage
		}
		f(int(prefix), b[:n])
		last, b = prefix+n, b[n:]
	}
	return nil
}

// behind returns the bytes after the values of d.
func behind(d deltas) ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.b, nil
}

// isDelta reports whether the encoding stores the differences of consecutive values.
func isDelta(e parquet.Encoding) bool {
	switch e {
	case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
		return true
	}
	return false
}

// deltaBytes returns how many bytes at most `most` values of b take in the plain encoding, and the
// length of the last string. They are far more than len(b) if each string begins like the one before.
func deltaBytes(e parquet.Encoding, b []byte, most, before int, phys parquet.Type) (size int64, last int, err error) {
	width := int64(0)
	switch phys {
	case parquet.Types.Int32:
		width = 4
	case parquet.Types.Int64:
		width = 8
	}
	switch {
	case len(b) == 0: // all are NULL
		return 0, before, nil
	case e != parquet.Encodings.DeltaBinaryPacked:
		if width > 0 {
			break
		}
		last = before
		err = deltaStrings(e, b, most, before, func(prefix int, rest []byte) {
			last = prefix + len(rest)
			size += 4 + int64(last)
		})
		return size, last, err
	case width > 0:
		d, err := newDeltas(b, most)
		if err == nil {
			_, err = behind(d)
		}
		return width * int64(d.left), 0, err
	}
	return 0, 0, fmt.Errorf("values of %s are encoded as %s", phys, e)
}

// plainOf decodes the page's values, which are stored as differences, into the plain encoding.
func (p *pageReader) plainOf(b []byte, phys parquet.Type) ([]byte, error) {
	size, last, err := deltaBytes(p.encoding, b, p.values, len(p.before), phys)
	if err != nil || size == 0 {
		return nil, err
	}
	if more := max(int(size)-cap(p.flat), 0) + max(last-cap(p.before), 0); more > 0 {
		if err := p.hold(more, true); err != nil {
			return nil, err
		}
	}
	if int(size) > cap(p.flat) {
		p.flat = make([]byte, 0, size)
	}
	out := p.flat[:0]
	if p.encoding != parquet.Encodings.DeltaBinaryPacked {
		last := p.before
		err := deltaStrings(p.encoding, b, p.values, len(last), func(prefix int, rest []byte) {
			out = binary.LittleEndian.AppendUint32(out, uint32(prefix+len(rest)))
			at := len(out)
			out = append(append(out, last[:prefix]...), rest...)
			last = out[at:]
		})
		if p.encoding == parquet.Encodings.DeltaByteArray {
			p.before = append(p.before[:0], last...)
		}
		return out, err
	}
	d, err := newDeltas(b, p.values)
	for err == nil && d.left > 0 {
		var v int64
		if v, err = d.next(); phys == parquet.Types.Int32 {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		} else {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	}
	return out, err
}

// behindLevels returns the values of a loaded page, after its repetition and definition levels if it
// has these.
func (p *pageReader) behindLevels(reps, defs bool) ([]byte, error) {
	b := p.body
	if p.kind == dataPage2 {
		if p.reps+p.defs > len(b) {
			return nil, errPage
		}
		return b[p.reps+p.defs:], nil
	}
	for _, there := range []bool{reps, defs} {
		if !there {
			continue
		}
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, errPage
		}
		b = b[4+binary.LittleEndian.Uint32(b):]
	}
	return b, nil
}
