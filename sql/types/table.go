package types

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/jsonpath"
)

// def is a row of the table of types: all that is known of one type beside its names, which are the
// row of pg_type. What a row leaves out follows from its form.
type def struct {
	oid   OID
	form  Form
	class Class
	// arrow is the Arrow type where it is not that of the form.
	arrow arrow.DataType
	// parquet is how a Parquet file holds values, as text if it is not set.
	parquet Parquet
	// json says that to_json() takes values as JSON has them: numbers, booleans, JSON itself. Others are quoted.
	json bool
	// same says that equal values are the same value to every function.
	same bool
	// bits is the numeric precision of information_schema, in binary digits.
	bits int8
	// rank is the place of a type of numbers among these: all are implicitly cast to those of higher rank.
	rank int8

	parse func(t Type, s string, env *Env) (Datum, error)
	// text, receive and send are the text of a value and its binary form, of which receive gets as many
	// bytes as pg_type says. Without them both are those of the form.
	text    func(dst []byte, t Type, d Datum, env *Env) []byte
	receive func(t Type, b []byte) (Datum, error)
	send    func(dst []byte, d Datum) []byte
	// show is the cast to text where that is not the text.
	show func(dst []byte, d Datum) []byte
	// narrow makes a value of another type that general serves one of this, where it is not that already.
	narrow func(d Datum) Datum
	// general is the type whose operators serve this one, 0 for itself.
	general OID

	// What pg_type says, and the same for a user's types.
	pg          *PgType
	size        int // of the binary form, 0 where it varies
	elem, array OID
}

// scalars are the types with values. Rows for their arrays are made of these, and other types of
// pg_type have a row with no more than its names.
var scalars = []def{
	{oid: BoolOID, form: FormBool, class: ClassBool, parquet: ParquetPlain, json: true, same: true, parse: in(parseBool), show: showBool},
	{oid: Int2OID, form: FormInt16, class: ClassInteger, rank: 1, parquet: ParquetInteger, json: true, same: true, bits: 16, parse: parseInt(16)},
	{oid: Int4OID, form: FormInt32, class: ClassInteger, rank: 2, parquet: ParquetInteger, json: true, same: true, bits: 32, parse: parseInt(32)},
	{oid: Int8OID, form: FormInt64, class: ClassInteger, rank: 3, parquet: ParquetInteger, json: true, same: true, bits: 64, parse: parseInt(64)},
	{oid: Float4OID, form: FormFloat32, class: ClassFloat, rank: 5, parquet: ParquetPlain, json: true, bits: 24, parse: parseFloat(32)},
	{oid: Float8OID, form: FormFloat64, class: ClassFloat, rank: 6, parquet: ParquetPlain, json: true, bits: 53, parse: parseFloat(64)},
	{oid: NumericOID, form: FormBinary, class: ClassNumeric, rank: 4, parquet: ParquetDecimal, json: true, parse: parseNumeric, receive: receiveNumeric},

	{oid: TextOID, form: FormString, class: ClassText, same: true, parse: asIs},
	{oid: VarcharOID, form: FormString, class: ClassText, general: TextOID, same: true, parse: asIs},
	{oid: BpcharOID, form: FormString, class: ClassText, parse: asIs},
	{oid: NameOID, form: FormString, class: ClassText, same: true, parse: in(sure(TruncateName)), receive: receiveName},
	{oid: CharOID, form: FormString, class: ClassChar, same: true, parse: in(sure(ParseChar)), text: textChar, receive: receiveChar, send: sendChar},
	{oid: UnknownOID, form: FormString, class: ClassLiteral, parse: asIs},
	{oid: CstringOID, form: FormString, class: ClassLiteral, parse: asIs},
	{oid: PgNodeTreeOID, form: FormString, class: ClassLiteral, parse: asIs},
	{oid: RefcursorOID, form: FormString, parse: asIs},
	{oid: XMLOID, form: FormString, parse: asIs},
	{oid: ACLItemOID, form: FormString, parse: asIs},
	{oid: BitOID, form: FormString, class: ClassBits, parse: in(ParseBits), receive: receiveBits, send: sendBits},
	{oid: VarbitOID, form: FormString, class: ClassBits, parse: in(ParseBits), receive: receiveBits, send: sendBits},
	{oid: JSONOID, form: FormString, class: ClassJSON, json: true, parse: in(validJSON), receive: receiveJSON},
	{oid: JSONBOID, form: FormString, class: ClassJSONB, json: true, parse: in(json.CanonicalJSONB), receive: receiveVersioned(json.CanonicalJSONB), send: sendVersioned},
	{oid: JSONPathOID, form: FormString, parse: in(jsonpath.Canonical), receive: receiveVersioned(jsonpath.Canonical), send: sendVersioned},
	{oid: PgLSNOID, form: FormString, parse: in(parseLSN), receive: receiveLSN, send: sendLSN},

	{oid: ByteaOID, form: FormBinary, class: ClassBytes, parquet: ParquetPlain, same: true, parse: in(parseBytea)},
	{oid: UUIDOID, form: FormFixed16, class: ClassUUID, parquet: ParquetUUID, same: true, parse: in(parseUUID)},

	{oid: DateOID, form: FormInt32, class: ClassDate, arrow: arrow.FixedWidthTypes.Date32, parquet: ParquetDate, same: true,
		parse: dated(datetime.ParseDate), text: textDate, receive: receiveDate, send: sendDate},
	{oid: TimeOID, form: FormInt64, class: ClassTime, arrow: &arrow.Time64Type{Unit: arrow.Microsecond}, parquet: ParquetTime, same: true,
		parse: dated(datetime.ParseTime), text: textTime, receive: receiveTime},
	{oid: TimetzOID, form: FormFixed12, class: ClassTimetz, parse: dated(datetime.ParseTimeTZ), receive: receiveTimetz},
	{oid: TimestampOID, form: FormInt64, class: ClassTimestamp, arrow: TimestampArrow, parquet: ParquetTimestamp, same: true,
		parse: dated(datetime.ParseTimestamp), text: textTimestamp, receive: receiveTimestamp, send: sendTimestamp},
	{oid: TimestamptzOID, form: FormInt64, class: ClassTimestamptz, arrow: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, parquet: ParquetTimestamp, same: true,
		parse: dated(datetime.ParseTimestamptz), text: textTimestamptz, receive: receiveTimestamp, send: sendTimestamp},
	{oid: IntervalOID, form: FormFixed16, class: ClassInterval, parse: parseInterval, receive: receiveInterval},

	{oid: OIDOID, form: FormUint32, class: ClassObject, parquet: ParquetInteger, same: true, parse: in(oidOf("oid"))},
	{oid: XIDOID, form: FormUint32, class: ClassXID, parquet: ParquetInteger, parse: in(oidOf("xid"))},
	{oid: CIDOID, form: FormUint32, class: ClassXID, parquet: ParquetInteger, parse: in(oidOf("cid"))},
	{oid: TIDOID, form: FormInt64, class: ClassTID, parse: in(parseTID), text: textTID, receive: receiveTID, send: sendTID},
	{oid: RegprocOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegprocedureOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegoperOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegoperatorOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegclassOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegtypeOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegconfigOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegnamespaceOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegroleOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},
	{oid: RegcollationOID, form: FormUint32, class: ClassReg, parse: parseReg, text: textReg},

	{oid: RecordOID, form: FormNested, class: ClassRecord, parse: parseRecord, receive: receiveRecord},
	{oid: VoidOID, form: FormNull, parse: func(Type, string, *Env) (Datum, error) { return nil, nil },
		receive: func(Type, []byte) (Datum, error) { return nil, nil }},
	{oid: Int2VectorOID, form: FormNested, class: ClassArray, parse: parseVector, receive: receiveArray},
	{oid: OIDVectorOID, form: FormNested, class: ClassArray, parse: parseVector, receive: receiveArray},

	{oid: AnyElementOID, form: FormUint32, class: ClassAnyElement},
	{oid: AnyNonArrayOID, form: FormUint32, class: ClassAnyElement},
	{oid: AnyEnumOID, form: FormUint32, class: ClassAnyElement},
	{oid: AnyArrayOID, form: FormUint32, class: ClassAnyArray},
	{oid: AnyCompatibleOID, form: FormUint32, class: ClassAnyCompatible},
	{oid: AnyCompatibleNonArrayOID, form: FormUint32, class: ClassAnyCompatible},
	{oid: AnyCompatibleArrayOID, form: FormUint32, class: ClassAnyCompatibleArray},
}

var (
	// defs are the rows of built-in types; the first is of an OID that is none.
	defs = []def{{form: FormUint32}}
	// rowOf is the row in defs of each OID below the last of the built-in types.
	rowOf   [1 << 13]uint16
	pgTypes []PgType
	// Types of a user are enums, and arrays of these or of a relation's rows.
	enumDef  = def{form: FormString, class: ClassEnum, same: true, parse: asIs} // its labels are the catalog's to check
	arrayDef = def{form: FormNested, class: ClassArray}
)

// The rows name functions that look into the table, so that it is filled here.
func init() {
	byOID := map[OID]*def{}
	for _, rows := range [][]def{scalars, inetTypes} {
		for i := range rows {
			byOID[rows[i].oid] = &rows[i]
		}
	}
	arrayDef.parse, arrayDef.receive = parseArray, receiveArray
	pgTypes = readPgTypes(pgTypeRows + inetPgTypes[1:])
	for i := range pgTypes {
		p := &pgTypes[i]
		d := def{form: FormUint32}
		switch known := byOID[p.OID]; {
		case known != nil:
			d = *known
		case p.Category == 'A' || p.OID == RecordArrayOID:
			d = arrayDef
		}
		d.oid, d.pg = p.OID, p
		if d.form == FormNested && d.class == ClassArray {
			d.elem = p.Elem
		}
		if p.Len > 0 && p.Kind == 'b' && p.Receive != "-" && d.class != ClassText {
			d.size = int(p.Len)
		}
		rowOf[p.OID] = uint16(len(defs))
		defs = append(defs, d)
	}
	for i := range defs {
		if d := &defs[i]; d.elem != 0 && d.pg.Name[0] == '_' {
			defs[rowOf[d.elem]].array = d.oid
		}
	}
}

// def returns the row of a type.
func (o OID) def() *def {
	switch {
	case int(o) < len(rowOf):
		return &defs[rowOf[o]]
	case o >= UserArrayBit:
		return &arrayDef
	case o >= FirstUserOID:
		return &enumDef
	}
	return &defs[0]
}

// Form is how a column of the type holds its values.
func (t Type) Form() Form {
	if t.Prec > 0 && t.OID == NumericOID {
		return FormInt64
	}
	return t.OID.def().form
}

// Class is the class of a type.
func (t Type) Class() Class { return t.OID.def().class }

// Class is the class of a type.
func (o OID) Class() Class { return o.def().class }

// Parquet is how a Parquet file holds values of the type.
func (t Type) Parquet() Parquet { return t.OID.def().parquet }

// EqualIsSame reports whether equal values of t are the same value to every
// function: 1.0 and 1.00, 'a' and 'a ' as bpchar, or -0 and 0 are not.
func (t Type) EqualIsSame() bool { return t.OID.def().same || t.IsFixed() }

// Len returns pg_type.typlen: the bytes of a value in PostgreSQL, -1 where they vary.
func (o OID) Len() int16 {
	if p := o.def().pg; p != nil {
		return p.Len
	}
	if o >= FirstUserOID && o < UserArrayBit {
		return 4
	}
	return -1
}

// IsArray reports whether t is an array type (int2vector and oidvector included).
func (t Type) IsArray() bool { return t.OID.def().class == ClassArray }

// IsString reports whether t is represented as String or Dictionary(int32, String).
func (t Type) IsString() bool { return t.OID.def().form == FormString }

// IsIntegral reports whether values of t are integers in Arrow and compared as such: the integers and dates.
func (t Type) IsIntegral() bool {
	c := t.OID.def().class
	return c == ClassInteger || c == ClassDate
}

// IsInteger reports whether t is int2, int4 or int8.
func (t Type) IsInteger() bool { return t.OID.def().class == ClassInteger }

// IsFloat reports whether t is float4 or float8.
func (t Type) IsFloat() bool { return t.OID.def().class == ClassFloat }

// IsNumber reports whether t is an integer, a float or a numeric.
func (t Type) IsNumber() bool {
	c := t.OID.def().class
	return c >= ClassInteger && c <= ClassFloat
}

// Rank is the place of a type of numbers in the order of implicit casts, from int2 to float8; 0 for
// other types.
func (t Type) Rank() int { return int(t.OID.def().rank) }

// IntRange returns the least and the greatest value of an integer type.
func (t Type) IntRange() (lo, hi int64, ok bool) {
	if !t.IsInteger() {
		return 0, 0, false
	}
	lo = math.MinInt64 >> (64 - 8*t.Form().Width())
	return lo, ^lo, true
}

// Narrow makes values of another type with the same General ones of t; nil where they are that already.
func (t Type) Narrow() func(d Datum) Datum { return t.OID.def().narrow }

// BinaryIsText reports whether the binary form of values is their text, but for a version before it.
func (t Type) BinaryIsText() bool {
	d := t.OID.def()
	return d.form == FormString && d.size == 0 && d.class != ClassBits
}

// General is the type whose operators and functions serve t: text for varchar, and the polymorphic types
// for arrays and enums.
func (o OID) General() OID {
	switch d := o.def(); {
	case d.general != 0:
		return d.general
	case d.class == ClassArray:
		return AnyArrayOID
	case d.class == ClassEnum:
		return AnyEnumOID
	}
	return o
}

// IsText reports whether t is text, varchar, bpchar or name, the strings that are ordered by their significant bytes.
func (t Type) IsText() bool { return t.OID.def().class == ClassText }

// IsCharacters reports whether t is a string type proper: one of IsText, or what a literal or a
// catalog's text has.
func (t Type) IsCharacters() bool {
	c := t.OID.def().class
	return c == ClassText || c == ClassLiteral
}

// IsStamp reports whether t is a date or a timestamp of either kind, which compare with each other.
func (t Type) IsStamp() bool {
	c := t.OID.def().class
	return c == ClassDate || c == ClassTimestamp || c == ClassTimestamptz
}

// IsTime reports whether t is of dates, times or intervals.
func (t Type) IsTime() bool {
	c := t.OID.def().class
	return c >= ClassDate && c <= ClassInterval
}

// IsReg reports whether o is a type that shows an object of the catalog by its name.
func IsReg(o OID) bool { return o.def().class == ClassReg }

// IsPolymorphic reports whether an argument's declared type is determined by the call.
func (o OID) IsPolymorphic() bool { return o.def().class >= ClassAnyElement }
