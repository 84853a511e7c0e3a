package prune

import "github.com/tributarydb/tributary/sql/types"

// Kind groups types whose Datums compare with each other.
type Kind uint8

const (
	Other Kind = iota
	Int
	Numeric
	Float
	Text
	Date
	Timestamp
	Timestamptz
	Time
	UUID
)

// KindOf returns the kind of a type.
func KindOf(t types.Type) Kind {
	switch t.OID {
	case types.Int2OID, types.Int4OID, types.Int8OID, types.OIDOID, types.TIDOID:
		return Int
	case types.NumericOID:
		return Numeric
	case types.Float4OID, types.Float8OID:
		return Float
	case types.TextOID, types.VarcharOID, types.BpcharOID, types.NameOID:
		return Text
	case types.DateOID:
		return Date
	case types.TimestampOID:
		return Timestamp
	case types.TimestamptzOID:
		return Timestamptz
	case types.TimeOID:
		return Time
	case types.UUIDOID:
		return UUID
	}
	return Other
}
