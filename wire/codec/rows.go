package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/types"
)

// Formats of a column.
const (
	Text   int16 = 0
	Binary int16 = 1
)

// Rows encodes batches as DataRow messages. It is for one goroutine.
type Rows struct {
	types   []types.Type
	formats []int16
	env     *types.Env
	encs    []encoder
	room    func(bytes int64) error
	to      *charset.Charset // the client's encoding; nil for UTF8
	err     error            // of a character that it does not have
}

// encoder appends the value of row i without its length. The row is not NULL.
type encoder func(dst []byte, i int) []byte

// NewRows makes an encoder of rows. formats are per column. room is called before a row longer than
// Long is written.
func NewRows(ts []types.Type, formats []int16, env *types.Env, to *charset.Charset, room func(bytes int64) error) *Rows {
	return &Rows{types: ts, formats: formats, env: env, encs: make([]encoder, len(ts)), room: room, to: to}
}

// Append writes selected rows [from, to) of b as DataRow messages, but no more once dst holds full
// bytes, and a long one alone. It returns the first row that is not written.
func (r *Rows) Append(dst []byte, b *batch.Batch, from, to, full int) ([]byte, int, error) {
	cols := b.Cols[:len(r.types)]
	hasLong := long(b)
	for c, t := range r.types {
		r.encs[c] = r.encoder(t, r.formats[c], cols[c])
	}
	k := from
	for ; k < to && (k == from || len(dst) < full); k++ {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		if hasLong {
			if n := rowBytes(cols, row); n > Long {
				if len(dst) > 0 && k > from {
					break
				}
				if err := r.room(n); err != nil {
					return dst, k, err
				}
				dst = slices.Grow(dst, int(n))
			}
		}
		dst = append(dst, 'D', 0, 0, 0, 0)
		start := len(dst) - 4
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(cols)))
		for c, arr := range cols {
			if arr.IsNull(row) {
				dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			at := len(dst)
			dst = append(dst, 0, 0, 0, 0)
			dst = r.encs[c](dst, row)
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		if r.err != nil {
			return dst[:start-1], k, r.err
		}
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	}
	return dst, k, nil
}

func (r *Rows) encoder(t types.Type, format int16, arr arrow.Array) encoder {
	switch {
	case format == Binary && r.to != nil && !t.BinaryIsText():
		return r.converted(t, arr)
	case format == Binary:
		return r.convert(binaryEncoder(t, arr))
	}
	return r.convert(r.textEncoder(t, arr))
}

// convert writes what enc writes in the client's encoding.
func (r *Rows) convert(enc encoder) encoder {
	if r.to == nil {
		return enc
	}
	return func(dst []byte, i int) []byte {
		at := len(dst)
		dst = enc(dst, i)
		out, err := r.to.Encode(dst[:at:at], string(dst[at:]))
		if err != nil {
			r.err = err
		}
		return out
	}
}

// converted writes values in binary form whose texts are within: of arrays and rows.
func (r *Rows) converted(t types.Type, arr arrow.Array) encoder {
	var in func(d types.Datum) types.Datum
	in = func(d types.Datum) types.Datum {
		switch d := d.(type) {
		case string:
			b, err := r.to.Encode(nil, d)
			if err != nil {
				r.err = err
			}
			return string(b)
		case types.Array:
			out := types.Array{Elem: d.Elem, Elems: make([]types.Datum, len(d.Elems))}
			for i, e := range d.Elems {
				out.Elems[i] = in(e)
			}
			return out
		case types.Row:
			out := make(types.Row, len(d))
			for i, e := range d {
				out[i] = in(e)
			}
			return out
		}
		return d
	}
	return func(dst []byte, i int) []byte { return types.AppendBinary(dst, t, in(types.DatumAt(t, arr, i))) }
}

func (r *Rows) textEncoder(t types.Type, arr arrow.Array) encoder {
	switch a := arr.(type) {
	case *array.Int64:
		if t.OID == types.Int8OID {
			v := a.Int64Values()
			return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, v[i], 10) }
		}
	case *array.Int32:
		v := a.Int32Values()
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(v[i]), 10) }
	case *array.Int16:
		v := a.Int16Values()
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(v[i]), 10) }
	case *array.Boolean:
		return func(dst []byte, i int) []byte {
			if a.Value(i) {
				return append(dst, 't')
			}
			return append(dst, 'f')
		}
	case *array.String, *array.Dictionary:
		if t.OID == types.CharOID {
			break
		}
		s := batch.StringsOf(arr)
		return func(dst []byte, i int) []byte { return append(dst, s.Value(i)...) }
	}
	return func(dst []byte, i int) []byte { return types.AppendText(dst, t, types.DatumAt(t, arr, i), r.env) }
}

func binaryEncoder(t types.Type, arr arrow.Array) encoder {
	be := binary.BigEndian
	switch a := arr.(type) {
	case *array.Int64:
		if t.OID == types.Int8OID {
			v := a.Int64Values()
			return func(dst []byte, i int) []byte { return be.AppendUint64(dst, uint64(v[i])) }
		}
	case *array.Int32:
		v := a.Int32Values()
		return func(dst []byte, i int) []byte { return be.AppendUint32(dst, uint32(v[i])) }
	case *array.Int16:
		v := a.Int16Values()
		return func(dst []byte, i int) []byte { return be.AppendUint16(dst, uint16(v[i])) }
	case *array.Float64:
		v := a.Float64Values()
		return func(dst []byte, i int) []byte { return be.AppendUint64(dst, math.Float64bits(v[i])) }
	case *array.Float32:
		v := a.Float32Values()
		return func(dst []byte, i int) []byte { return be.AppendUint32(dst, math.Float32bits(v[i])) }
	case *array.String, *array.Dictionary:
		if t.OID == types.TextOID || t.OID == types.VarcharOID || t.OID == types.BpcharOID || t.OID == types.NameOID {
			s := batch.StringsOf(arr)
			return func(dst []byte, i int) []byte { return append(dst, s.Value(i)...) }
		}
	}
	return func(dst []byte, i int) []byte { return types.AppendBinary(dst, t, types.DatumAt(t, arr, i)) }
}
