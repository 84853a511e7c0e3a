package types

import (
	"strconv"
	"testing"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/internal/golden"
	"github.com/tributarydb/tributary/sql/number"
)

func TestToCharGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden.Read(t, "tochar.tsv") {
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
		dates, _ := datetime.ParseFormat(format)
		numbers := func(write func(number.Format) (string, error)) {
			var f *number.Format
			if f, err = number.ParseFormat(format); err == nil {
				s, err = write(*f)
			}
		}
		switch r[0] {
		case "ts":
			s, ok, err = dates.Timestamp(parse(Timestamp).(int64), nil)
		case "tstz":
			s, ok, err = dates.Timestamp(parse(Timestamptz).(int64), env.Location)
		case "iv":
			s, ok, err = dates.Interval(parse(IntervalT).(datetime.Interval))
		case "num":
			numbers(func(f number.Format) (string, error) { return f.Numeric(parse(Numeric).(number.Decimal)) })
		case "f8":
			numbers(func(f number.Format) (string, error) { return f.Float(parse(Float8).(float64), 64) })
		case "f4":
			numbers(func(f number.Format) (string, error) { return f.Float(parse(Float4).(float64), 32) })
		case "i4", "i8":
			o := 32
			if r[0] == "i8" {
				o = 64
			}
			n, _ := strconv.ParseInt(val, 10, 64)
			numbers(func(f number.Format) (string, error) { return f.Int(o, n) })
		case "to_number":
			var d number.Decimal
			d, ok, err = number.ParseNumberFormat(val, format)
			s = d.String()
		case "to_date":
			var d int64
			d, err = datetime.ParseDateFormat(val, format)
			s = TextOf(Date, d, env)
		case "to_timestamp":
			var d int64
			d, err = datetime.ParseTimestampFormat(val, format, env.Location)
			s = TextOf(Timestamptz, d, env)
		}
		got := golden.Outcome(s, err)
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
