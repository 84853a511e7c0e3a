package types

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// DatumAt returns row i of a column of t, nil for NULL. Strings and bytes are
// copied: the column may lie in a mapped file that the value outlives.
func DatumAt(t Type, arr arrow.Array, i int) Datum {
	if arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		if t.OID == NumericOID {
			return number.DecimalFromInt64(a.Value(i), int32(t.Scale))
		}
		return a.Value(i)
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Dictionary:
		if s, ok := a.Dictionary().(*array.String); ok {
			return strings.Clone(s.Value(a.GetValueIndex(i)))
		}
		return DatumAt(t, a.Dictionary(), a.GetValueIndex(i))
	case *array.Binary:
		if t.OID == NumericOID {
			d, err := number.DecodeDecimal(a.Value(i))
			if err != nil {
				return number.DecimalNaN
			}
			return d
		}
		return append([]byte{}, a.Value(i)...)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.FixedSizeBinary:
		b := a.Value(i)
		switch {
		case t.OID == TimetzOID && len(b) == 12:
			return datetime.GetTimeTZ(b)
		case t.OID == IntervalOID && len(b) == 16:
			return datetime.GetInterval(b)
		case len(b) == 16:
			return [16]byte(b)
		}
		return append([]byte{}, b...)
	case *array.List:
		elem, _ := t.Elem()
		from, to := a.ValueOffsets(i)
		vals := a.ListValues()
		out := Array{Elem: elem}
		if to > from {
			out.Elems = make([]Datum, 0, to-from)
		}
		for j := int(from); j < int(to); j++ {
			out.Elems = append(out.Elems, DatumAt(elem, vals, j))
		}
		return out
	case *array.Struct:
		row := make(Row, a.NumField())
		for f := range row {
			ft := Text
			if t.Rec != nil && f < len(t.Rec.Fields) {
				ft = t.Rec.Fields[f].Type
			}
			row[f] = DatumAt(ft, a.Field(f), i)
		}
		return row
	}
	return nil
}

func errWrongValue(t Type, d Datum) error {
	return pgerr.Internal("a %T is not a value of a %s column", d, t)
}

// AppendDatum appends d, a value of t or nil, to a builder of t.Arrow() or of
// its dictionary form. A numeric that does not fit a fixed column is an error.
func AppendDatum(b array.Builder, t Type, d Datum) error {
	if d == nil {
		b.AppendNull()
		return nil
	}
	switch bld := b.(type) {
	case *array.BooleanBuilder:
		if v, ok := d.(bool); ok {
			bld.Append(v)
			return nil
		}
	case *array.Int16Builder:
		if v, ok := d.(int64); ok {
			bld.Append(int16(v))
			return nil
		}
	case *array.Int32Builder:
		if v, ok := d.(int64); ok {
			bld.Append(int32(v))
			return nil
		}
	case *array.Int64Builder:
		switch v := d.(type) {
		case int64:
			bld.Append(v)
			return nil
		case number.Decimal:
			c, err := FixedCoefficient(t, v)
			if err == nil {
				bld.Append(c)
			}
			return err
		}
	case *array.Uint32Builder:
		if v, ok := d.(int64); ok {
			bld.Append(uint32(v))
			return nil
		}
	case *array.Float32Builder:
		if v, ok := d.(float64); ok {
			bld.Append(float32(v))
			return nil
		}
	case *array.Float64Builder:
		if v, ok := d.(float64); ok {
			bld.Append(v)
			return nil
		}
	case *array.StringBuilder:
		if v, ok := d.(string); ok {
			bld.Append(v)
			return nil
		}
	case *array.BinaryDictionaryBuilder:
		if v, ok := d.(string); ok {
			return bld.AppendString(v)
		}
	case *array.BinaryBuilder:
		switch v := d.(type) {
		case []byte:
			bld.Append(v)
			return nil
		case number.Decimal:
			var buf [32]byte
			bld.Append(v.AppendBinary(buf[:0]))
			return nil
		}
	case *array.Date32Builder:
		if v, ok := d.(int64); ok {
			bld.Append(arrow.Date32(v))
			return nil
		}
	case *array.Time64Builder:
		if v, ok := d.(int64); ok {
			bld.Append(arrow.Time64(v))
			return nil
		}
	case *array.TimestampBuilder:
		if v, ok := d.(int64); ok {
			bld.Append(arrow.Timestamp(v))
			return nil
		}
	case *array.FixedSizeBinaryBuilder:
		var buf [16]byte
		switch v := d.(type) {
		case datetime.Interval:
			datetime.PutInterval(buf[:], v)
			bld.Append(buf[:])
			return nil
		case datetime.TimeTZ:
			datetime.PutTimeTZ(buf[:], v)
			bld.Append(buf[:12])
			return nil
		case [16]byte:
			bld.Append(v[:])
			return nil
		}
	case *array.ListBuilder:
		if v, ok := d.(Array); ok {
			elem, _ := t.Elem()
			bld.Append(true)
			for _, e := range v.Elems {
				if err := AppendDatum(bld.ValueBuilder(), elem, e); err != nil {
					return err
				}
			}
			return nil
		}
	case *array.StructBuilder:
		if v, ok := d.(Row); ok && len(v) == bld.NumField() {
			bld.Append(true)
			for f, e := range v {
				if err := AppendDatum(bld.FieldBuilder(f), t.fieldType(f, e), e); err != nil {
					return err
				}
			}
			return nil
		}
	case *array.NullBuilder:
		bld.AppendNull()
		return nil
	}
	return errWrongValue(t, d)
}

// FixedCoefficient returns the int64 that represents v in a fixed numeric column.
func FixedCoefficient(t Type, v number.Decimal) (int64, error) {
	return v.Fixed(int32(t.Scale))
}

// Shareable returns arr after filling what Arrow computes lazily and caches in it, the values of
// its dictionary and the number of NULLs of a slice: then goroutines may share it.
func Shareable(arr arrow.Array) arrow.Array {
	arr.NullN()
	switch a := arr.(type) {
	case *array.Dictionary:
		a.Dictionary()
	case *array.Struct:
		for i := range a.NumField() {
			Shareable(a.Field(i))
		}
	}
	return arr
}

// arrayOf1 is a column of one row, of the types that small statements have most; nil for
// others, which a builder makes.
func arrayOf1(dt arrow.DataType, d Datum) arrow.Array {
	column := func(bufs ...[]byte) *array.Data {
		list := make([]*memory.Buffer, 1+len(bufs)) // the first says which rows are null
		for i, b := range bufs {
			list[i+1] = memory.NewBufferBytes(b)
		}
		return array.NewData(dt, 1, list, nil, 0, 0)
	}
	switch v := d.(type) {
	case int64:
		switch dt.ID() {
		case arrow.INT32:
			return array.NewInt32Data(column(binary.LittleEndian.AppendUint32(make([]byte, 0, 4), uint32(v))))
		case arrow.INT64:
			return array.NewInt64Data(column(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(v))))
		}
	case float64:
		if dt.ID() == arrow.FLOAT64 {
			return array.NewFloat64Data(column(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), math.Float64bits(v))))
		}
	case string:
		if dt.ID() == arrow.STRING && len(v) <= math.MaxInt32 {
			return array.NewStringData(column(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(len(v))<<32), []byte(v)))
		}
	}
	return nil
}

// ArrayOf1 is a column of n rows that all hold d. Strings come as a dictionary
// of one value.
func ArrayOf1(t Type, d Datum, n int) (arrow.Array, error) {
	if d == nil {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t.Arrow(), n), nil
	}
	if s, ok := d.(string); ok && t.IsString() && n != 1 {
		vb := array.NewStringBuilder(memory.DefaultAllocator)
		vb.Append(s)
		ib := array.NewInt32Builder(memory.DefaultAllocator)
		ib.AppendValues(make([]int32, n), nil)
		return Shareable(array.NewDictionaryArray(DictArrow, ib.NewArray(), vb.NewArray())), nil
	}
	if n == 1 {
		if a := arrayOf1(t.Arrow(), d); a != nil {
			return a, nil
		}
	}
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	b.Reserve(n)
	for range n {
		if err := AppendDatum(b, t, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}
