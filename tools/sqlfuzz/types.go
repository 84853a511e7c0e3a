package main

import (
	"fmt"
	"slices"
	"strings"
)

// typ is a type by the short name that productions use.
type typ string

// sqlNames are the types both sides share.
var sqlNames = map[typ]string{
	"i2": "smallint", "i4": "integer", "i8": "bigint", "n": "numeric", "f": "double precision", "s": "text", "b": "boolean",
	"d": "date", "ts": "timestamp", "iv": "interval", "j": "jsonb", "ai": "integer[]", "as": "text[]",
	"y": "bytea", "t": "time", "tt": "time with time zone", "tz": "timestamp with time zone", "u": "uuid",
}

var oids = map[typ]uint32{
	"i2": 21, "i4": 23, "i8": 20, "n": 1700, "f": oidFloat8, "s": 25, "b": 16, "d": 1082, "ts": 1114, "iv": 1186, "j": 3802, "ai": 1007, "as": 1009,
	"y": 17, "t": 1083, "tt": 1266, "tz": 1184, "u": 2950,
}

// types lists types by their frequency in random choices.
var types = []typ{"i2", "i4", "i4", "i4", "i8", "i8", "n", "n", "f", "s", "s", "s", "b", "b", "d", "d", "ts", "iv", "j", "ai", "as",
	"y", "t", "tt", "tz", "u"}

// exact are types whose equal values look the same, so that a LIMIT in their
// order leaves no choice.
func exact(t typ) bool {
	return strings.Contains(" i2 i4 i8 s b d ts ai as y t tt tz u ", " "+string(t)+" ")
}

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
	"y":  {`'\x'::bytea`, "'abc'::bytea", `'\x00ff'::bytea`, `'\x6162'::bytea`, `'a\\000\\\\'::bytea`, "decode(repeat('c3a9', 20), 'hex')"},
	"t":  {"time '00:00'", "time '12:34:56.789'", "time '12:34'", "time '23:59:59.999999'", "time '24:00'", "time '00:00:00.000001'"},
	"tt": {"timetz '12:34:56+00'", "timetz '00:00-05:30'", "timetz '12:34:56.789+14'", "timetz '24:00-15'", "timetz '06:34:56-06'"},
	"tz": {"timestamptz '2024-02-29 12:34:56.789+00'", "timestamptz '2024-03-31 01:00+00'", "timestamptz '2000-01-01 00:00-08'", "timestamptz '1969-12-31 23:59:59.999999+00'",
		"timestamptz '0044-03-15 00:00+00 BC'", "timestamptz 'infinity'", "timestamptz '2100-07-01 00:00+00'"},
	"u":  {"'00000000-0000-0000-0000-000000000000'::uuid", "'12345678-1234-1234-1234-123456789abc'::uuid", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid", "'{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid"},
	"ai": {"'{}'::int[]", "array[1]", "array[1,2,3]", "array[3,NULL,1]", "array[2,2]", "array[2147483647]"},
	"as": {"'{}'::text[]", "array['a']", "array['b','a']", "array['',NULL,'x,\"y']", "array['NULL']"},
}

// texts are values in the text form of parameters.
var texts = map[typ][]string{
	"i2": {"0", "1", "-3", "32767"}, "i4": {"0", "1", "2", "7", "-1", "2147483647"}, "i8": {"0", "5", "-9223372036854775808"}, "n": {"0", "1.50", "-2", "NaN", "1e20", "0.0001"},
	"f": {"0", "1.5", "-0", "NaN", "Infinity", "1e-5"}, "s": {"", "a", "ab", "é", "x'y"}, "b": {"t", "f"}, "d": {"2024-02-29", "infinity", "0044-03-15 BC"},
	"ts": {"2024-02-29 12:34:56.789", "2000-01-01 00:00:00", "-infinity"}, "iv": {"1 day", "00:00:00", "-1 years -2 mons +3 days 04:05:06"},
	"j": {"1", "null", `{"a": [1, 2]}`, `["x", null]`}, "ai": {"{}", "{1,2}", "{NULL,3}"}, "as": {"{}", "{a,b}", `{"x,y",NULL}`},
	"y": {`\x`, `\x00ff`}, "t": {"12:34:56", "24:00:00"}, "tt": {"12:34:56+02", "00:00:00-05:30"}, "tz": {"2024-02-29 12:34:56+00", "infinity"},
	"u": {"12345678-1234-1234-1234-123456789abc"},
}

// literal returns a value of a type, sometimes NULL, and a parameter where the
// statement may have some.
func (g *generator) literal(t typ) string {
	if g.params == nil || !g.chance(40) {
		return g.constant(t)
	}
	*g.params = append(*g.params, param{text: g.pick(texts[t]), null: g.chance(10), oid: oids[t]})
	return fmt.Sprintf("$%d::%s", len(*g.params), sqlNames[t])
}

// constant returns a value as an expression.
func (g *generator) constant(t typ) string {
	if g.r.IntN(12) == 0 {
		return "NULL::" + sqlNames[t]
	}
	v := values[t]
	if g.r.IntN(2) == 0 {
		return v[g.r.IntN((len(v)+1)/2)]
	}
	switch t {
	case "i4":
		return fmt.Sprintf("%d", g.r.IntN(50))
	case "n":
		return fmt.Sprintf("%d.%02d", g.r.IntN(50), g.r.IntN(100))
	case "d":
		return fmt.Sprintf("date '%04d-%02d-%02d'", 1990+g.r.IntN(40), 1+g.r.IntN(12), 1+g.r.IntN(28))
	}
	return v[g.r.IntN(len(v))]
}
