package types

import (
	"testing"

	"github.com/tributarydb/tributary/sql/json"
)

func TestAppendJSON(t *testing.T) {
	rec := Type{OID: RecordOID, Mod: -1, Rec: &Record{Fields: []Field{{"a", Int4}, {"b c", Text}, {"d", Type{OID: 1185, Mod: -1}}}}}
	for _, c := range []struct {
		typ      Type
		in, want string
	}{
		{Int4, "-5", "-5"}, {Bool, "t", "true"}, {Float8, "1e20", "1e+20"}, {Float8, "NaN", `"NaN"`}, {Numeric, "1.50", "1.50"},
		{Numeric, "-Infinity", `"-Infinity"`}, {Text, "a\"\n", `"a\"\n"`}, {Date, "2020-01-02", `"2020-01-02"`}, {Date, "infinity", `"infinity"`},
		{Timestamp, "2020-01-02 03:04:05.6", `"2020-01-02T03:04:05.6"`}, {Timestamptz, "2020-01-02 03:04:05+00", `"2020-01-01T22:04:05-05:00"`},
		{Timestamptz, "0044-03-15 12:00:00+00 BC", `"0044-03-15T07:03:58-04:56:02 BC"`},
		{JSON, `{"b":1,  "a":2}`, `{"b":1,  "a":2}`}, {JSONB, `{"b":1,  "a":2}`, `{"a": 2, "b": 1}`}, {Type{OID: 1007, Mod: -1}, "{1,NULL,3}", "[1,null,3]"},
		{rec, `(1,x,"{""2020-01-02 03:04:05+00""}")`, `{"a":1,"b c":"x","d":["2020-01-01T22:04:05-05:00"]}`}, {IntervalT, "1 day", `"1 day"`}, {Bytea, `\x01`, `"\\x01"`},
	} {
		env := testEnv(t, "timezone='America/New_York';datestyle='SQL, DMY'")
		d, err := ParseText(c.typ, c.in, DefaultEnv)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AppendJSON(nil, c.typ, d, env)
		if err != nil || string(got) != c.want {
			t.Errorf("%s %q gives %s (%v), want %s", c.typ, c.in, got, err, c.want)
		}
		if _, err := json.ParseJSONB(string(got)); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}
