package sqlfuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// typ is a type by the short name that productions use.
type typ string

// sqlNames are the types both sides share.
var sqlNames = map[typ]string{
	"i2": "smallint", "i4": "integer", "i8": "bigint", "n": "numeric", "f": "double precision", "s": "text", "b": "boolean",
	"d": "date", "ts": "timestamp", "iv": "interval", "j": "jsonb", "ai": "integer[]", "as": "text[]",
}

// types gives the choice of a type its weights.
var types = []typ{"i2", "i4", "i4", "i4", "i8", "i8", "n", "n", "f", "s", "s", "s", "b", "b", "d", "d", "ts", "iv", "j", "ai", "as"}

// exact are types whose equal values look the same, so that a LIMIT in their
// order leaves no choice.
func exact(t typ) bool { return strings.Contains(" i2 i4 i8 s b d ts ai as ", " "+string(t)+" ") }

func allExact(ts []typ) bool { return !slices.ContainsFunc(ts, func(t typ) bool { return !exact(t) }) }

// values are literals: ordinary ones first, because half of all choices are
// among the first of them, then the ends of the type.
var values = map[typ][]string{
	"i2": {"0::smallint", "1::smallint", "2::smallint", "3::smallint", "-1::smallint", "(-32768)::smallint", "32767::smallint"},
	"i4": {"0", "1", "2", "3", "5", "7", "(-1)", "10", "100", "(-2147483648)", "2147483647"},
	"i8": {"0::bigint", "1::bigint", "2::bigint", "3::bigint", "(-1)::bigint", "4294967296", "(-9223372036854775808)", "9223372036854775807"},
	"n": {"0.0", "1.5", "2::numeric", "1.00", "(-3.25)", "0.1", "123456789.123456789", "1e-12::numeric", "1e30::numeric", "(-99999999999999999999.5)",
		"'NaN'::numeric", "'Infinity'::numeric"},
	"f": {"0::float8", "1.5::float8", "0.25::float8", "(-2.5)::float8", "1000::float8", "1e-300::float8", "1e300::float8", "'-0'::float8", "'NaN'::float8",
		"'Infinity'::float8", "'-Infinity'::float8"},
	"s":  {"''::text", "'a'::text", "'b'::text", "'ab'::text", "'Abc'::text", "'  x '::text", "'a%_b'::text", "'12'::text", "'é'::text", "'日本語'::text", "'zz\\z'::text", "repeat('xy', 40)"},
	"b":  {"true", "false", "NULL::boolean"},
	"d":  {"date '2024-02-29'", "date '2000-01-01'", "date '1999-12-31'", "date '1970-01-01'", "date '0044-03-15 BC'", "date '5874897-12-31'", "date 'infinity'", "date '-infinity'"},
	"ts": {"timestamp '2024-02-29 12:34:56.789'", "timestamp '2000-01-01'", "timestamp '1969-12-31 23:59:59.999999'", "timestamp '2024-03-31 00:00'", "timestamp '0001-01-01 BC'", "timestamp '294246-12-31 23:59:59'", "timestamp 'infinity'"},
	"iv": {"interval '1 day'", "interval '0'", "interval '1 mon'", "interval '30 days'", "interval '-1 year 2 mons 03:04:05.6'", "interval '24 hours'", "interval '178000000 years'"},
	"j": {"'1'::jsonb", "'null'::jsonb", `'{"a":1,"b":[1,2]}'::jsonb`, `'[1,"x",null]'::jsonb`, `'"s"'::jsonb`, "'{}'::jsonb", "'[]'::jsonb", "'1.0'::jsonb",
		`'{"b":{"c":"d"},"a":null}'::jsonb`, "'true'::jsonb"},
	"ai": {"'{}'::int[]", "array[1]", "array[1,2,3]", "array[3,NULL,1]", "array[2,2]", "array[2147483647]"},
	"as": {"'{}'::text[]", "array['a']", "array['b','a']", "array['',NULL,'x,\"y']", "array['NULL']"},
}

// literal is a value of a type, now and then NULL.
func literal(r *rand.Rand, t typ) string {
	if r.IntN(12) == 0 {
		return "NULL::" + sqlNames[t]
	}
	v := values[t]
	if r.IntN(2) == 0 {
		return v[r.IntN((len(v)+1)/2)]
	}
	switch t {
	case "i4":
		return fmt.Sprintf("%d", r.IntN(50))
	case "n":
		return fmt.Sprintf("%d.%02d", r.IntN(50), r.IntN(100))
	case "d":
		return fmt.Sprintf("date '%04d-%02d-%02d'", 1990+r.IntN(40), 1+r.IntN(12), 1+r.IntN(28))
	}
	return v[r.IntN(len(v))]
}
