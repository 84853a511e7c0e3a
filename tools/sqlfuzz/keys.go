package main

import (
	"fmt"
	"strings"
)

// ancient are keys below zero, before 1970 and at the ends of their types.
var ancient = map[typ][]string{
	"i2": {"-1", "0", "1", "-2", "7", "-32768", "32767"},
	"i4": {"-1", "0", "1", "-2", "7", "-1000", "-2147483648", "2147483647", "-2147483647"},
	"i8": {"-1", "0", "1", "-2", "7", "-4294967296", "4294967296", "-9223372036854775808", "9223372036854775807", "-2147483649"},
	"d":  {"'1969-12-31'", "'1970-01-01'", "'1960-02-29'", "'0044-03-15 BC'", "'0001-01-01'", "'0001-12-31 BC'", "'4713-01-01 BC'", "'4714-11-24 BC'", "'5874897-12-31'", "'infinity'", "'-infinity'", "'1582-10-10'"},
	"ts": {"'1969-12-31 23:59:59.999999'", "'1970-01-01'", "'1960-02-29 12:00'", "'0044-03-15 12:34:56 BC'", "'0001-01-01'", "'4714-11-24 00:00:00 BC'", "'294246-12-31 23:59:59.999999'", "'infinity'", "'-infinity'", "'1969-12-31'"},
	"tz": {"'1969-12-31 23:59:59.999999+00'", "'1970-01-01 00:00+00'", "'1900-01-01 00:00+00'", "'0044-03-15 12:34:56+00 BC'", "'4714-11-24 00:00:00+00 BC'", "'294246-12-31 23:59:59.999999+00'", "'infinity'", "'-infinity'"},
	"n":  {"-1", "0", "1.5", "-1.5", "-1e20", "1e-10", "'NaN'", "'-Infinity'", "'Infinity'", "-0.0001"},
	"f":  {"-1", "0", "1.5", "-1.5", "'-0'", "'NaN'", "'-Infinity'", "'Infinity'", "-1e300", "-1e-300"},
}

var keyTypes = []typ{"i2", "i4", "i8", "d", "ts", "tz"}

func (g *generator) keyTables() []string {
	var list []string
	for _, name := range []string{"key0", "key1"} {
		t := &table{name: name, key: "id", cols: []column{{sql: "id", t: "i4"}}}
		def := "id integer PRIMARY KEY"
		for _, k := range append(keyTypes, "n", "f") {
			t.cols = append(t.cols, column{sql: "k" + string(k), t: k})
			def += ", k" + string(k) + " " + sqlNames[k]
		}
		g.tables = append(g.tables, t)
		list = append(list, "CREATE TABLE "+name+" ("+def+")")
		at := -20
		for range 1 + g.r.IntN(3) {
			var rows []string
			few := g.chance(50) // keys of one kind, such as dates all before 1970
			for range 1 + g.r.IntN(40) {
				row := fmt.Sprint(at)
				at++
				for _, c := range t.cols[1:] {
					values := ancient[c.t]
					if few {
						values = values[:4]
					}
					v := g.pick(values)
					if g.chance(8) {
						v = "NULL"
					}
					row += ", " + v
				}
				rows = append(rows, "("+row+")")
			}
			list = append(list, "INSERT INTO "+name+" VALUES "+strings.Join(rows, ", "))
		}
		if g.chance(60) {
			list = append(list, "CREATE INDEX ON "+name+" ("+g.keyColumn()+g.pick([]string{"", " DESC", ", id"})+")")
		}
	}
	return list
}

func (g *generator) keyColumn() string { return "k" + string(g.keyType()) }

func (g *generator) keyType() typ { return keyTypes[g.r.IntN(len(keyTypes))] }

func (g *generator) keyLiteral(t typ) string {
	v := g.pick(ancient[t])
	if !strings.HasPrefix(v, "'") {
		v = "'" + v + "'"
	}
	return v + "::" + sqlNames[t]
}

func (g *generator) keyOrder() string {
	return g.keyColumn() + g.pick([]string{"", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
}

// keyQuery returns a query over keys that may be negative or long ago.
func (g *generator) keyQuery() string {
	t := g.pick([]string{"key0", "key1"})
	kt := g.keyType()
	k := "k" + string(kt)
	p := k
	if g.chance(40) {
		p += ", " + g.keyColumn()
	}
	n := 1 + g.r.IntN(4)
	comparison := g.pick([]string{"=", "<", "<=", ">", ">=", "<>"})
	where := ""
	if g.chance(30) {
		where = " WHERE " + k + " " + comparison + " " + g.keyLiteral(kt)
	}
	switch g.r.IntN(13) {
	case 0, 1:
		call, order := "row_number()", g.keyOrder()+", id"
		if g.chance(30) {
			call, order = g.pick([]string{"rank()", "dense_rank()"}), g.keyOrder()
		}
		return fmt.Sprintf("SELECT * FROM (SELECT id, %s, %s OVER (PARTITION BY %s ORDER BY %s) AS n FROM %s%s) q WHERE n %s %d", k, call, p, order, t, where, g.pick([]string{"<=", "<", "="}), n)
	case 2:
		on := "b." + k + " = a." + k
		if g.chance(40) {
			on = "b." + g.keyColumn() + " IS NOT NULL AND b." + k + " " + comparison + " a." + k
		}
		return fmt.Sprintf("SELECT a.id, l.* FROM key0 a %s LATERAL (SELECT b.id AS bid, b.%s FROM key1 b WHERE %s ORDER BY b.%s, b.id%s LIMIT %d) l ON true", g.pick([]string{"JOIN", "LEFT JOIN"}), k, on, g.keyOrder(), g.pick([]string{"", " DESC"}), n)
	case 3:
		return "SELECT DISTINCT ON (" + p + ") " + p + ", id FROM " + t + where + " ORDER BY " + p + ", " + g.keyOrder() + ", id"
	case 4, 5:
		offset := map[typ]string{"i2": "2::smallint", "i4": "3", "i8": "3::bigint", "d": "interval '1 month'", "ts": "interval '2 days'", "tz": "interval '1 hour'"}[kt]
		frame := g.pick([]string{" RANGE BETWEEN " + offset + " PRECEDING AND " + offset + " FOLLOWING", " RANGE " + offset + " PRECEDING", " RANGE BETWEEN " + offset + " FOLLOWING AND UNBOUNDED FOLLOWING",
			" GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "", " RANGE CURRENT ROW EXCLUDE GROUP"})
		partition := g.pick([]string{"", "PARTITION BY " + g.keyColumn() + " "})
		return "SELECT id, " + g.pick([]string{"count(*)", "min(id)", "max(" + g.keyColumn() + ")", "sum(id)", "count(" + g.keyColumn() + ")"}) + " OVER (" + partition + "ORDER BY " + k + g.pick([]string{"", " DESC"}) + frame + ") FROM " + t + where
	case 6:
		o := k
		if g.chance(50) { // another type of the same kind
			o = "k" + string(map[typ][]typ{"i2": {"i4", "i8", "n", "f"}, "i4": {"i8", "i2", "n", "f"}, "i8": {"i2", "i4", "n", "f"}, "d": {"ts", "tz", "d", "ts"}, "ts": {"d", "tz", "d", "d"}, "tz": {"d", "ts", "d", "ts"}}[kt][g.r.IntN(4)])
		}
		return "SELECT a.id, b.id AS bid FROM key0 a " + g.pick([]string{"JOIN", "LEFT JOIN", "FULL JOIN"}) + " key1 b ON a." + k + " = b." + o + g.pick([]string{"", " AND a.id < 5"})
	case 7:
		return "SELECT id FROM " + t + " WHERE " + k + " BETWEEN " + g.pick([]string{"", "SYMMETRIC "}) + g.keyLiteral(kt) + " AND " + g.keyLiteral(kt)
	case 8:
		return "SELECT id FROM " + t + " WHERE " + k + g.pick([]string{" IN (", " NOT IN ("}) + g.keyLiteral(kt) + ", " + g.keyLiteral(kt) + ", " + g.keyLiteral(kt) + ")"
	case 9:
		return "SELECT " + p + ", count(*), min(" + g.keyColumn() + "), max(" + g.keyColumn() + ") FROM " + t + where + " GROUP BY " + p
	case 10:
		return fmt.Sprintf("SELECT id, %s FROM %s%s ORDER BY %s, id LIMIT %d", k, t, where, g.keyOrder(), 1+g.r.IntN(10))
	case 11:
		uses := map[typ][]string{
			"d":  {"extract(year FROM %s)", "extract(week FROM %s)", "extract(isoyear FROM %s)", "date_trunc('month', %s)", "date_trunc('century', %s)", "%s - 1", "%s + 30", "extract(dow FROM %s)", "extract(doy FROM %s)", "to_char(%s, 'YYYY-MM-DD BC')", "extract(epoch FROM %s)", "extract(julian FROM %s)", "%s::timestamp", "extract(century FROM %s)", "%s::text"},
			"ts": {"extract(year FROM %s)", "date_trunc('day', %s)", "date_trunc('week', %s)", "date_trunc('decade', %s)", "%s + interval '1 month'", "%s - interval '1 microsecond'", "%s::date", "%s::time", "extract(epoch FROM %s)", "to_char(%s, 'YYYY BC HH24:MI:SS.US')", "extract(second FROM %s)", "age(%s, '1970-01-01')", "date_bin('15 minutes', %s, '1970-01-01')", "%s::text"},
			"tz": {"extract(year FROM %s)", "date_trunc('hour', %s, 'Europe/Berlin')", "%s AT TIME ZONE 'America/New_York'", "%s::date", "%s + interval '1 day'", "extract(epoch FROM %s)", "%s::text"},
		}[kt]
		if uses == nil {
			uses = []string{"%s %% 7", "%s / 2", "-%s", "abs(%s)", "%s - 1", "%s * 2", "%s::text", "%s::numeric / 3", "%s %% -1", "%s / -1", "%s::float8", "~%s", "sign(%s::numeric)", "to_hex(%s::bigint)", "%s::integer", "%s & 255", "%s >> 1"}
		}
		e := fmt.Sprintf(g.pick(uses), k)
		if g.chance(50) {
			return "SELECT id, " + e + " AS e FROM " + t + where
		}
		return "SELECT " + e + " AS e, count(*), min(id) FROM " + t + where + " GROUP BY 1"
	default:
		q := g.top()
		return "SELECT * FROM (" + q.sql + ") q"
	}
}
