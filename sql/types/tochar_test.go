package types

import (
	"strconv"
	"testing"
)

func TestToCharGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden(t, "tochar.tsv") {
		env := testEnv(t, r[1])
		format, val := r[2], r[3]
		parse := func(typ Type) Datum {
			d, err := ParseText(typ, val, env)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		var s string
		ok := true
		var err error
		switch r[0] {
		case "ts":
			s, ok, err = FormatTimestamp(format, parse(Timestamp).(int64), nil)
		case "tstz":
			s, ok, err = FormatTimestamp(format, parse(Timestamptz).(int64), env.Location)
		case "iv":
			s, ok, err = FormatInterval(format, parse(IntervalT).(Interval))
		case "num":
			s, err = FormatNumeric(format, parse(Numeric).(Decimal))
		case "f8":
			s, err = FormatFloat(format, parse(Float8).(float64), 64)
		case "f4":
			s, err = FormatFloat(format, parse(Float4).(float64), 32)
		case "i4", "i8":
			o := Int4OID
			if r[0] == "i8" {
				o = Int8OID
			}
			n, _ := strconv.ParseInt(val, 10, 64)
			s, err = FormatInt(format, o, n)
		case "to_number":
			var d Decimal
			d, ok, err = ParseNumberFormat(val, format)
			s = d.String()
		case "to_date":
			var d int64
			d, err = ParseDateFormat(val, format)
			s = TextOf(Date, d, env)
		case "to_timestamp":
			var d int64
			d, err = ParseTimestampFormat(val, format, env.Location)
			s = TextOf(Timestamptz, d, env)
		}
		got := outcome(s, err)
		if err == nil && !ok {
			got = "NULL"
		}
		if got != r[4] {
			if bad[r[0]]++; bad[r[0]] <= 10 {
				t.Errorf("%s [%s] %q %q\n   got %s\n  want %s", r[0], r[1], format, val, got, r[4])
			}
		}
	}
	for op, n := range bad {
		t.Logf("%s: %d differ", op, n)
	}
}
