package copyfmt

import (
	"encoding/binary"
	"math/big"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parquetLeaf collects the values of a column, or the elements of an array column, and writes them.
type parquetLeaf interface {
	of(arr arrow.Array) // sets the array that add reads from
	add(i int) error    // value i, which is not NULL
	// write writes the values added since the last call, with their definition and repetition
	// levels.
	write(w pqfile.ColumnChunkWriter, defs, reps []int16) error
}

type leafOf[T any] struct {
	vals []T
	get  func(arr arrow.Array) func(i int) (T, error)
	at   func(i int) (T, error)
}

func (l *leafOf[T]) of(arr arrow.Array) { l.at = l.get(arr) }

func (l *leafOf[T]) add(i int) error {
	v, err := l.at(i)
	l.vals = append(l.vals, v)
	return err
}

func (l *leafOf[T]) write(w pqfile.ColumnChunkWriter, defs, reps []int16) error {
	if len(reps) == 0 {
		reps = nil
	}
	_, err := w.(interface {
		WriteBatch(values []T, defs, reps []int16) (int64, error)
	}).WriteBatch(l.vals, defs, reps)
	clear(l.vals) // they may point into the batch, which must not be kept
	l.vals = l.vals[:0]
	return err
}

// as returns a leaf for values of an array of type A, converted to T.
func as[A arrow.Array, V, T any](value func(A, int) V, convert func(V) T) parquetLeaf {
	return &leafOf[T]{get: func(arr arrow.Array) func(int) (T, error) {
		a := arr.(A)
		return func(i int) (T, error) { return convert(value(a, i)), nil }
	}}
}

// parquetKind is how values of a type are written.
type parquetKind struct {
	physical parquet.Type
	logical  schema.LogicalType
	width    int
	leaf     parquetLeaf
}

// mostPrecision is the greatest precision of a DECIMAL that every reader supports.
const mostPrecision = 38

// kindOf returns how values of t are written: as read_parquet reads them or, for types that Parquet
// does not have, as text. A numeric without a precision is written as text: no DECIMAL can
// represent all its values, and a floating-point number would change them.
func kindOf(t types.Type, env *types.Env) parquetKind {
	plain := func(p parquet.Type, leaf parquetLeaf) parquetKind {
		return parquetKind{p, schema.NoLogicalType{}, -1, leaf}
	}
	kind := plain(parquet.Types.ByteArray, nil)
	switch t.Form() {
	case types.FormBool:
		kind = plain(parquet.Types.Boolean, as((*array.Boolean).Value, same[bool]))
	case types.FormInt16:
		kind = plain(parquet.Types.Int32, as((*array.Int16).Value, to32[int16]))
	case types.FormInt32:
		kind = plain(parquet.Types.Int32, as((*array.Int32).Value, same[int32]))
	case types.FormInt64:
		kind = plain(parquet.Types.Int64, as((*array.Int64).Value, same[int64]))
	case types.FormUint32:
		kind = plain(parquet.Types.Int64, as((*array.Uint32).Value, to64[uint32]))
	case types.FormFloat32:
		kind = plain(parquet.Types.Float, as((*array.Float32).Value, same[float32]))
	case types.FormFloat64:
		kind = plain(parquet.Types.Double, as((*array.Float64).Value, same[float64]))
	case types.FormBinary:
		kind = plain(parquet.Types.ByteArray, as((*array.Binary).Value, sameBytes[[]byte, parquet.ByteArray]))
	}
	switch t.Parquet() {
	case types.ParquetPlain:
		return kind
	case types.ParquetInteger:
		kind.logical = schema.NewIntLogicalType(int8(8*t.Form().Width()), true)
		if t.Form() == types.FormUint32 {
			kind.logical = schema.NewIntLogicalType(64, true)
		}
		return kind
	case types.ParquetDecimal:
		if k, ok := decimalKind(t); ok {
			return k
		}
	case types.ParquetUUID:
		return parquetKind{parquet.Types.FixedLenByteArray, schema.UUIDLogicalType{}, 16, as((*array.FixedSizeBinary).Value, sameBytes[[]byte, parquet.FixedLenByteArray])}
	case types.ParquetDate:
		return parquetKind{parquet.Types.Int32, schema.DateLogicalType{}, -1, as((*array.Date32).Value, to32[arrow.Date32])}
	case types.ParquetTime:
		return parquetKind{parquet.Types.Int64, schema.NewTimeLogicalType(false, schema.TimeUnitMicros), -1, as((*array.Time64).Value, to64[arrow.Time64])}
	case types.ParquetTimestamp:
		return parquetKind{parquet.Types.Int64, schema.NewTimestampLogicalTypeForce(t.Class() == types.ClassTimestamptz, schema.TimeUnitMicros), -1,
			as((*array.Timestamp).Value, to64[arrow.Timestamp])}
	}
	return parquetKind{parquet.Types.ByteArray, schema.StringLogicalType{}, -1, &leafOf[parquet.ByteArray]{get: texts(t, env)}}
}

func same[T any](v T) T                     { return v }
func sameBytes[V ~[]byte, T ~[]byte](v V) T { return T(v) }
func to32[V ~int16 | ~int32](v V) int32     { return int32(v) }
func to64[V ~int64 | ~uint32](v V) int64    { return int64(v) }

// texts returns values as text: a string as it is, any other value as in COPY's text format.
func texts(t types.Type, env *types.Env) func(arr arrow.Array) func(i int) (parquet.ByteArray, error) {
	str := func(s *array.String, i int) (parquet.ByteArray, error) { return parquet.ByteArray(s.Value(i)), nil }
	return func(arr arrow.Array) func(i int) (parquet.ByteArray, error) {
		if t.IsString() && t.OID != types.CharOID {
			switch a := arr.(type) {
			case *array.String:
				return func(i int) (parquet.ByteArray, error) { return str(a, i) }
			case *array.Dictionary:
				if s, ok := a.Dictionary().(*array.String); ok {
					return func(i int) (parquet.ByteArray, error) { return str(s, a.GetValueIndex(i)) }
				}
			}
		}
		return func(i int) (parquet.ByteArray, error) {
			return types.AppendText(nil, t, types.DatumAt(t, arr, i), env), nil
		}
	}
}

// decimalKind returns how a numeric with a declared precision is written; ok is false where DECIMAL
// cannot represent it. The precision is the declared one, not that of the values which the table
// happens to have: files of the same statement must have the same schema.
func decimalKind(t types.Type) (k parquetKind, ok bool) {
	if t.IsFixed() {
		prec := int32(types.MaxFixedDigits)
		if p, s, ok := number.NumericMod(t.Mod); ok && s == int(t.Scale) && p >= int(t.Prec) && p <= types.MaxFixedDigits {
			prec = int32(p)
		}
		k.logical, k.width = schema.NewDecimalLogicalType(prec, int32(t.Scale)), -1
		if prec <= 9 {
			k.physical, k.leaf = parquet.Types.Int32, as((*array.Int64).Value, func(v int64) int32 { return int32(v) })
		} else {
			k.physical, k.leaf = parquet.Types.Int64, as((*array.Int64).Value, same[int64])
		}
		return k, true
	}
	p, s, ok := number.NumericMod(t.Mod)
	prec, scale := int32(p), int32(s)
	if !ok || prec > mostPrecision || scale < 0 || scale > prec {
		return k, false
	}
	return parquetKind{parquet.Types.FixedLenByteArray, schema.NewDecimalLogicalType(prec, scale), 16, &leafOf[parquet.FixedLenByteArray]{
		get: func(arr arrow.Array) func(i int) (parquet.FixedLenByteArray, error) {
			a := arr.(*array.Binary)
			return func(i int) (parquet.FixedLenByteArray, error) { return decimal128(a.Value(i), prec, scale) }
		}}}, true
}

// decimal128 returns the unscaled value of a numeric at a scale, as 16 bytes, big-endian.
func decimal128(b []byte, prec, scale int32) (parquet.FixedLenByteArray, error) {
	out := make(parquet.FixedLenByteArray, 16)
	hi, lo, s, ok := number.WideDecimalBytes(b)
	if !ok || s != scale {
		d, err := number.DecodeDecimal(b)
		if err != nil {
			return out, err
		}
		coef, ok := new(big.Int).SetString(strings.Replace(d.Round(scale).String(), ".", "", 1), 10)
		if !ok || coef.BitLen() > 127 { // NaN
			return out, pgerr.New(pgerr.NumericValueOutOfRange, "numeric value %s cannot be written to a parquet file as numeric(%d,%d)", d, prec, scale).
				WithHint("Cast the column to text.")
		}
		if coef.Sign() < 0 { // to two's complement
			for i := range out {
				out[i] = 0xff
			}
			coef.Not(coef)
			coef.FillBytes(out)
			for i := range out {
				out[i] = ^out[i]
			}
			return out, nil
		}
		coef.FillBytes(out)
		return out, nil
	}
	binary.BigEndian.PutUint64(out, uint64(hi))
	binary.BigEndian.PutUint64(out[8:], lo)
	return out, nil
}

// parquetField returns the field of a column in the schema of the file, and the leaf that writes
// its values.
func parquetField(c Column, env *types.Env) (schema.Node, parquetLeaf, error) {
	t, name, list := c.Type, c.Name, false
	if e, ok := t.Elem(); ok {
		t, name, list = e, "element", true
	}
	k := kindOf(t, env)
	node, err := schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Optional, k.logical, k.physical, k.width, -1)
	if err != nil {
		return nil, nil, parquetError(err)
	}
	if !list {
		return node, k.leaf, nil
	}
	items, err := schema.NewGroupNode("list", parquet.Repetitions.Repeated, schema.FieldList{node}, -1)
	if err != nil {
		return nil, nil, parquetError(err)
	}
	group, err := schema.NewGroupNodeLogical(c.Name, parquet.Repetitions.Optional, schema.FieldList{items}, schema.NewListLogicalType(), -1)
	if err != nil {
		return nil, nil, parquetError(err)
	}
	return group, k.leaf, nil
}
