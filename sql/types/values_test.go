package types

import (
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/tributarydb/tributary/sql/internal/golden"
)

func TestValuesGolden(t *testing.T) {
	for _, r := range golden.Read(t, "values.tsv") {
		typ := testType(t, r[1])
		a, _, err := castText(typ, r[2], DefaultEnv)
		if err != nil {
			t.Fatal(err)
		}
		switch r[0] {
		case "send":
			if got := "=" + hex.EncodeToString(AppendBinary(nil, typ, a)); got != r[4] {
				t.Errorf("%s %q: binary form %s, want %s", r[1], r[2], got, r[4])
			}
		case "cmp":
			b, _, err := castText(typ, r[3], DefaultEnv)
			if err != nil {
				t.Fatal(err)
			}
			got := Compare(typ, a, b)
			if "="+strconv.Itoa(got) != r[4] {
				t.Errorf("%s: %q against %q is %d, want %s", r[1], r[2], r[3], got, r[4])
			}
			if got == 0 && Hash(typ, a, 7) != Hash(typ, b, 7) {
				t.Errorf("%s: %q and %q are equal, their hashes are not", r[1], r[2], r[3])
			}
			if got != 0 && Hash(typ, a, 7) == Hash(typ, b, 7) {
				t.Errorf("%s: %q and %q share a hash", r[1], r[2], r[3])
			}
		}
	}
}

func TestNamesGolden(t *testing.T) {
	for _, r := range golden.Read(t, "names.tsv") {
		o, _ := strconv.Atoi(r[0])
		mod, _ := strconv.Atoi(r[1])
		typ := Type{OID: OID(o), Mod: int32(mod)}
		if _, known := PgTypeOf(typ.OID); !known {
			continue
		}
		if got := "=" + typ.String(); got != r[2] {
			t.Errorf("format_type(%s, %s) is %s, want %s", r[0], r[1], got, r[2])
		}
		if mod == -1 && typ.OID != BpcharOID {
			if back, ok := ByName(r[2][1:]); !ok || back != typ.OID {
				t.Errorf("the name %s is %d, want %d", r[2], back, o)
			}
		}
	}
	for name, want := range map[string]OID{
		"int": Int4OID, "INT4": Int4OID, "Integer": Int4OID, "float": Float8OID, "decimal": NumericOID, "dec": NumericOID,
		"varchar": VarcharOID, "character  varying": VarcharOID, "char": BpcharOID, `"char"`: CharOID, "timestamptz": TimestamptzOID,
		"timestamp with time zone": TimestamptzOID, "timestamp": TimestampOID, "time": TimeOID, "bool": BoolOID, "_int4": 1007,
		"int[]": 1007, "pg_catalog.text": TextOID, `"int4"`: Int4OID, "double precision[]": 1022, "bit varying": VarbitOID,
	} {
		if got, ok := ByName(name); !ok || got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	for _, name := range []string{"", "foo", `"integer"`, "int[][", "string"} {
		if got, ok := ByName(name); ok {
			t.Errorf("%q is %d", name, got)
		}
	}
}
