package codec

import (
	"encoding/binary"
	"math"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// The tags of a Datum, on disk.
const (
	tagNull = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagDecimal
	tagString
	tagBytes
	tagTimeTZ
	tagInterval
	tagUUID
	tagArray
	tagRow
)

// AppendDatum adds the encoding of one value.
func AppendDatum(dst []byte, d types.Datum) []byte {
	switch v := d.(type) {
	case nil:
		return append(dst, tagNull)
	case bool:
		if v {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case int64:
		return binary.AppendVarint(append(dst, tagInt), v)
	case float64:
		return binary.LittleEndian.AppendUint64(append(dst, tagFloat), math.Float64bits(v))
	case number.Decimal:
		return appendDecimal(append(dst, tagDecimal), v)
	case string:
		return append(binary.AppendUvarint(append(dst, tagString), uint64(len(v))), v...)
	case []byte:
		return append(binary.AppendUvarint(append(dst, tagBytes), uint64(len(v))), v...)
	case datetime.TimeTZ:
		return binary.AppendVarint(binary.AppendVarint(append(dst, tagTimeTZ), v.Micros), int64(v.Zone))
	case datetime.Interval:
		dst = binary.AppendVarint(append(dst, tagInterval), int64(v.Months))
		return binary.AppendVarint(binary.AppendVarint(dst, int64(v.Days)), v.Micros)
	case [16]byte:
		return append(append(dst, tagUUID), v[:]...)
	case types.Array:
		dst = Append(append(dst, tagArray), v.Elem)
		return appendDatums(dst, v.Elems)
	case types.Row:
		return appendDatums(append(dst, tagRow), v)
	}
	panic("BUG: codec: not a Datum")
}

func appendDatums(dst []byte, ds []types.Datum) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(ds)))
	for _, d := range ds {
		dst = AppendDatum(dst, d)
	}
	return dst
}

func appendDecimal(dst []byte, d number.Decimal) []byte {
	b := d.AppendBinary(nil)
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// maxDatumDepth bounds nested arrays and rows.
const maxDatumDepth = 64

func (r *reader) datum() (types.Datum, error) { return r.datumAt(0) }

func (r *reader) datumAt(depth int) (types.Datum, error) {
	tag, err := r.take(1)
	if err != nil {
		return nil, err
	}
	if depth > maxDatumDepth {
		return nil, corrupt("value nested too deeply")
	}
	switch tag[0] {
	case tagNull:
		return nil, nil
	case tagFalse:
		return false, nil
	case tagTrue:
		return true, nil
	case tagInt:
		return orNil(r.varint())
	case tagFloat:
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case tagDecimal:
		return orNil(r.decimal())
	case tagString:
		b, err := r.bytes()
		return orNil(string(b), err)
	case tagBytes:
		b, err := r.bytes()
		return orNil(append([]byte{}, b...), err)
	case tagTimeTZ:
		var v datetime.TimeTZ
		if v.Micros, err = r.varint(); err != nil {
			return nil, err
		}
		z, err := r.varint()
		v.Zone = int32(z)
		return orNil(v, err)
	case tagInterval:
		var x [3]int64
		for i := range x {
			if x[i], err = r.varint(); err != nil {
				return nil, err
			}
		}
		return datetime.Interval{Months: int32(x[0]), Days: int32(x[1]), Micros: x[2]}, nil
	case tagUUID:
		b, err := r.take(16)
		if err != nil {
			return nil, err
		}
		return [16]byte(b), nil
	case tagArray:
		var a types.Array
		elem, err := r.typ()
		if err != nil {
			return nil, err
		}
		a.Elem = elem
		a.Elems, err = r.datums(depth)
		return orNil(a, err)
	case tagRow:
		ds, err := r.datums(depth)
		return orNil(types.Row(ds), err)
	}
	return nil, corrupt("unknown tag %d", tag[0])
}

func (r *reader) typ() (types.Type, error) {
	before := r.b
	if _, err := r.bytes(); err != nil {
		return types.Type{}, err
	}
	return Unmarshal[types.Type](before[:len(before)-len(r.b)])
}

func (r *reader) datums(depth int) ([]types.Datum, error) {
	n, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.b)) {
		return nil, corrupt("%d values, %d bytes left", n, len(r.b))
	}
	out := make([]types.Datum, n)
	for i := range out {
		if out[i], err = r.datumAt(depth + 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *reader) decimal() (number.Decimal, error) {
	b, err := r.bytes()
	if err != nil {
		return number.Decimal{}, err
	}
	return number.DecodeDecimal(b)
}

func orNil[T any](v T, err error) (types.Datum, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
