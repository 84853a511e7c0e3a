// Package types maps SQL types to Arrow types and Postgres OIDs, and holds the
// values of one cell: literals, text and binary forms, exact numerics, dates,
// intervals, arrays, JSON.
//
// How a SQL type is carried in a column (the table of Type.Arrow):
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
// What is where. Values: decimal*.go the exact numeric and its column encoding;
// calendar.go, timestamp_math.go, interval_math.go, extract.go, date_trunc.go,
// make_time.go the calendar; zone*.go time zones; json_*.go the JSON tree.
// Forms: text.go dispatches ParseText and AppendText to number_text.go,
// bytes_text.go, datetime_*.go, interval_*.go, array_text.go, row_text.go and
// reg.go; binary*.go the wire's binary form; tochar_*.go to_char() and its
// inverses; mod.go modifiers; arrow.go columns; compare.go order and hashes.
// Names: typename.go and pgtype_rows.go, the rows of pg_type.
//
// All of it is pure: no clock, no catalog, no settings but those an Env holds.
// The tables in testdata hold what PostgreSQL 15 answers.
package types
