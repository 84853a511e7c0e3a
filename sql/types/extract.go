package types

import (
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
)

// Extract is extract(field from d) for a type of dates and times; see
// datetime.Extract.
func Extract(field string, t Type, d Datum, loc *time.Location) (v number.Decimal, ok bool, err error) {
	return datetime.Extract(field, datetime.Kind(TypeName(t.OID)), d, loc)
}

// FieldOf returns a field of the values of a type; see datetime.FieldOf.
func FieldOf(field string, t Type, loc *time.Location) (datetime.Field, bool) {
	return datetime.FieldOf(field, datetime.Kind(TypeName(t.OID)), loc)
}
