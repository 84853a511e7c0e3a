package types

import "github.com/apache/arrow/go/v15/arrow"

// OID is a Postgres object identifier.
type OID uint32

// The OIDs of the built-in types (pg_type.dat of PostgreSQL 15).
const (
	BoolOID                  OID = 16
	ByteaOID                 OID = 17
	CharOID                  OID = 18 // "char", one byte
	NameOID                  OID = 19
	Int8OID                  OID = 20
	Int2OID                  OID = 21
	Int2VectorOID            OID = 22
	Int4OID                  OID = 23
	RegprocOID               OID = 24
	TextOID                  OID = 25
	OIDOID                   OID = 26
	TIDOID                   OID = 27
	XIDOID                   OID = 28
	CIDOID                   OID = 29
	OIDVectorOID             OID = 30
	JSONOID                  OID = 114
	XMLOID                   OID = 142
	PgNodeTreeOID            OID = 194
	Float4OID                OID = 700
	Float8OID                OID = 701
	UnknownOID               OID = 705
	MoneyOID                 OID = 790
	ACLItemOID               OID = 1033
	BpcharOID                OID = 1042
	VarcharOID               OID = 1043
	DateOID                  OID = 1082
	TimeOID                  OID = 1083
	TimestampOID             OID = 1114
	TimestamptzOID           OID = 1184
	IntervalOID              OID = 1186
	TimetzOID                OID = 1266
	BitOID                   OID = 1560
	VarbitOID                OID = 1562
	NumericOID               OID = 1700
	RefcursorOID             OID = 1790
	RegprocedureOID          OID = 2202
	RegoperOID               OID = 2203
	RegoperatorOID           OID = 2204
	RegclassOID              OID = 2205
	RegtypeOID               OID = 2206
	RecordOID                OID = 2249
	CstringOID               OID = 2275
	AnyOID                   OID = 2276
	AnyArrayOID              OID = 2277
	VoidOID                  OID = 2278
	AnyElementOID            OID = 2283
	RecordArrayOID           OID = 2287
	AnyNonArrayOID           OID = 2776
	UUIDOID                  OID = 2950
	PgLSNOID                 OID = 3220
	AnyEnumOID               OID = 3500
	RegconfigOID             OID = 3734
	JSONBOID                 OID = 3802
	JSONPathOID              OID = 4072
	RegnamespaceOID          OID = 4089
	RegroleOID               OID = 4096
	RegcollationOID          OID = 4191
	AnyCompatibleOID         OID = 5077
	AnyCompatibleArrayOID    OID = 5078
	AnyCompatibleNonArrayOID OID = 5079
	FirstUserOID             OID = 16384
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

// ArrayOf returns the array type of t; ok is false if it has none.
func ArrayOf(t Type) (Type, bool) {
	a := t.OID.def().array
	if t.OID >= FirstUserOID && t.OID < UserArrayBit {
		a = t.OID | UserArrayBit
	}
	return Type{OID: a, Mod: t.Mod, Prec: t.Prec, Scale: t.Scale, Rec: t.Rec}, a != 0
}

// Elem returns the element type of an array type; ok is false for other types.
func (t Type) Elem() (Type, bool) {
	e := t.OID.def().elem
	if t.OID >= UserArrayBit {
		e = t.OID &^ UserArrayBit
	}
	return Type{OID: e, Mod: t.Mod, Prec: t.Prec, Scale: t.Scale, Rec: t.Rec}, e != 0
}

// Arrow types shared by all columns of a kind.
var (
	TimestampArrow = &arrow.TimestampType{Unit: arrow.Microsecond}
	DictArrow      = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
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
	d := t.OID.def()
	switch {
	case d.arrow != nil:
		return d.arrow
	case d.class == ClassArray:
		e, _ := t.Elem()
		return arrow.ListOf(e.Arrow())
	case d.class != ClassRecord:
		return forms[t.Form()].arrow
	case t.Rec == nil:
		return arrow.StructOf()
	}
	fs := make([]arrow.Field, len(t.Rec.Fields))
	for i, f := range t.Rec.Fields {
		fs[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
	}
	return arrow.StructOf(fs...)
}
