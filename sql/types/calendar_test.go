package types

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/internal/golden"
)

// calendarOp evaluates one line of calendar.tsv.
func calendarOp(t *testing.T, op string, args []string, env *Env) (string, error) {
	parse := func(typ Type, s string) Datum {
		d, err := ParseText(typ, s, env)
		if err != nil {
			t.Fatalf("%s %v: %v", op, args, err)
		}
		return d
	}
	typed := func(name string) (Type, Datum) {
		o, ok := ByName(name)
		if !ok {
			t.Fatal(name)
		}
		typ := Type{OID: o, Mod: -1}
		return typ, parse(typ, args[1])
	}
	iv := func(s string) datetime.Interval { return parse(IntervalT, s).(datetime.Interval) }
	ts := func(s string) int64 { return parse(Timestamp, s).(int64) }
	num := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	float := func(i int) float64 { return parse(Float8, args[i]).(float64) }
	ivText := func(v datetime.Interval, err error) (string, error) { return TextOf(IntervalT, v, env), err }
	tsText := func(v int64, err error) (string, error) { return TextOf(Timestamp, v, env), err }
	tzText := func(v int64, err error) (string, error) { return TextOf(Timestamptz, v, env), err }
	switch op {
	case "extract":
		f := args[0]
		args = args[1:]
		typ, d := typed(args[0])
		v, ok, err := Extract(f, typ, d, env.Location)
		if err == nil && !ok {
			return "NULL", nil
		}
		return v.String(), err
	case "date_trunc":
		f := args[0]
		args = args[1:]
		typ, d := typed(args[0])
		switch typ.OID {
		case IntervalOID:
			return ivText(datetime.DateTruncInterval(f, d.(datetime.Interval)))
		case TimestampOID:
			return tsText(datetime.DateTrunc(f, d.(int64), nil))
		}
		return tzText(datetime.DateTrunc(f, d.(int64), env.Location))
	case "add", "sub":
		typ, d := typed(args[0])
		f := datetime.TimestampAddInterval
		if op == "sub" {
			f = datetime.TimestampSubInterval
		}
		if typ.OID == TimestampOID {
			return tsText(f(d.(int64), iv(args[2]), nil))
		}
		return tzText(f(d.(int64), iv(args[2]), env.Location))
	case "diff":
		return ivText(datetime.TimestampDiff(ts(args[1]), ts(args[2])))
	case "age":
		typ, a := typed(args[0])
		b := parse(typ, args[2]).(int64)
		if typ.OID == TimestampOID {
			return ivText(datetime.Age(a.(int64), b))
		}
		return ivText(datetime.Age(datetime.ToLocal(a.(int64), env.Location), datetime.ToLocal(b, env.Location)))
	case "mul":
		return ivText(datetime.IntervalMul(iv(args[0]), float(1)))
	case "div":
		return ivText(datetime.IntervalDiv(iv(args[0]), float(1)))
	case "iadd":
		return ivText(datetime.IntervalAdd(iv(args[0]), iv(args[1])))
	case "isub":
		return ivText(datetime.IntervalSub(iv(args[0]), iv(args[1])))
	case "icmp":
		return strconv.Itoa(iv(args[0]).Cmp(iv(args[1]))), nil
	case "justify_hours":
		return ivText(datetime.JustifyHours(iv(args[0])))
	case "justify_days":
		return ivText(datetime.JustifyDays(iv(args[0])))
	case "justify_interval":
		return ivText(datetime.JustifyInterval(iv(args[0])))
	case "bin":
		return tsText(datetime.DateBin(iv(args[0]), ts(args[1]), ts(args[2])))
	case "at":
		typ, d := typed(args[0])
		z, err := datetime.ZoneNamed(args[2])
		switch {
		case err != nil:
			return "", err
		case typ.OID == TimestampOID:
			return tzText(z.FromTimestamp(d.(int64)))
		}
		return tsText(z.FromTimestamptz(d.(int64)))
	case "make_date":
		v, err := datetime.MakeDate(num(0), num(1), num(2))
		return TextOf(Date, v, env), err
	case "make_time":
		v, err := datetime.MakeTime(num(0), num(1), float(2))
		return TextOf(Time, v, env), err
	case "make_timestamp":
		return tsText(datetime.MakeTimestamp(num(0), num(1), num(2), num(3), num(4), float(5)))
	case "to_timestamp":
		return tzText(datetime.TimestamptzFromUnix(float(0)))
	case "make_interval":
		return ivText(datetime.MakeInterval(int32(num(0)), int32(num(1)), int32(num(2)), int32(num(3)), int32(num(4)), int32(num(5)), float(6)))
	case "make_zone":
		loc, err := datetime.MakeZone(args[0])
		if err != nil {
			return "", err
		}
		return tzText(datetime.MakeTimestamptz(2020, 7, 1, 0, 0, 0, loc))
	}
	t.Fatalf("no operation %s", op)
	return "", nil
}

func TestCalendarGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden.Read(t, "calendar.tsv") {
		s, err := calendarOp(t, r[0], strings.Split(r[2], "|"), testEnv(t, r[1]))
		got := golden.Outcome(s, err)
		if got == "=NULL" {
			got = "NULL"
		}
		if got != r[3] {
			if bad[r[0]]++; bad[r[0]] <= 8 {
				t.Errorf("%s [%s] %s\n   got %s\n  want %s", r[0], r[1], r[2], got, r[3])
			}
		}
	}
	for op, n := range bad {
		t.Logf("%s: %d differ", op, n)
	}
}
