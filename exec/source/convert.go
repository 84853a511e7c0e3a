package source

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// sqlType returns the SQL type of a file's column. What has no type of its own, structs and maps
// for instance, becomes jsonb.
func sqlType(dt arrow.DataType) types.Type {
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return types.Bool
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Uint8Type:
		return types.Int2
	case *arrow.Int32Type, *arrow.Uint16Type:
		return types.Int4
	case *arrow.Int64Type, *arrow.Uint32Type:
		return types.Int8
	case *arrow.Uint64Type:
		return types.Type{OID: types.NumericOID, Mod: 20<<16 + 4}
	case *arrow.Float16Type, *arrow.Float32Type:
		return types.Float4
	case *arrow.Float64Type:
		return types.Float8
	case *arrow.StringType, *arrow.LargeStringType, *arrow.NullType:
		return types.Text
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.FixedSizeBinaryType:
		return types.Bytea
	case *arrow.Date32Type, *arrow.Date64Type:
		return types.Date
	case *arrow.Time32Type, *arrow.Time64Type:
		return types.Time
	case *arrow.TimestampType:
		if dt.TimeZone != "" {
			return types.Timestamptz
		}
		return types.Timestamp
	case *arrow.Decimal128Type:
		if dt.Precision <= types.MaxFixedDigits && dt.Scale >= 0 && dt.Scale <= dt.Precision {
			return types.FixedNumeric(uint8(dt.Precision), uint8(dt.Scale), true)
		}
		return types.Type{OID: types.NumericOID, Mod: dt.Precision<<16 + dt.Scale&0x7ff + 4}
	case *arrow.Decimal256Type: // of up to 76 digits
		return types.Type{OID: types.NumericOID, Mod: dt.Precision<<16 + dt.Scale&0x7ff + 4}
	case *arrow.DictionaryType:
		return sqlType(dt.ValueType)
	case *arrow.ListType:
		if e := sqlType(dt.Elem()); !e.IsArray() && e.OID != types.JSONBOID {
			if t, ok := types.ArrayOf(e); ok {
				return t
			}
		}
	}
	return types.JSONB
}

// annotated returns the type of a column, or of an array column, by an annotation of its only leaf that
// the library ignores.
func annotated(t types.Type, leaf schema.LogicalType) types.Type {
	if e, ok := t.Elem(); ok {
		if a, ok := types.ArrayOf(annotated(e, leaf)); ok {
			return a
		}
		return t
	}
	// The library says UTC of all times, even of those that the file says are local.
	if ts, ok := leaf.(*schema.TimestampLogicalType); ok && t.OID == types.TimestamptzOID && !ts.IsAdjustedToUTC() && !ts.IsFromConvertedType() {
		return types.Timestamp
	}
	if t.OID != types.ByteaOID {
		return t
	}
	switch leaf.(type) {
	case schema.UUIDLogicalType:
		return types.UUID
	case schema.JSONLogicalType:
		return types.JSON
	case schema.EnumLogicalType:
		return types.Text
	case schema.IntervalLogicalType:
		return types.IntervalT
	}
	return t
}

// reseat returns arr as a column of dt, which has the same buffers. The new array holds them on its
// own: the reader drops arr.
func reseat(arr arrow.Array, dt arrow.DataType) arrow.Array {
	d := arr.Data()
	return array.MakeFromData(array.NewData(dt, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset()))
}

// numbers makes a column of fixed-width values computed from arr's.
func numbers[T batch.Fixed](arr arrow.Array, dt arrow.DataType, at func(i int) T) arrow.Array {
	vals := make([]T, arr.Len())
	for i := range vals {
		if !arr.IsNull(i) {
			vals[i] = at(i)
		}
	}
	return batch.FromSlice(dt, vals, validity(arr))
}

// checkedNumbers is numbers of values that may not fit.
func checkedNumbers[T batch.Fixed](arr arrow.Array, dt arrow.DataType, at func(i int) (T, error)) (arrow.Array, error) {
	var failed error
	out := numbers(arr, dt, func(i int) T {
		v, err := at(i)
		if err != nil && failed == nil {
			failed = err
		}
		return v
	})
	return out, failed
}

// validity returns arr's bitmap from its first row; nil where no value is NULL.
func validity(arr arrow.Array) []byte {
	if arr.NullN() == 0 {
		return nil
	}
	out := make([]byte, batch.BitmapBytes(arr.Len()))
	for i := range arr.Len() {
		if arr.IsValid(i) {
			batch.SetBit(out, i)
		}
	}
	return out
}

// convert converts a file's column to a column of t.
func convert(arr arrow.Array, t types.Type) (arrow.Array, error) {
	dt := t.Arrow()
	switch a := arr.(type) {
	case *array.Date32:
		return checkedNumbers(a, dt, func(i int) (int32, error) { return dateOf(int64(a.Value(i))) })
	case *array.Boolean, *array.Int16, *array.Int32, *array.Int64, *array.Float32, *array.Float64, *array.String, *array.Binary:
		if arrow.TypeEqual(arr.DataType(), dt) {
			return reseat(arr, dt), nil
		}
		if a, ok := arr.(*array.Binary); ok && dt.ID() == arrow.STRING {
			return reseat(a, dt), nil
		}
	case *array.FixedSizeBinary:
		switch {
		case arrow.TypeEqual(arr.DataType(), dt):
			return reseat(arr, dt), nil
		case t.OID == types.IntervalOID && a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth == 12:
			return intervals(a, dt)
		}
	case *array.Null: // whose values are not marked as NULL
		return batch.Nulls(dt, a.Len()), nil
	case *array.Int8:
		return numbers(a, dt, func(i int) int16 { return int16(a.Value(i)) }), nil
	case *array.Uint8:
		return numbers(a, dt, func(i int) int16 { return int16(a.Value(i)) }), nil
	case *array.Uint16:
		return numbers(a, dt, func(i int) int32 { return int32(a.Value(i)) }), nil
	case *array.Uint32:
		return numbers(a, dt, func(i int) int64 { return int64(a.Value(i)) }), nil
	case *array.Float16:
		return numbers(a, dt, func(i int) float32 { return half(a.Value(i).Uint16()) }), nil
	case *array.Date64:
		const day = 86400000
		return checkedNumbers(a, dt, func(i int) (int32, error) {
			days, _ := checked.FloorDiv(int64(a.Value(i)), day)
			return dateOf(days)
		})
	case *array.Time32:
		of := timeOf(a.DataType().(*arrow.Time32Type).Unit)
		return checkedNumbers(a, dt, func(i int) (int64, error) { return of(int64(a.Value(i))) })
	case *array.Time64:
		of := timeOf(a.DataType().(*arrow.Time64Type).Unit)
		return checkedNumbers(a, dt, func(i int) (int64, error) { return of(int64(a.Value(i))) })
	case *array.Timestamp:
		of := timestampOf(a.DataType().(*arrow.TimestampType).Unit)
		return checkedNumbers(a, dt, func(i int) (int64, error) { return of(int64(a.Value(i))) })
	case *array.Decimal128:
		if out := fixedDecimals(a, t, dt); out != nil {
			return out, nil
		}
	case *array.List:
		if e, ok := t.Elem(); ok {
			return convertList(a, e, dt)
		}
	case *array.Dictionary:
		if s, ok := a.Dictionary().(*array.String); ok && a.Indices().DataType().ID() == arrow.INT32 {
			values := reseat(s, arrow.BinaryTypes.String)
			return types.Shareable(array.NewDictionaryArray(types.DictArrow, reseat(a.Indices(), arrow.PrimitiveTypes.Int32), values)), nil
		}
	}
	return convertSlow(arr, t, dt)
}

// fixedDecimals converts decimals to coefficients of 64 bits; nil where t's are not represented so,
// or one does not fit, for which convertSlow has the error.
func fixedDecimals(a *array.Decimal128, t types.Type, dt arrow.DataType) arrow.Array {
	if dt.ID() != arrow.INT64 || a.DataType().(*arrow.Decimal128Type).Scale != int32(t.Scale) {
		return nil
	}
	vals := make([]int64, a.Len())
	for i := range vals {
		v := a.Value(i)
		if vals[i] = int64(v.LowBits()); v.HighBits() != vals[i]>>63 {
			if a.IsValid(i) {
				return nil
			}
			vals[i] = 0
		}
	}
	return batch.FromSlice(dt, vals, validity(a))
}

// intervals converts Parquet's months, days and milliseconds.
func intervals(a *array.FixedSizeBinary, dt arrow.DataType) (arrow.Array, error) {
	b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, dt.(*arrow.FixedSizeBinaryType))
	var to [16]byte
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		v := a.Value(i)
		datetime.PutInterval(to[:], datetime.Interval{
			Months: int32(binary.LittleEndian.Uint32(v)),
			Days:   int32(binary.LittleEndian.Uint32(v[4:])),
			Micros: int64(binary.LittleEndian.Uint32(v[8:])) * 1000,
		})
		b.Append(to[:])
	}
	return b.NewArray(), nil
}

func convertList(a *array.List, e types.Type, dt arrow.DataType) (arrow.Array, error) {
	vals, err := convert(a.ListValues(), e)
	if err != nil {
		return nil, err
	}
	d := a.Data()
	return array.MakeFromData(array.NewData(dt, d.Len(), d.Buffers(), []arrow.ArrayData{vals.Data()}, d.NullN(), d.Offset())), nil
}

// convertSlow goes value by value, for the types that are rare.
func convertSlow(arr arrow.Array, t types.Type, dt arrow.DataType) (arrow.Array, error) {
	if t.OID == types.JSONBOID {
		return convertNested(arr, dt)
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	b.Reserve(arr.Len())
	for i := range arr.Len() {
		d, err := valueAt(arr, i, t)
		if err == nil {
			err = types.AppendDatum(b, t, d)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

func valueAt(arr arrow.Array, i int, t types.Type) (types.Datum, error) {
	if arr.IsNull(i) {
		return nil, nil
	}
	switch a := arr.(type) {
	case *array.Uint64:
		return number.ParseDecimal(a.ValueStr(i))
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return number.DecimalFromBig(a.Value(i).BigInt(), scale), nil
	case *array.Decimal256:
		return number.DecimalFromBig(a.Value(i).BigInt(), a.DataType().(*arrow.Decimal256Type).Scale), nil
	case *array.LargeString:
		return a.Value(i), nil
	case *array.LargeBinary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.Dictionary:
		return valueAt(a.Dictionary(), a.GetValueIndex(i), t)
	}
	return types.DatumAt(t, arr, i), nil
}
