package source

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow/go/v15/parquet"
)

// pageHead is what is before a page: a PageHeader in Thrift's compact protocol, of which
// statistics, and fields of newer writers, are skipped.
type pageHead struct {
	kind         pageKind
	size, packed int // of the page's bytes, uncompressed and as they are in the file
	values       int
	encoding     parquet.Encoding
	levels       parquet.Encoding // of dataPage: how levels are encoded
	reps, defs   int              // of dataPage2: the bytes of levels, which are not compressed
	plain        bool             // of dataPage2: nor are its values
}

// pageKind is Parquet's PageType.
type pageKind int

const (
	dataPage       pageKind = 0
	dictionaryPage pageKind = 2
	dataPage2      pageKind = 3
)

var (
	errHeadShort = errors.New("a page's header is cut off")
	errHead      = errors.New("a page's header is damaged")
)

// readPageHead reads the head at the start of b, and returns how long it is.
func readPageHead(b []byte) (h pageHead, n int, err error) {
	t := thrift{b: b}
	of := 0 // the field with the head of the kind
	t.fields(func(id int, typ byte) {
		switch id {
		case 1:
			h.kind = pageKind(t.int(typ))
		case 2:
			h.size = t.int(typ)
		case 3:
			h.packed = t.int(typ)
		case 5, 7, 8: // DataPageHeader, DictionaryPageHeader, DataPageHeaderV2
			if of != 0 {
				t.fail(errHead)
				return
			}
			of = id
			t.within(typ, func(in int, typ byte) {
				switch {
				case in == 1:
					h.values = t.int(typ)
				case in == 2 && id != 8, in == 4 && id == 8:
					h.encoding = parquet.Encoding(t.int(typ))
				case in == 3 && id == 5:
					h.levels = parquet.Encoding(t.int(typ))
				case in == 5 && id == 8:
					h.defs = t.int(typ)
				case in == 6 && id == 8:
					h.reps = t.int(typ)
				case in == 7 && id == 8:
					h.plain = typ == thriftFalse
				default:
					t.skip(typ)
				}
			})
		default:
			t.skip(typ)
		}
	})
	if t.err == nil && (min(h.size, h.packed, h.values, h.reps, h.defs) < 0 || of != headOf(h.kind)) {
		t.err = errHead
	}
	return h, len(b) - len(t.b), t.err
}

// headOf returns the field that has the head of a kind of page, the only one: the library reads that
// one, and must not find other numbers there than readPageHead has checked.
func headOf(k pageKind) int {
	switch k {
	case dataPage:
		return 5
	case dictionaryPage:
		return 7
	case dataPage2:
		return 8
	}
	return 0
}

// thrift reads values of Thrift's compact protocol. The first error sticks, and all values after it
// are zero.
type thrift struct {
	b     []byte
	depth int
	err   error
}

// Types of fields.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// fields calls f for each field of a struct; f reads or skips the value.
func (t *thrift) fields(f func(id int, typ byte)) {
	id := 0
	for {
		head := t.byte()
		if t.err != nil || head == 0 {
			return
		}
		if d := int(head >> 4); d > 0 {
			id += d
		} else {
			id = int(int16(t.zigzag()))
		}
		f(id, head&15)
	}
}

// within is fields of a field that must be a struct.
func (t *thrift) within(typ byte, f func(id int, typ byte)) {
	if typ != thriftStruct {
		t.fail(errHead)
		return
	}
	t.fields(f)
}

func (t *thrift) fail(err error) {
	if t.err == nil {
		t.err, t.b = err, nil
	}
}

func (t *thrift) byte() byte {
	if len(t.b) == 0 {
		t.fail(errHeadShort)
		return 0
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c
}

func (t *thrift) varint() uint64 {
	v, n := binary.Uvarint(t.b)
	switch {
	case n == 0:
		t.fail(errHeadShort)
		return 0
	case n < 0:
		t.fail(errHead)
		return 0
	}
	t.b = t.b[n:]
	return v
}

func (t *thrift) zigzag() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

// int reads a number of 16 to 64 bits, which must fit 32 in a page's head.
func (t *thrift) int(typ byte) int {
	if typ < thriftI16 || typ > thriftI64 {
		t.fail(errHead)
		return 0
	}
	return int(int32(t.zigzag()))
}

// drop skips n bytes.
func (t *thrift) drop(n uint64) {
	if n > uint64(len(t.b)) {
		t.fail(errHeadShort)
		return
	}
	t.b = t.b[n:]
}

// mostNested is the deepest nesting of values.
const mostNested = 32

// skip skips a field's value.
func (t *thrift) skip(typ byte) {
	if t.depth++; t.depth > mostNested {
		t.fail(errHead)
	}
	defer func() { t.depth-- }()
	switch typ {
	case thriftTrue, thriftFalse: // the type is the value
	case thriftByte:
		t.drop(1)
	case thriftI16, thriftI16 + 1, thriftI64:
		t.varint()
	case thriftDouble:
		t.drop(8)
	case thriftBinary:
		t.drop(t.varint())
	case thriftList, thriftSet:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.varint()
		}
		for ; n > 0 && t.err == nil; n-- {
			t.element(head & 15)
		}
	case thriftMap:
		if n := t.varint(); n > 0 {
			kinds := t.byte()
			for ; n > 0 && t.err == nil; n-- {
				t.element(kinds >> 4)
				t.element(kinds & 15)
			}
		}
	case thriftStruct:
		t.fields(func(_ int, typ byte) { t.skip(typ) })
	default:
		t.fail(errHead)
	}
}

// element skips a value of a list or a map, where true and false are bytes.
func (t *thrift) element(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	t.skip(typ)
}
