package kernel

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// keyReader appends the keys of one column, as KeySpec.append does; the form of strings and
// integers is determined once for all values.
type keyReader struct {
	spec  *KeySpec
	arr   arrow.Array
	valid []byte // nil: no NULL
	off   int
	null  byte
	text  texts
	long  []uint64 // of 64 bits; or
	int   []uint32 // of 32
	kind  keyKind
}

type keyKind uint8

const (
	keyOfAny keyKind = iota
	keyOfText
	keyOf64
	keyOf32
)

func newKeyReader(s *KeySpec, arr arrow.Array) keyReader {
	r := keyReader{spec: s, arr: arr, null: 2}
	if s.NullsFirst {
		r.null = 0
	}
	switch arr.DataType().ID() {
	case arrow.STRING, arrow.DICTIONARY:
		if s.Type.OID == types.JSONBOID {
			return r
		}
		var ok bool
		if r.text, ok = textsOf(arr); !ok {
			return r
		}
		r.kind = keyOfText
	case arrow.INT64:
		r.long, r.kind = values[uint64](arr.Data()), keyOf64
	case arrow.INT32, arrow.DATE32:
		r.int, r.kind = values[uint32](arr.Data()), keyOf32
	default:
		return r
	}
	r.valid, r.off = valid(arr)
	return r
}

func (r *keyReader) append(dst []byte, i int) []byte {
	if r.kind == keyOfAny {
		return r.spec.append(dst, r.arr, i)
	}
	if r.valid != nil && !batch.Bit(r.valid, r.off+i) {
		return append(dst, r.null)
	}
	at := len(dst) + 1
	switch r.kind {
	case keyOf64:
		dst = binary.BigEndian.AppendUint64(append(dst, 1), r.long[i]^1<<63)
	case keyOf32:
		dst = binary.BigEndian.AppendUint32(append(dst, 1), r.int[i]^1<<31)
	default:
		if r.text.index != nil {
			i = int(r.text.index[i])
		}
		s := r.text.data[r.text.offs[i]:r.text.offs[i+1]]
		if r.spec.Type.OID == types.BpcharOID {
			s = types.TrimBlanks(s)
		}
		if dst = append(dst, 1); bytes.IndexByte(s, 0) >= 0 {
			dst = appendZeros(dst, s)
		} else {
			dst = append(append(dst, s...), 0, 0)
		}
	}
	if r.spec.Desc {
		invert(dst[at:])
	}
	return dst
}
