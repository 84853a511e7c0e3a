package types_test

import (
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/types"
)

// TestManualTypes keeps the manual's table of types.
func TestManualTypes(t *testing.T) {
	var rows [][]string
	for _, l := range []struct {
		typ         types.Type
		also, about string
	}{
		{types.Bool, "bool", "true, false"},
		{types.Int2, "int2, smallserial", "-32,768 to 32,767"},
		{types.Int4, "int, int4, serial", "-2,147,483,648 to 2,147,483,647"},
		{types.Int8, "int8, bigserial", "-9,223,372,036,854,775,808 to 9,223,372,036,854,775,807"},
		{types.Numeric, "decimal; numeric(p, s)", "exact; 131,072 digits before the point and 16,383 after it; NaN, infinity. Up to 18 digits are represented in 64 bits, without NaN (0A000)"},
		{types.Float4, "float4", "IEEE 754, 24 bits of mantissa"},
		{types.Float8, "float8, float", "IEEE 754, 53 bits of mantissa"},
		{types.Text, "", "UTF-8, compared byte by byte (collation C); a value of up to 1 GiB"},
		{types.Varchar, "varchar(n)", "text of at most n characters"},
		{types.Bpchar, "char(n)", "text padded with blanks to n characters, which count neither when it is compared nor when it becomes text"},
		{types.Name, "", "text of at most 63 bytes"},
		{types.Bytea, "", "bytes"},
		{types.Date, "", "4713 BC to 5874897 AD, infinity"},
		{types.Time, "time(p)", "microseconds"},
		{types.Timetz, "timetz", "microseconds, with an offset"},
		{types.Timestamp, "", "4713 BC to 294247 AD, microseconds, infinity"},
		{types.Timestamptz, "timestamptz", "the same, as an instant"},
		{types.IntervalT, "", "months, days and microseconds"},
		{types.UUID, "", ""},
		{types.Inet, "", "an IPv4 or IPv6 address, with the length of its mask"},
		{types.Cidr, "", "a network: no bits right of the mask"},
		{types.JSON, "", "the text as given"},
		{types.JSONB, "", "normalised; members in jsonb's order"},
		{types.Type{OID: types.BitOID, Mod: -1}, "bit(n)", ""},
		{types.Type{OID: types.VarbitOID, Mod: -1}, "varbit(n)", ""},
		{types.Oid, "", "0 to 4,294,967,295"},
		{types.Regclass, "regtype, regproc, regrole, regnamespace, …", "an oid that is written as a name"},
		{types.RecordT, "", "rows; ROW(…)"},
	} {
		p, ok := types.PgTypeOf(l.typ.OID)
		a, hasArray := types.ArrayOf(l.typ)
		if !ok || !hasArray {
			t.Fatalf("type %d has no row in pg_type, or no array", l.typ.OID)
		}
		rows = append(rows, []string{"`" + p.SQLName + "`", l.also, fmt.Sprint(uint32(l.typ.OID)), fmt.Sprint(uint32(a.OID)), l.about})
	}
	manual.Part(t, "docs/reference/types.md", "types", manual.Table([]string{"type", "also", "OID", "OID of arrays", "values"}, rows))
}
