package types

import (
	"github.com/tributarydb/tributary/sql/pgerr"

	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
)

// fuzzTypes are the types that every fuzz input is parsed as.
func fuzzTypes() []Type {
	var out []Type
	for _, p := range PgTypes() {
		out = append(out, Type{OID: p.OID, Mod: -1})
	}
	rec := &Record{Fields: []Field{{"a", Int4}, {"b", Text}, {"c", Numeric}}}
	return append(out, Type{OID: RecordOID, Mod: -1, Rec: rec}, FixedNumeric(10, 2, true), Type{OID: VarcharOID, Mod: 7},
		Type{OID: BpcharOID, Mod: 7}, Type{OID: TimestampOID, Mod: 2}, Type{OID: IntervalOID, Mod: datetime.RangeSecond<<16 | 2})
}

func FuzzParseText(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5e3", "{1,NULL,\"a\"}", "(1,\"a b\",)", "2020-02-29 12:00:00.5 PST", "J2451187",
		"1 year 2 mons -3 days 04:05:06.7", "P1Y2M3DT4H5M6S", `{"a":[1,2,{"b":null}]}`, `\x00ff`, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		"infinity", "<x>+3", "20200102T030405-0800", "\"\\ud83d\\ude00\"", "Jan 8 99 BC", "12:00:00 EST5EDT", "1e400"} {
		f.Add(s)
	}
	types := fuzzTypes()
	env := *DefaultEnv
	env.Now = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 || pgerr.CheckUTF8(s) != nil {
			return
		}
		for _, typ := range types {
			d, err := ParseText(typ, s, &env)
			if err != nil || d == nil {
				continue
			}
			text := TextOf(typ, d, &env)
			if typ.OID == CharOID || len(text) > 4000 {
				continue
			}
			if tz, ok := d.(datetime.TimeTZ); ok && (tz.Zone <= -datetime.MaxZone || tz.Zone >= datetime.MaxZone) {
				continue // a POSIX time zone may have a larger offset than the text format allows
			}
			back, err := ParseText(typ, text, &env)
			if err != nil || TextOf(typ, back, &env) != text {
				t.Errorf("%s %q prints %q, which reads as %v (%v)", typ, s, text, back, err)
			}
			if back, err := ParseBinary(typ, AppendBinary(nil, typ, d)); err != nil || TextOf(typ, back, &env) != text {
				t.Errorf("%s %q: binary form reads as %v (%v)", typ, s, back, err)
			}
		}
		if f, err := datetime.ParseFormat(s); err == nil {
			_, _, _ = f.Timestamp(1e15+1, time.UTC)
			_, _, _ = f.Interval(datetime.Interval{Months: -13, Days: 3, Micros: -1e10})
		}
		if f, err := number.ParseFormat(s); err == nil {
			_, _ = f.Numeric(number.DecimalFromInt64(-12345, 2))
		}
		_, _, _ = number.ParseNumberFormat("-1,234.5", s)
		_, _, _ = number.ParseNumberFormat(s, "S9G999D99")
		_, _ = datetime.ParseTimestampFormat("2020-01-02 03:04:05", s, time.UTC)
		_, _ = datetime.ParseDateFormat(s, "YYYY-MM-DD HH24:MI:SS.US TZH")
	})
}

func FuzzParseBinary(f *testing.F) {
	for _, r := range [][]byte{{}, {1}, {0, 0, 0, 1}, {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1},
		{0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1}, {0, 1, 0x80, 0, 0, 0, 0x3f, 0xff, 0, 1}, {1, '{', '}'}} {
		f.Add(r)
	}
	f.Add(AppendBinary(nil, Numeric, number.DecimalFromInt64(1234567, 3)))
	f.Add(AppendBinary(nil, Type{OID: 1009, Mod: -1}, Array{Elem: Text, Elems: []Datum{"a", nil}}))
	types := fuzzTypes()
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		for _, typ := range types {
			d, err := ParseBinary(typ, b)
			if err != nil || d == nil {
				continue
			}
			if text := TextOf(typ, d, nil); len(text) > 200000 {
				t.Errorf("%s: %d bytes print %d", typ, len(b), len(text))
			}
			back, err := ParseBinary(typ, AppendBinary(nil, typ, d))
			if err != nil || Compare(typ, d, back) != 0 {
				t.Errorf("%s %x: reads back as %v, not %v (%v)", typ, b, back, d, err)
			} else if Hash(typ, d, 1) != Hash(typ, back, 1) {
				t.Errorf("%s %x: %v and %v are equal and hash apart", typ, b, d, back)
			}
		}
		if d, err := number.DecodeDecimal(b); err == nil {
			if back, err := number.DecodeDecimal(d.AppendBinary(nil)); err != nil || back.Cmp(d) != 0 {
				t.Errorf("%x is %s, reads back as %s", b, d, back)
			}
			_ = number.NormalizeDecimalBytes(nil, b)
		}
		_ = number.CompareDecimalBytes(b, []byte{4, 7})
	})
}
