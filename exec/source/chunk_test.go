package source

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
)

// TestRangeReader reads a range of a file as the Parquet library reads pages: it peeks, skips and
// reads, little and much, up to the end of the range and not beyond. Readers are reused.
func TestRangeReader(t *testing.T) {
	data := make([]byte, 5*readBytes)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	p := &rangeReader{}
	for range 300 {
		from := r.IntN(len(data))
		to := from + r.IntN(len(data)-from)
		p.open(bytes.NewReader(data), int64(from), int64(to))
		at := from
		for steps := 0; at < to && steps < 200; steps++ {
			n := 1 + r.IntN([]int{10, 20_000, 3 * readBytes}[r.IntN(3)])
			want := data[at:min(at+n, to)]
			switch r.IntN(2) {
			case 0:
				got, err := p.Peek(n)
				if !bytes.Equal(got, want) || (err == io.EOF) != (at+n > to) || err != nil && err != io.EOF {
					t.Fatalf("peek of %d at %d of %d to %d: %d bytes, %v", n, at, from, to, len(got), err)
				}
			case 1:
				got, err := p.Discard(n)
				if at += got; got != len(want) || (err != nil) != (n > got) {
					t.Fatalf("skipped %d of %d: %v", got, n, err)
				}
			}
		}
	}
	p.open(bytes.NewReader(data[:100]), 50, 200) // the file ends within the range
	if got, err := p.Peek(150); err != io.EOF || !bytes.Equal(got, data[50:100]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

// TestPageHead parses a page header with every field that may be skipped, whole and truncated
// anywhere; any other bytes are an error or a header.
func TestPageHead(t *testing.T) {
	var b []byte
	field := func(delta, typ byte, value ...byte) { b = append(append(b, delta<<4|typ), value...) }
	field(1, 5, 0)          // type: data page
	field(1, 5, 0x90, 0x03) // uncompressed size: 200
	field(1, 5, 40)         // compressed size: 20
	field(1, 5, 0xff, 0x01) // checksum
	field(1, thriftStruct)  // DataPageHeader
	field(1, 5, 14)         // 7 values
	field(1, 5, 16)         // encoding: indices of a dictionary
	field(1, 5, 6)          // encoding of levels: RLE
	field(1, 5, 6)          //
	field(1, thriftStruct)  // statistics
	field(1, thriftBinary, 3, 'm', 'a', 'x')
	field(1, thriftI64, 2)
	field(3, thriftTrue)
	b = append(b, 0, 0)
	field(5, thriftList, 2<<4|thriftBinary, 1, 'x', 0) // a field of a later version
	field(1, thriftList, 0xf0|thriftTrue, 17, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1)
	field(1, thriftMap, 1, thriftByte<<4|thriftDouble, 9, 1, 2, 3, 4, 5, 6, 7, 8)
	field(1, thriftMap, 0)
	field(0, thriftFalse, 0x80, 0x02) // a field numbered absolutely, not by difference
	b = append(b, 0)
	want := pageHead{kind: dataPage, size: 200, packed: 20, values: 7, encoding: parquet.Encodings.RLEDict, levels: parquet.Encodings.RLE}
	if h, n, err := readPageHead(append(b, 1, 2, 3)); h != want || n != len(b) || err != nil {
		t.Fatalf("%+v in %d bytes of %d, %v", h, n, len(b), err)
	}
	for n := range b {
		if _, _, err := readPageHead(b[:n]); err != errHeadShort {
			t.Errorf("%d bytes of %d: %v", n, len(b), err)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 20000 {
		bad := bytes.Clone(b)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		if h, n, err := readPageHead(bad); err == nil && (n > len(bad) || min(h.size, h.packed, h.values) < 0) {
			t.Fatalf("%+v in %d bytes of %d", h, n, len(bad))
		}
	}
	if _, _, err := readPageHead(bytes.Repeat([]byte{1<<4 | thriftStruct}, 1000)); err != errHead {
		t.Errorf("structs without end: %v", err)
	}
}
