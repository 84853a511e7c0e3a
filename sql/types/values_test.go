package types

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
)

func TestValuesGolden(t *testing.T) {
	for _, r := range golden(t, "values.tsv") {
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

func TestJSONGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden(t, "json.tsv") {
		parse := func(s string) JSONValue {
			v, err := ParseJSONB(s)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		v := parse(r[1])
		var path []string
		if r[2] != "" {
			path = strings.Split(r[2], ",")
		}
		n, _ := strconv.Atoi(r[2])
		var got JSONValue
		var err error
		ok, text := true, ""
		switch r[0] {
		case "get":
			got, ok = v.Get(r[2])
			if raw, found := JSONField(v.String(), r[2]); found != ok || ok && raw != got.String() {
				t.Errorf("scanning %s for %q finds %q", v, r[2], raw)
			}
		case "gettext":
			if got, ok = v.Get(r[2]); ok {
				text, ok = got.Text()
			}
			if ok && text == "" {
				text = " "
			}
		case "index":
			got, ok = v.Index(n)
			if raw, found := JSONBElement(v.String(), n); found != ok || ok && raw != got.String() {
				t.Errorf("scanning %s for %d finds %q", v, n, raw)
			}
		case "path":
			got, ok = v.Path(path)
		case "exists":
			text = strconv.FormatBool(v.Exists(r[2]))
		case "contains":
			text = strconv.FormatBool(v.Contains(parse(r[2])))
		case "delete":
			got, err = v.Delete(r[2])
		case "deleteindex":
			got, err = v.DeleteIndex(n)
		case "deletepath":
			got, err = v.DeletePath(EditPath{Steps: path})
		case "concat":
			got = v.Concat(parse(r[2]))
		case "set", "replace":
			got, err = v.Set(EditPath{Steps: path}, parse(r[3]), r[0] == "set")
		case "insert", "insertafter":
			got, err = v.Insert(EditPath{Steps: path}, parse(r[3]), r[0] == "insertafter")
		case "typeof":
			text = v.TypeOf()
		case "strip_nulls":
			got = v.StripNulls()
		case "pretty":
			text = v.Pretty()
		case "array_length":
			n, err = v.ArrayLength()
			text = strconv.Itoa(n)
		}
		if text == "" {
			text = got.String()
		}
		res := outcome(text, err)
		if !ok {
			res = "NULL"
		}
		if res != r[4] {
			if bad[r[0]]++; bad[r[0]] < 8 {
				t.Errorf("%s %s (%s, %s)\n   got %s\n  want %s", r[0], r[1], r[2], r[3], res, r[4])
			}
		}
	}
}

func TestNamesGolden(t *testing.T) {
	for _, r := range golden(t, "names.tsv") {
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
