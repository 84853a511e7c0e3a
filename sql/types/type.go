package types

import "github.com/apache/arrow/go/v15/arrow"

// OID is a Postgres object identifier.
type OID uint32

// The OIDs of the built-in types (pg_type.dat of PostgreSQL 15).
const (
	BoolOID               OID = 16
	ByteaOID              OID = 17
	CharOID               OID = 18 // "char", one byte
	NameOID               OID = 19
	Int8OID               OID = 20
	Int2OID               OID = 21
	Int2VectorOID         OID = 22
	Int4OID               OID = 23
	RegprocOID            OID = 24
	TextOID               OID = 25
	OIDOID                OID = 26
	TIDOID                OID = 27
	XIDOID                OID = 28
	CIDOID                OID = 29
	OIDVectorOID          OID = 30
	JSONOID               OID = 114
	XMLOID                OID = 142
	PgNodeTreeOID         OID = 194
	Float4OID             OID = 700
	Float8OID             OID = 701
	UnknownOID            OID = 705
	MoneyOID              OID = 790
	ACLItemOID            OID = 1033
	BpcharOID             OID = 1042
	VarcharOID            OID = 1043
	DateOID               OID = 1082
	TimeOID               OID = 1083
	TimestampOID          OID = 1114
	TimestamptzOID        OID = 1184
	IntervalOID           OID = 1186
	TimetzOID             OID = 1266
	BitOID                OID = 1560
	VarbitOID             OID = 1562
	NumericOID            OID = 1700
	RefcursorOID          OID = 1790
	RegprocedureOID       OID = 2202
	RegoperOID            OID = 2203
	RegoperatorOID        OID = 2204
	RegclassOID           OID = 2205
	RegtypeOID            OID = 2206
	RecordOID             OID = 2249
	CstringOID            OID = 2275
	AnyOID                OID = 2276
	AnyArrayOID           OID = 2277
	VoidOID               OID = 2278
	AnyElementOID         OID = 2283
	RecordArrayOID        OID = 2287
	AnyNonArrayOID        OID = 2776
	UUIDOID               OID = 2950
	PgLSNOID              OID = 3220
	AnyEnumOID            OID = 3500
	RegconfigOID          OID = 3734
	JSONBOID              OID = 3802
	JSONPathOID           OID = 4072
	RegnamespaceOID       OID = 4089
	RegroleOID            OID = 4096
	RegcollationOID       OID = 4191
	AnyCompatibleOID      OID = 5077
	AnyCompatibleArrayOID OID = 5078
	FirstUserOID          OID = 16384
	// UserArrayBit makes the OID of a user's type that of its array type, so that an array's element
	// type is known without a catalog.
	UserArrayBit OID = 1 << 30
)

// MaxFixedDigits is the most decimal digits an int64 always holds.
const MaxFixedDigits = 18

// Type is a SQL type with its modifier. It is a comparable value; two columns of equal Type have
// the same representation.
type Type struct {
	OID OID
	// Mod is the modifier as PostgreSQL encodes it (atttypmod), -1 for none:
	// varchar(n) and bpchar(n) n+4, numeric(p,s) ((p<<16)|s)+4, the second
	// precision for times.
	Mod int32
	// Prec and Scale are the representation of a numeric: Prec 1..18 is a fixed numeric of Scale
	// digits after the point in an int64; Prec 0 is variable.
	Prec, Scale uint8
	// Rec is set for record types whose columns are known.
	Rec *Record
}

// Record is the shape of a composite value. It is shared and never changed.
type Record struct {
	Fields []Field
	// Rel is the relation whose rows have this type, 0 for none: a row constructor, a
	// subquery's row.
	Rel OID
}

// RowType and RowArray are the OIDs of a relation's row type and of its array. The catalog does not
// number these: they lie above what it gives out.
func RowType(rel OID) OID  { return rel | 1<<30 }
func RowArray(rel OID) OID { return rel | 3<<29 }

// RowTypeOf is the relation of a row type, or of an array of it.
func RowTypeOf(oid OID) (rel OID, array, ok bool) {
	switch oid >> 29 {
	case 2:
		return oid &^ (1 << 30), false, true
	case 3:
		return oid &^ (3 << 29), true, true
	}
	return 0, false, false
}

// Described is the OID that clients are told: of a row of a relation, that of its row type.
func (t Type) Described() OID {
	if t.Rec != nil && t.Rec.Rel != 0 {
		if t.IsArray() {
			return RowArray(t.Rec.Rel)
		}
		return RowType(t.Rec.Rel)
	}
	return t.OID
}

// Field is one named member of a Record.
type Field struct {
	Name string
	Type Type
}

// The built-in types without a modifier.
var (
	Bool        = Type{OID: BoolOID, Mod: -1}
	Bytea       = Type{OID: ByteaOID, Mod: -1}
	Char        = Type{OID: CharOID, Mod: -1}
	Name        = Type{OID: NameOID, Mod: -1}
	Int2        = Type{OID: Int2OID, Mod: -1}
	Int4        = Type{OID: Int4OID, Mod: -1}
	Int8        = Type{OID: Int8OID, Mod: -1}
	Text        = Type{OID: TextOID, Mod: -1}
	Oid         = Type{OID: OIDOID, Mod: -1}
	TID         = Type{OID: TIDOID, Mod: -1}
	XID         = Type{OID: XIDOID, Mod: -1}
	CID         = Type{OID: CIDOID, Mod: -1}
	XML         = Type{OID: XMLOID, Mod: -1}
	JSON        = Type{OID: JSONOID, Mod: -1}
	JSONB       = Type{OID: JSONBOID, Mod: -1}
	Float4      = Type{OID: Float4OID, Mod: -1}
	Float8      = Type{OID: Float8OID, Mod: -1}
	Unknown     = Type{OID: UnknownOID, Mod: -1}
	Bpchar      = Type{OID: BpcharOID, Mod: -1}
	Varchar     = Type{OID: VarcharOID, Mod: -1}
	Date        = Type{OID: DateOID, Mod: -1}
	Time        = Type{OID: TimeOID, Mod: -1}
	Timetz      = Type{OID: TimetzOID, Mod: -1}
	Timestamp   = Type{OID: TimestampOID, Mod: -1}
	Timestamptz = Type{OID: TimestamptzOID, Mod: -1}
	IntervalT   = Type{OID: IntervalOID, Mod: -1}
	Numeric     = Type{OID: NumericOID, Mod: -1}
	UUID        = Type{OID: UUIDOID, Mod: -1}
	Regclass    = Type{OID: RegclassOID, Mod: -1}
	Regtype     = Type{OID: RegtypeOID, Mod: -1}
	Regproc     = Type{OID: RegprocOID, Mod: -1}
	RecordT     = Type{OID: RecordOID, Mod: -1}
	Void        = Type{OID: VoidOID, Mod: -1}
)

// FixedNumeric is a numeric represented in an int64. visible reports whether the
// client sees numeric(prec,scale) or plain numeric.
func FixedNumeric(prec, scale uint8, visible bool) Type {
	t := Type{OID: NumericOID, Mod: -1, Prec: prec, Scale: scale}
	if visible {
		t.Mod = (int32(prec)<<16 | int32(scale)) + 4
	}
	return t
}

// IsFixed reports whether t is a numeric represented in an int64.
func (t Type) IsFixed() bool { return t.OID == NumericOID && t.Prec > 0 }

// SamePhysical reports whether columns of t and o hold equal values in equal bits.
func (t Type) SamePhysical(o Type) bool {
	return t.OID == o.OID && (t.Prec == 0) == (o.Prec == 0) && (t.Prec == 0 || t.Scale == o.Scale)
}

// Widens reports whether o has every value of t, as it is: a column of t becomes one of o without
// its rows being looked at. It need not know all such pairs.
//
//	varchar(10) ─▶ varchar(20) ─▶ varchar ⇄ text      numeric(8,2) ─▶ numeric(10,2)
//	timestamp(3) ─▶ timestamp(4) ─▶ timestamp ⇄ timestamp(6)
func (t Type) Widens(o Type) bool {
	switch t.OID {
	case TextOID, VarcharOID:
		return (o.OID == TextOID || o.OID == VarcharOID) && (o.Mod < 0 || t.Mod >= 0 && o.Mod >= t.Mod)
	case NumericOID:
		return t.IsFixed() && t.SamePhysical(o) && (o.Mod < 0 || t.Mod >= 0 && o.Prec >= t.Prec)
	case TimeOID, TimetzOID, TimestampOID, TimestamptzOID:
		digits := func(mod int32) int32 {
			if mod < 0 {
				return 6
			}
			return mod
		}
		return t.OID == o.OID && digits(t.Mod) <= digits(o.Mod)
	}
	return false
}

// arrayOf pairs element and array types (pg_type.typarray).
var arrayOf = map[OID]OID{
	BoolOID: 1000, ByteaOID: 1001, CharOID: 1002, NameOID: 1003, Int2OID: 1005, Int2VectorOID: 1006,
	Int4OID: 1007, RegprocOID: 1008, TextOID: 1009, OIDOID: 1028, TIDOID: 1010, XIDOID: 1011, CIDOID: 1012,
	OIDVectorOID: 1013, BpcharOID: 1014, VarcharOID: 1015, Int8OID: 1016, Float4OID: 1021, Float8OID: 1022,
	ACLItemOID: 1034, TimestampOID: 1115, DateOID: 1182, TimeOID: 1183, TimestamptzOID: 1185, IntervalOID: 1187,
	NumericOID: 1231, TimetzOID: 1270, JSONOID: 199, JSONBOID: 3807, JSONPathOID: 4073, UUIDOID: 2951, RecordOID: RecordArrayOID,
	RegclassOID: 2210, RegtypeOID: 2211, RegroleOID: 4097, RegnamespaceOID: 4090, CstringOID: 1263,
	RegprocedureOID: 2207, RegoperOID: 2208, RegoperatorOID: 2209, RegcollationOID: 4192, RegconfigOID: 3735,
	BitOID: 1561, VarbitOID: 1563, RefcursorOID: 2201, PgLSNOID: 3221, XMLOID: 143,
}

var elemOf = func() map[OID]OID {
	m := make(map[OID]OID, len(arrayOf)+2)
	for e, a := range arrayOf {
		m[a] = e
	}
	m[Int2VectorOID], m[OIDVectorOID] = Int2OID, OIDOID
	return m
}()

// ArrayOf returns the array type of t; ok is false if it has none.
func ArrayOf(t Type) (Type, bool) {
	a, ok := arrayOf[t.OID]
	if t.OID >= FirstUserOID && t.OID < UserArrayBit {
		a, ok = t.OID|UserArrayBit, true
	}
	return Type{OID: a, Mod: t.Mod, Prec: t.Prec, Scale: t.Scale, Rec: t.Rec}, ok
}

// IsArray reports whether t is an array type (int2vector and oidvector included).
func (t Type) IsArray() bool { _, ok := elemOf[t.OID]; return ok || t.OID >= UserArrayBit }

// Elem returns the element type of an array type; ok is false for other types.
func (t Type) Elem() (Type, bool) {
	e, ok := elemOf[t.OID]
	if t.OID >= UserArrayBit {
		e, ok = t.OID&^UserArrayBit, true
	}
	return Type{OID: e, Mod: t.Mod, Prec: t.Prec, Scale: t.Scale, Rec: t.Rec}, ok
}

// IsIntegral reports whether values of t are integers in Arrow and compared as such: the integers and dates.
func (t Type) IsIntegral() bool {
	switch t.OID {
	case Int2OID, Int4OID, Int8OID, DateOID:
		return true
	}
	return false
}

// IsString reports whether t is represented as String or Dictionary(int32, String).
func (t Type) IsString() bool {
	switch t.OID {
	case TextOID, VarcharOID, BpcharOID, NameOID, CharOID, JSONOID, JSONBOID, UnknownOID, CstringOID,
		PgNodeTreeOID, XMLOID, ACLItemOID, RefcursorOID, PgLSNOID, BitOID, VarbitOID, JSONPathOID:
		return true
	}
	return t.OID >= FirstUserOID && t.OID < UserArrayBit
}

// Arrow types shared by all columns of a kind.
var (
	TimestampArrow   = &arrow.TimestampType{Unit: arrow.Microsecond}
	timestamptzArrow = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	timeArrow        = &arrow.Time64Type{Unit: arrow.Microsecond}
	fixed16Arrow     = &arrow.FixedSizeBinaryType{ByteWidth: 16}
	fixed12Arrow     = &arrow.FixedSizeBinaryType{ByteWidth: 12}
	DictArrow        = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
)

// ArrowTypes returns the Arrow type of each of ts.
func ArrowTypes(ts []Type) []arrow.DataType {
	out := make([]arrow.DataType, len(ts))
	for i, t := range ts {
		out[i] = t.Arrow()
	}
	return out
}

// Arrow returns the Arrow type a column of t has when it is not dictionary
// encoded. See the package comment for the table.
func (t Type) Arrow() arrow.DataType {
	if e, ok := t.Elem(); ok {
		return arrow.ListOf(e.Arrow())
	}
	switch t.OID {
	case BoolOID:
		return arrow.FixedWidthTypes.Boolean
	case Int2OID:
		return arrow.PrimitiveTypes.Int16
	case Int4OID:
		return arrow.PrimitiveTypes.Int32
	case Int8OID, TIDOID:
		return arrow.PrimitiveTypes.Int64
	case Float4OID:
		return arrow.PrimitiveTypes.Float32
	case Float8OID:
		return arrow.PrimitiveTypes.Float64
	case NumericOID:
		if t.Prec > 0 {
			return arrow.PrimitiveTypes.Int64
		}
		return arrow.BinaryTypes.Binary
	case ByteaOID:
		return arrow.BinaryTypes.Binary
	case DateOID:
		return arrow.FixedWidthTypes.Date32
	case TimeOID:
		return timeArrow
	case TimetzOID:
		return fixed12Arrow
	case TimestampOID:
		return TimestampArrow
	case TimestamptzOID:
		return timestamptzArrow
	case IntervalOID, UUIDOID:
		return fixed16Arrow
	case VoidOID:
		return arrow.Null
	case RecordOID:
		if t.Rec == nil {
			return arrow.StructOf()
		}
		fs := make([]arrow.Field, len(t.Rec.Fields))
		for i, f := range t.Rec.Fields {
			fs[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		}
		return arrow.StructOf(fs...)
	}
	if t.IsString() {
		return arrow.BinaryTypes.String
	}
	return arrow.PrimitiveTypes.Uint32 // oid, xid, cid, reg*
}
