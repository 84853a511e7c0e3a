package main

import (
	"fmt"
	"strings"
)

// table is a base table, or a query that has a name.
type table struct {
	name string
	cols []column
	key  string // a column that identifies rows, if any
	// writable ones have a key id.
	writable bool
	cte      bool // a view with one
}

// query is a SELECT with the known properties of its result.
type query struct {
	sql     string
	types   []typ
	ordered bool // its order is total
}

// from returns a FROM clause of up to n items and its scope.
func (g *generator) from(outer *scope, depth, n int) (string, *scope) {
	s := &scope{outer: outer, keys: []string{}}
	sql := g.item(s, outer, depth)
	for range n - 1 {
		lateral := outer
		kind := g.pick([]string{"JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LATERAL"})
		if kind == "LATERAL" {
			lateral = s
		}
		left := &scope{cols: s.cols, outer: outer}
		right := &scope{keys: s.keys}
		if kind == "LATERAL" {
			q := g.selectList(lateral, depth-1, g.someTypes(2))
			item := "LATERAL (" + q.sql + ") " + g.derived(right, q.types)
			kind = g.pick([]string{"CROSS JOIN", "LEFT JOIN", "JOIN"})
			sql += " " + kind + " " + item
		} else {
			sql += " " + kind + " " + g.item(right, outer, depth)
		}
		s.keys = right.keys
		s.cols = append(left.cols[:len(left.cols):len(left.cols)], right.cols...)
		switch {
		case kind == "CROSS JOIN":
		case kind == "FULL JOIN":
			sql += " ON " + g.equality(left, right)
		case g.chance(60):
			sql += " ON " + g.equality(left, right)
			if g.chance(30) {
				sql += " AND " + g.predicate(s, 1)
			}
		default:
			sql += " ON " + g.predicate(s, 2)
		}
	}
	return sql, s
}

// equality returns a condition that a hash or a merge join can use.
func (g *generator) equality(left, right *scope) string {
	for range 8 {
		a := left.cols[g.r.IntN(len(left.cols))]
		for _, b := range right.cols {
			if a.t == b.t {
				return a.sql + " = " + b.sql
			}
		}
	}
	return "true"
}

// item is one table, query or function in FROM; its columns and keys go to s.
func (g *generator) item(s, outer *scope, depth int) string {
	switch k := g.r.IntN(100); {
	case depth > 0 && k < 15:
		q := g.query(outer, depth-1, g.someTypes(3))
		return "(" + q.sql + ") " + g.derived(s, q.types)
	case k < 20:
		ts := g.someTypes(3)
		rows := make([]string, 1+g.r.IntN(4))
		for i := range rows {
			vals := make([]string, len(ts))
			for j, t := range ts {
				vals[j] = g.literal(t)
			}
			rows[i] = "(" + strings.Join(vals, ", ") + ")"
		}
		return "(VALUES " + strings.Join(rows, ", ") + ") " + g.derived(s, ts)
	case k < 25:
		alias := g.name("g")
		s.cols = append(s.cols, column{sql: alias + ".c1", t: "i4"})
		if s.keys != nil {
			s.keys = append(s.keys, alias+".c1")
		}
		return fmt.Sprintf("generate_series(%d, %d) %s(c1)", g.r.IntN(3), 1+g.r.IntN(6), alias)
	case k < 28:
		alias := g.name("u")
		s.cols = append(s.cols, column{sql: alias + ".c1", t: "i4"}, column{sql: alias + ".c2", t: "i8"})
		if s.keys != nil {
			s.keys = append(s.keys, alias+".c2")
		}
		return "unnest(" + g.expr("ai", &scope{}, 1) + ") WITH ORDINALITY " + alias + "(c1, c2)"
	}
	list := append(g.tables[:len(g.tables):len(g.tables)], g.ctes...)
	t := list[g.r.IntN(len(list))]
	alias := g.name("t")
	for _, c := range t.cols {
		s.cols = append(s.cols, column{sql: alias + "." + c.sql, t: c.t})
	}
	if t.key == "" {
		s.keys = nil
	} else if s.keys != nil {
		s.keys = append(s.keys, alias+"."+t.key)
	}
	return t.name + " " + alias
}

// derived names the columns of a query in FROM.
func (g *generator) derived(s *scope, ts []typ) string {
	alias := g.name("q")
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = fmt.Sprintf("c%d", i+1)
		s.cols = append(s.cols, column{sql: alias + "." + names[i], t: t})
	}
	s.keys = nil
	return alias + "(" + strings.Join(names, ", ") + ")"
}

func (g *generator) someTypes(most int) []typ {
	ts := make([]typ, 1+g.r.IntN(most))
	for i := range ts {
		ts[i] = g.typ()
	}
	return ts
}

func (g *generator) where(s *scope, depth int) string {
	if !g.chance(60) {
		return ""
	}
	return " WHERE " + g.predicate(s, depth)
}

// query returns a SELECT, a set operation, or one with a CTE, with columns of the types
// ts.
func (g *generator) query(outer *scope, depth int, ts []typ) query {
	before := len(g.ctes)
	defer func() { g.ctes = g.ctes[:before] }()
	var with string
	switch {
	case depth > 0 && g.chance(5):
		with = g.recursive(depth)
	case depth > 0 && g.chance(15):
		cts := g.someTypes(3)
		q := g.query(nil, depth-1, cts)
		t := &table{name: g.name("w")}
		for i, ct := range cts {
			t.cols = append(t.cols, column{sql: fmt.Sprintf("c%d", i+1), t: ct})
		}
		with = "WITH " + t.name + "(" + strings.Join(t.names(), ", ") + ") AS " + g.pick([]string{"", "MATERIALIZED ", "NOT MATERIALIZED "}) + "(" + q.sql + ") "
		g.ctes = append(g.ctes, t)
	}
	q := g.selectList(outer, depth, ts)
	for depth > 0 && g.chance(12) {
		depth--
		op := "UNION ALL"
		if allExact(ts) {
			op = g.pick([]string{"UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"})
		}
		left, right := "("+q.sql+")", "("+g.selectList(outer, depth, ts).sql+")"
		if g.chance(40) {
			left, right = right, left
		}
		q.sql = left + " " + op + " " + right
	}
	q.sql = with + q.sql
	return q
}

// recursive returns a WITH RECURSIVE of a few steps, counted in c1.
func (g *generator) recursive(depth int) string {
	t := &table{name: g.name("w")}
	ts := append([]typ{"i4"}, g.someTypes(2)...)
	var first, step []string
	w := g.name("r")
	in := &scope{}
	for i, ct := range ts {
		t.cols = append(t.cols, column{sql: fmt.Sprintf("c%d", i+1), t: ct})
		in.cols = append(in.cols, column{sql: fmt.Sprintf("%s.c%d", w, i+1), t: ct})
	}
	from := t.name + " " + w
	both := in
	if o := g.tables[g.r.IntN(len(g.tables))]; g.chance(40) {
		alias := g.name("t")
		side := o.scope(alias)
		from += g.pick([]string{" JOIN ", " JOIN ", " LEFT JOIN "}) + o.name + " " + alias + " ON " + g.equality(in, side)
		if o.key != "" {
			from += " AND " + alias + "." + o.key + " = " + w + ".c1"
		}
		both = &scope{cols: append(in.cols[:len(in.cols):len(in.cols)], side.cols...)}
	}
	for i, ct := range ts {
		if i == 0 {
			first, step = append(first, "1"), append(step, w+".c1 + 1")
			continue
		}
		first, step = append(first, g.expr(ct, &scope{}, 1)), append(step, g.expr(ct, both, 1))
	}
	union := " UNION ALL "
	if allExact(ts) {
		union = g.pick([]string{" UNION ALL ", " UNION "})
	}
	sql := "WITH RECURSIVE " + t.name + "(" + strings.Join(t.names(), ", ") + ") AS (SELECT " + strings.Join(first, ", ") + union +
		"SELECT " + strings.Join(step, ", ") + " FROM " + from + fmt.Sprintf(" WHERE %s.c1 < %d", w, 1+g.r.IntN(4)) + ") "
	g.ctes = append(g.ctes, t)
	return sql
}

// selectList returns one SELECT with columns of the types ts, plain, grouped or with
// windows.
func (g *generator) selectList(outer *scope, depth int, ts []typ) query {
	from, s := g.from(outer, depth-1, 1+g.r.IntN(3))
	where := g.where(s, depth)
	var tail string
	distinct := ""
	in := s
	switch k := g.r.IntN(100); {
	case k < 30:
		in, tail = g.groups(s, depth)
	case k < 45:
		in = g.windows(s, depth)
	case k < 55 && allExact(ts):
		distinct = "DISTINCT "
	}
	items := make([]string, len(ts))
	for i, t := range ts {
		items[i] = g.expr(t, in, depth)
	}
	return query{sql: "SELECT " + distinct + strings.Join(items, ", ") + " FROM " + from + where + tail, types: ts}
}

// groups returns a GROUP BY and the scope above it: its columns and aggregates.
func (g *generator) groups(s *scope, depth int) (*scope, string) {
	in := &scope{outer: s.outer}
	var by []string
	for range g.r.IntN(3) {
		c := s.cols[g.r.IntN(len(s.cols))]
		if !exact(c.t) { // whether a group shows 1.0 or 1.00 is unspecified
			continue
		}
		by = append(by, c.sql)
		in.cols = append(in.cols, column{sql: c.sql, t: c.t})
	}
	for range 2 + g.r.IntN(3) {
		t := g.typ()
		in.cols = append(in.cols, column{sql: g.aggregate(t, s, depth-1), t: t, call: true})
	}
	var tail string
	if len(by) > 0 {
		list := strings.Join(by, ", ")
		switch g.r.IntN(10) {
		case 0:
			tail = " GROUP BY ROLLUP (" + list + ")"
		case 1:
			tail = " GROUP BY CUBE (" + list + ")"
		case 2:
			tail = " GROUP BY GROUPING SETS ((" + list + "), (" + by[0] + "), ())"
		default:
			tail = " GROUP BY " + list
		}
		in.cols = append(in.cols, column{sql: "grouping(" + by[0] + ")", t: "i4", call: true})
	}
	if g.chance(25) {
		tail += " HAVING " + g.predicate(in, 2)
	}
	return in, tail
}

// offsets are distances in the order of a type, for frames by RANGE.
var offsets = map[typ]string{"i2": "2::smallint", "i4": "3", "i8": "3::bigint", "n": "1.5", "f": "1.5::float8", "ts": "interval '2 days'", "t": "interval '1 hour'", "tz": "interval '1 day'"}

// windows adds window calls to the columns of a scope.
func (g *generator) windows(s *scope, depth int) *scope {
	in := &scope{outer: s.outer, cols: s.cols[:len(s.cols):len(s.cols)], keys: s.keys}
	for range 1 + g.r.IntN(3) {
		t := g.pick([]string{"i8", "i4", "n", "s"})
		by := s.cols[g.r.IntN(len(s.cols))]
		order := by.sql + g.pick([]string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
		partition := ""
		if g.chance(50) {
			partition = "PARTITION BY " + s.cols[g.r.IntN(len(s.cols))].sql + " "
		}
		var call string
		offset := offsets[by.t]
		if !g.chance(40) {
			offset = ""
		}
		total := len(s.keys) > 0 && offset == "" // an offset needs a single key
		if total {
			order += ", " + strings.Join(s.keys, ", ")
		}
		frame := ""
		switch t {
		case "i8":
			list := []string{"rank()", "dense_rank()", "count(*)", "count({A})", "sum({i4})"}
			if total {
				list = append(list, "row_number()", "lag({i8}) ", "lead({i8}, {k})")
			}
			call = g.fill(g.pick(list), "i8", s, 1)
		case "i4":
			list := []string{"min({i4})", "max({i4})"}
			if total {
				list = append(list, "first_value({i4})", "last_value({i4})", "nth_value({i4}, {k})", "ntile({k})", "lag({i4}, {k}, {i4})")
			}
			call = g.fill(g.pick(list), "i4", s, 1)
		case "n":
			call = g.fill(g.pick([]string{"sum({i8})", "avg({i4})"}), "n", s, 1)
		case "s":
			call = g.fill(g.pick([]string{"min({s})", "max({s})"}), "s", s, 1)
		}
		exclude := g.pick([]string{"", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS"})
		if offset != "" {
			frame = " RANGE " + g.pick([]string{"BETWEEN " + offset + " PRECEDING AND " + offset + " FOLLOWING", offset + " PRECEDING", "BETWEEN CURRENT ROW AND " + offset + " FOLLOWING",
				"BETWEEN UNBOUNDED PRECEDING AND " + offset + " PRECEDING", "BETWEEN " + offset + " FOLLOWING AND UNBOUNDED FOLLOWING"}) + exclude
		} else if total {
			frame = g.pick([]string{"", "", " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", " ROWS UNBOUNDED PRECEDING", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
				" ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
				" ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING", " GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"})
			if frame != "" {
				frame += exclude
			}
		} else {
			frame = g.pick([]string{"", "", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " GROUPS 2 PRECEDING EXCLUDE GROUP", " RANGE UNBOUNDED PRECEDING EXCLUDE GROUP",
				" GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"})
		}
		in.cols = append(in.cols, column{sql: call + " OVER (" + partition + "ORDER BY " + order + frame + ")", t: typ(t), call: true})
	}
	return in
}

// top returns a whole query, with a total order where possible.
func (g *generator) top() query {
	ts := g.someTypes(4)
	depth := []int{1, 1, 1, 1, 2, 2, 2, 3}[g.r.IntN(8)] // many small queries find more in a given time than few large ones
	if allExact(ts) && g.chance(6) {
		return g.distinctOn(ts, depth)
	}
	q := g.query(nil, depth, ts)
	if !g.chance(50) {
		return q
	}
	var by []string
	q.ordered = true
	for i, t := range ts {
		by = append(by, fmt.Sprint(i+1)+g.pick([]string{"", "", " DESC", " NULLS FIRST"}))
		q.ordered = q.ordered && exact(t)
	}
	q.sql += " ORDER BY " + strings.Join(by, ", ")
	if q.ordered && g.chance(40) {
		if g.chance(30) {
			q.sql += fmt.Sprintf(" OFFSET %d ROWS FETCH FIRST %d ROWS ONLY", g.r.IntN(4), g.r.IntN(8))
			return q
		}
		q.sql += fmt.Sprintf(" LIMIT %d", g.r.IntN(8))
		if g.chance(40) {
			q.sql += fmt.Sprintf(" OFFSET %d", g.r.IntN(4))
		}
	}
	return q
}

// distinctOn keeps the first row by an order of all columns for some of them.
func (g *generator) distinctOn(ts []typ, depth int) query {
	q := g.selectList(nil, depth, ts)
	var by []string
	for i := range ts {
		by = append(by, fmt.Sprintf("c%d", i+1))
	}
	on := strings.Join(by[:1+g.r.IntN(len(by))], ", ")
	for i := range by {
		by[i] += g.pick([]string{"", "", " DESC", " NULLS FIRST"})
	}
	q.sql = "SELECT DISTINCT ON (" + on + ") * FROM (" + q.sql + ") " + g.derived(&scope{}, ts) + " ORDER BY " + strings.Join(by, ", ")
	q.ordered = true
	return q
}
