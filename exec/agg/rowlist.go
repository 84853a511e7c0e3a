package agg

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// rowLayout is the types of a row's values.
type rowLayout []types.Type

// Append appends a row to dst.
func (l rowLayout) Append(dst []byte, row types.Row) []byte {
	le := binary.LittleEndian
	for k, d := range row {
		if d == nil {
			dst = le.AppendUint32(dst, 0xffffffff)
			continue
		}
		at := len(dst)
		dst = le.AppendUint32(dst, 0)
		dst = types.AppendBinary(dst, l[k], d)
		le.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

// AppendFrom appends row i of columns to dst.
func (l rowLayout) AppendFrom(dst []byte, cols []arrow.Array, i int) []byte {
	for k, a := range cols {
		// The binary form of these is their bytes.
		if s, ok := a.(*array.String); ok && s.IsValid(i) && (l[k].OID == types.TextOID || l[k].OID == types.VarcharOID) {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(s.ValueLen(i)))
			dst = append(dst, s.Value(i)...)
			continue
		}
		dst = l[k:k+1].Append(dst, types.Row{types.DatumAt(l[k], a, i)})
	}
	return dst
}

// rowValue cuts the next value off; has is false for NULL.
func rowValue(b []byte) (v []byte, has bool, rest []byte, err error) {
	if len(b) < 4 {
		return nil, false, nil, errDamaged()
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; n == 0xffffffff {
		return nil, false, b, nil
	}
	if uint64(n) > uint64(len(b)) {
		return nil, false, nil, errDamaged()
	}
	return b[:n], true, b[n:], nil
}

// Cut cuts the next row off.
func (l rowLayout) Cut(b []byte) (row, rest []byte, err error) {
	rest = b
	for range l {
		if _, _, rest, err = rowValue(rest); err != nil {
			return nil, nil, err
		}
	}
	if len(rest) == len(b) {
		return nil, nil, errDamaged()
	}
	return b[:len(b)-len(rest)], rest, nil
}

// columns calls f with the rows of states, a chunk at a time, in columns, and with the group of each.
func (l rowLayout) columns(groups []uint32, states *array.Binary, f func(groups []uint32, cols []arrow.Array) error) error {
	to := make([]array.Builder, len(l))
	for k, t := range l {
		to[k] = array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	}
	var of []uint32
	put := func() error {
		cols := make([]arrow.Array, len(to))
		for k, b := range to {
			cols[k] = b.NewArray()
		}
		err := f(of, cols)
		of = of[:0]
		return err
	}
	for g, state := range stored(groups, states) {
		if err := l.Each(state, func(row types.Row) error {
			of = append(of, g)
			for k, d := range row {
				if err := types.AppendDatum(to[k], l[k], d); err != nil {
					return err
				}
			}
			if len(of) == kernel.ChunkRows {
				return put()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if len(of) == 0 {
		return nil
	}
	return put()
}

func errDamaged() error {
	return pgerr.New(pgerr.DataCorrupted, "malformed rows of an aggregate state")
}

// rowList is rows of one group as bytes, in the order in which they were appended; the zero rowList has none. Of
// values one by one the garbage collector took most of the time that a string_agg of some millions of rows needed.
//
//	row = value, …        value = length | binary form (types.AppendBinary)        NULL = length -1
type rowList struct {
	N    int // rows
	full [][]byte
	last []byte
}

// chunk is how large the last chunk grows: one that is full is left where it is, so that a large group
// never has its rows twice.
const chunk = 64 << 10

// Append appends n rows, which add encodes, and returns how many bytes more are held.
func (r *rowList) Append(n int, add func(dst []byte) []byte) (more int64) {
	if len(r.last) >= chunk {
		r.full, r.last = append(r.full, r.last), nil
		more = 24
	}
	had := cap(r.last)
	r.last = add(r.last)
	r.N += n
	return more + int64(cap(r.last)-had)
}

// AppendList appends the rows of o, and returns how many bytes more are held.
func (r *rowList) AppendList(o *rowList) (more int64) {
	for _, b := range o.Chunks() {
		more += r.Append(0, func(dst []byte) []byte { return append(dst, b...) })
	}
	r.N += o.N
	return more
}

// Chunks returns the encoded rows; each chunk begins with a row.
func (r *rowList) Chunks() [][]byte {
	if r.full == nil {
		return [][]byte{r.last}
	}
	return append(slices.Clip(r.full), r.last)
}

// Len is the bytes of the encoded rows.
func (r *rowList) Len() (n int64) {
	for _, b := range r.full {
		n += int64(len(b))
	}
	return n + int64(len(r.last))
}

// Each calls f with each row, which is valid until f returns; its values may alias what is kept.
func (r *rowList) Each(l rowLayout, f func(types.Row) error) error {
	_, err := r.From(l, 0, f)
	return err
}

// From is Each of the rows from place at on, which is 0 for the first, and returns the place after the
// last row, where those that are appended later will begin.
func (r *rowList) From(l rowLayout, at int, f func(types.Row) error) (int, error) {
	skip := at
	for _, b := range r.Chunks() {
		n := min(skip, len(b))
		skip -= n
		if err := l.Each(b[n:], f); err != nil {
			return 0, err
		}
		at += len(b) - n
	}
	return at, nil
}

// Each calls f with each of encoded rows, which is valid until f returns; its values may alias b.
func (l rowLayout) Each(b []byte, f func(types.Row) error) error {
	if len(l) == 0 && len(b) > 0 {
		return errDamaged()
	}
	row := make(types.Row, len(l))
	for len(b) > 0 {
		for k, t := range l {
			v, has, rest, err := rowValue(b)
			if err != nil {
				return err
			}
			if row[k], b = nil, rest; !has {
				continue
			}
			if row[k], err = value(t, v); err != nil {
				return err
			}
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// value reads the binary form of a value. Of long ones it makes no copies, which nobody has charged, and
// it checks no JSON again.
func value(t types.Type, v []byte) (types.Datum, error) {
	switch t.Class() {
	case types.ClassJSONB:
		if len(v) == 0 {
			return nil, errDamaged()
		}
		v = v[1:] // its version
		fallthrough
	case types.ClassText, types.ClassJSON:
		return unsafe.String(unsafe.SliceData(v), len(v)), nil
	case types.ClassBytes:
		return slices.Clip(v), nil
	}
	return types.ParseBinary(t, v)
}

// Part returns about size bytes of rows from place at on, which is 0 for the first, and the place after
// them, -1 at the end.
func (r *rowList) Part(l rowLayout, at, size int) ([]byte, int, error) {
	dst, skip := make([]byte, 0, size+size/8), at
	for _, b := range r.Chunks() {
		n := min(skip, len(b))
		skip, b = skip-n, b[n:]
		for len(b) > 0 {
			if len(dst) >= size {
				return dst, at + len(dst), nil
			}
			row, rest, err := l.Cut(b)
			if err != nil {
				return nil, 0, err
			}
			dst, b = append(dst, row...), rest
		}
	}
	return dst, -1, nil
}
