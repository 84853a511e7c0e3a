// Package types maps SQL types to Arrow types and Postgres OIDs, and dispatches
// by type to what holds the values: number, datetime and json, and strings,
// arrays and rows here.
//
// How a SQL type is represented in a column (the table of Type.Arrow):
//
//	bool                     Boolean
//	int2 int4 int8           Int16 Int32 Int64
//	float4 float8            Float32 Float64
//	numeric, Prec 1..18      Int64, the value times 10^Scale     (fixed)
//	numeric, Prec 0          Binary, the encoding of Decimal     (variable)
//	text varchar bpchar      String, or Dictionary(int32, String)
//	name "char" json jsonb   the same; bpchar with its blanks, bpchar(n) n
//	unknown, enums           characters; jsonb in its canonical text
//	bytea                    Binary
//	date                     Date32                  (±infinity: min, max)
//	time                     Time64[us]
//	timetz                   FixedSizeBinary(12)
//	timestamp, timestamptz   Timestamp[us], Timestamp[us, UTC]
//	interval                 FixedSizeBinary(16)     (months, days, micros)
//	uuid                     FixedSizeBinary(16)
//	oid xid cid reg*         Uint32
//	arrays, int2vector,      List(element)           (one dimension)
//	oidvector
//	record                   Struct
//	void                     Null
//
// A numeric is "fixed" only where its display scale is the same for every row
// and 18 digits are provably enough; where that is not known it is variable,
// and exact. Scale and Prec of a fixed numeric are part of the Type, apart
// from Mod, which is what a client sees: numeric(15,2) * numeric(15,2) has no
// modifier in PostgreSQL, yet its scale is 4.
//
// table.go is the table of types: one row says all that is known of a type, kinds.go the forms and
// classes that it names, and whoever wants to know what a type is asks it. pgtype_rows.go
// and typename.go are the names, the rows of pg_type.
//
// text.go has ParseText and AppendText, binary*.go the wire's binary form, mod.go modifiers,
// arrow.go columns, compare.go order and hashes, json.go to_json(), infoschema.go what
// information_schema says; bytes_text.go, array_text.go,
// row_text.go and reg.go are the text of what has no package of its own.
//
// All of it is pure: no clock, no catalog, no settings but those an Env holds.
// The tables in testdata hold what PostgreSQL 15 answers.
package types
