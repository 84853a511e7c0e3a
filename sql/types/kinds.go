package types

import "github.com/apache/arrow/go/v15/arrow"

// Form is how a column holds values: what kernels and vectors ask of a type.
type Form uint8

// The forms.
const (
	FormNull    Form = iota // every row NULL, no values
	FormBool                // a bit a row in Arrow, a byte in vectors
	FormInt16               // int2
	FormInt32               // int4, date
	FormInt64               // int8, time, timestamps, fixed numerics
	FormUint32              // oid and its like
	FormFloat32             // float4
	FormFloat64             // float8
	FormString              // characters: offsets and bytes
	FormDict                // FormString as indices into a dictionary: no type's own form
	FormBinary              // bytea and variable numerics: offsets and bytes
	FormFixed12             // timetz
	FormFixed16             // interval, uuid
	FormNested              // lists and structs
)

var forms = [...]struct {
	width int
	arrow arrow.DataType
}{
	FormNull:    {0, arrow.Null},
	FormBool:    {1, arrow.FixedWidthTypes.Boolean},
	FormInt16:   {2, arrow.PrimitiveTypes.Int16},
	FormInt32:   {4, arrow.PrimitiveTypes.Int32},
	FormInt64:   {8, arrow.PrimitiveTypes.Int64},
	FormUint32:  {4, arrow.PrimitiveTypes.Uint32},
	FormFloat32: {4, arrow.PrimitiveTypes.Float32},
	FormFloat64: {8, arrow.PrimitiveTypes.Float64},
	FormString:  {0, arrow.BinaryTypes.String},
	FormDict:    {4, DictArrow},
	FormBinary:  {0, arrow.BinaryTypes.Binary},
	FormFixed12: {12, &arrow.FixedSizeBinaryType{ByteWidth: 12}},
	FormFixed16: {16, &arrow.FixedSizeBinaryType{ByteWidth: 16}},
	FormNested:  {},
}

// Width returns the bytes of a value in a vector, of a dictionary those of an index; 0 where they vary.
func (f Form) Width() int { return forms[f].width }

// Class says which types are alike to expressions: those of one class compare with each other, and
// convert into each other without a loss but of range, precision or length.
type Class uint8

// The classes.
const (
	ClassOther Class = iota
	ClassBool
	ClassInteger // int2, int4, int8
	ClassNumeric
	ClassFloat
	ClassText    // text, varchar, bpchar, name
	ClassLiteral // unknown, cstring, pg_node_tree
	ClassChar    // "char"
	ClassBits
	ClassJSON
	ClassJSONB
	ClassBytes
	ClassUUID
	ClassDate
	ClassTimestamp
	ClassTimestamptz
	ClassTime
	ClassTimetz
	ClassInterval
	ClassObject
	ClassXID // xid, cid, which have no order
	ClassTID
	ClassReg // the types that show an object of the catalog by its name
	ClassEnum
	ClassArray
	ClassRecord
	// The pseudo-types that a call determines.
	ClassAnyElement // anyelement, anynonarray, anyenum
	ClassAnyArray
	ClassAnyCompatible // anycompatible, anycompatiblenonarray
	ClassAnyCompatibleArray
)

// Parquet is how a Parquet file holds the values of a type.
type Parquet uint8

// The mappings.
const (
	ParquetText    Parquet = iota // the type's text
	ParquetPlain                  // Parquet's physical type of the form
	ParquetInteger                // INT(bits, signed)
	ParquetDecimal                // DECIMAL, text without a declared precision
	ParquetUUID
	ParquetDate
	ParquetTime      // TIME in microseconds
	ParquetTimestamp // TIMESTAMP in microseconds
)
