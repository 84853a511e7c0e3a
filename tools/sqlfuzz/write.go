package main

import (
	"fmt"
	"slices"
	"strings"
)

// change is a statement that changes state which later ones depend on.
type change struct {
	sql   string
	more  []string // messages after it that belong together with it
	done  func()   // records its effect, if it succeeded
	after []string // as a trial's
	check string   // a query that shows what it did
}

// create returns the statements that create a round's tables, views and privileges, and
// the first rows.
func (g *generator) create() []change {
	g.cascades = g.chance(50)
	list := []change{{sql: "GRANT USAGE ON SCHEMA " + g.schema + " TO " + g.role}}
	for range 1 + g.r.IntN(3) {
		t, sql := g.table()
		list = append(list, change{sql: sql})
		g.tables = append(g.tables, t)
		for range g.r.IntN(4) {
			list = append(list, change{sql: g.insertValues(t, 1+g.r.IntN(12))})
		}
		if g.chance(30) {
			list = append(list, change{sql: g.index(t)})
		}
		list = append(list, change{sql: g.grant(t.name)})
	}
	for range g.r.IntN(3) {
		v, sql := g.view()
		g.tables = append(g.tables, v)
		list = append(list, change{sql: sql}, change{sql: g.grant(v.name)})
	}
	return list
}

// table makes a table and its definition.
func (g *generator) table() (*table, string) {
	t := &table{name: g.name("tab"), key: "id", writable: true, cols: []column{{sql: "id", t: "i4"}}}
	defs := []string{"id integer PRIMARY KEY"}
	for i := range 3 + g.r.IntN(5) {
		c := column{sql: fmt.Sprintf("c%d", i), t: g.typ()}
		def := c.sql + " " + sqlNames[c.t]
		switch g.r.IntN(14) {
		case 0:
			def += " DEFAULT " + g.constant(c.t)
		case 1:
			if exact(c.t) {
				def += " UNIQUE"
			}
		case 2:
			def += " NOT NULL"
		case 3:
			def += " CHECK (" + c.sql + " <> " + values[c.t][g.r.IntN(3)] + ")"
		case 4:
			if list := generated[c.t]; len(list) > 0 {
				def += " GENERATED ALWAYS AS (" + g.pick(list) + ") STORED"
				c.generated = true
			}
		case 5, 6:
			if len(g.tables) > 0 {
				c = column{sql: c.sql, t: "i4", to: g.tables[g.r.IntN(len(g.tables))]}
				// Whether rows that a CASCADE is about to delete still restrict others depends on
				// the order of PostgreSQL's triggers, so a schema has one or the other.
				onDelete := []string{"", " ON DELETE SET NULL", " ON DELETE RESTRICT"}
				if g.cascades {
					onDelete = []string{" ON DELETE CASCADE", " ON DELETE SET NULL"}
				}
				def = c.sql + " integer REFERENCES " + c.to.name + g.pick([]string{"", "(id)"}) + g.pick(onDelete) +
					g.pick([]string{"", " ON UPDATE CASCADE", " ON UPDATE SET NULL"})
			}
		}
		t.cols, defs = append(t.cols, c), append(defs, def)
	}
	return t, "CREATE TABLE " + t.name + " (" + strings.Join(defs, ", ") + ")"
}

// generated are expressions of the key alone, which every table has.
var generated = map[typ][]string{
	"i4": {"id * 2", "id % 3", "abs(id)"}, "i8": {"id::bigint * 1000"}, "n": {"id / 4.0"}, "s": {"'g' || id", "upper('x' || id::text)"},
	"b": {"id % 2 = 0"}, "ai": {"array[id, id + 1]"}, "f": {"id * 0.5::float8"},
}

func (g *generator) index(t *table) string {
	c := g.pick(t.names())
	sql := "CREATE INDEX ON " + t.name + " (" + c + g.pick([]string{"", " DESC", " NULLS FIRST", ", id"}) + ")"
	if g.chance(30) {
		sql += " WHERE id > 3"
	}
	return sql
}

func (g *generator) grant(name string) string {
	return "GRANT " + g.pick([]string{"SELECT", "SELECT", "SELECT (id)", "INSERT", "UPDATE, SELECT", "ALL", "SELECT (id), UPDATE (id)", "DELETE, SELECT"}) + " ON " + name + " TO " + g.role
}

// view makes a view and its definition: of any query, or of a table's rows, which
// can be written through it.
func (g *generator) view() (*table, string) {
	v := &table{name: g.name("view")}
	head := "CREATE VIEW " + v.name
	with := g.pick([]string{"", "", " WITH (security_invoker = true)"})
	if g.chance(40) {
		t := g.tables[g.r.IntN(len(g.tables))]
		if t.writable {
			v.key, v.writable, v.cols = t.key, true, t.cols
			s := t.scope(t.name)
			v.cte = t.cte
			return v, head + with + " AS SELECT * FROM " + t.name + " WHERE " + g.predicate(s, 1) + g.pick([]string{"", "", " WITH CHECK OPTION"})
		}
	}
	ts := g.someTypes(4)
	q := g.query(nil, 1, ts) // it is planned again wherever it is read
	for i, t := range ts {
		v.cols = append(v.cols, column{sql: fmt.Sprintf("c%d", i), t: t})
	}
	v.cte = strings.Contains(q.sql, "WITH w") || strings.Contains(q.sql, "WITH RECURSIVE") ||
		slices.ContainsFunc(g.tables, func(t *table) bool { return t.cte && strings.Contains(q.sql, t.name+" ") })
	return v, head + " (" + strings.Join(v.names(), ", ") + ")" + with + " AS " + q.sql
}

func (t *table) names() []string {
	names := make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i] = c.sql
	}
	return names
}

// scope is a table's columns by an alias.
func (t *table) scope(alias string) *scope {
	s := &scope{}
	for _, c := range t.cols {
		s.cols = append(s.cols, column{sql: alias + "." + c.sql, t: c.t})
	}
	return s
}

// given returns the columns that a statement may set.
func (t *table) given() []column {
	var list []column
	for _, c := range t.cols {
		if !c.generated {
			list = append(list, c)
		}
	}
	return list
}

// value returns a value for a column; most values of foreign keys match a row.
func (g *generator) value(c column) string {
	switch {
	case c.to == nil:
		return g.literal(c.t)
	case g.chance(20):
		return "NULL::integer"
	case g.chance(5):
		return fmt.Sprint(g.r.IntN(40))
	}
	return fmt.Sprintf("(SELECT min(id) FROM %s WHERE id > %d)", c.to.name, g.r.IntN(10))
}

func list(cols []column) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.sql
	}
	return strings.Join(names, ", ")
}

func (g *generator) insertValues(t *table, rows int) string {
	cols := t.given()
	texts := make([]string, rows)
	for i := range texts {
		vals := make([]string, len(cols))
		for j, c := range cols {
			vals[j] = g.value(c)
		}
		g.names++ // few keys collide
		vals[0] = fmt.Sprint(g.names)
		if g.chance(2) {
			vals[0] = fmt.Sprint(1 + g.r.IntN(g.names))
		}
		texts[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	sql := "INSERT INTO " + t.name + " (" + list(cols) + ") VALUES " + strings.Join(texts, ", ")
	if g.chance(60) {
		sql += " ON CONFLICT DO NOTHING"
	}
	return sql
}

// change is a statement that changes a table's rows, or now and then the table.
func (g *generator) change() change {
	t := g.target()
	if g.chance(15) {
		return g.alter(t)
	}
	return change{sql: g.write(t), check: "SELECT * FROM " + t.name}
}

func (g *generator) target() *table {
	for {
		if t := g.tables[g.r.IntN(len(g.tables))]; t.writable {
			return t
		}
	}
}

// write is a statement that changes a table's rows.
func (g *generator) write(t *table) string {
	s := t.scope(t.name)
	cols := t.given()
	var sql string
	switch k := g.r.IntN(12); {
	case k < 3:
		sql = g.insertValues(t, 1+g.r.IntN(4))
		if before, ok := strings.CutSuffix(sql, " ON CONFLICT DO NOTHING"); ok && g.chance(50) {
			excluded := &scope{cols: append(s.cols[:len(s.cols):len(s.cols)], t.scope("excluded").cols...)}
			sql = before + " ON CONFLICT (id) DO UPDATE SET " + g.set(t, excluded) + g.where(excluded, 1)
		}
	case k < 5:
		from, in := g.from(nil, 1, 1)
		if len(in.keys) == 0 {
			return g.insertValues(t, 2)
		}
		items := []string{fmt.Sprintf("%d + row_number() OVER (ORDER BY %s)", 1000000+1000*g.names, strings.Join(in.keys, ", "))}
		for _, c := range cols[1:] {
			if c.to != nil {
				items = append(items, g.value(c))
			} else {
				items = append(items, g.expr(c.t, in, 2))
			}
		}
		sql = "INSERT INTO " + t.name + " (" + list(cols) + ") SELECT " + strings.Join(items, ", ") + " FROM " + from +
			" WHERE " + in.keys[0] + " % 5 = 0 AND " + g.predicate(in, 2) + " ON CONFLICT DO NOTHING"
	case k < 8:
		sql = "UPDATE " + t.name + " SET " + g.set(t, s)
		if g.chance(25) {
			o := g.target()
			both := &scope{cols: append(s.cols[:len(s.cols):len(s.cols)], o.scope("o").cols...)}
			sql = "UPDATE " + t.name + " SET " + g.set(t, both) + " FROM " + o.name + " o WHERE o.id = " + t.name + ".id AND " + g.predicate(both, 2)
		} else {
			sql += g.where(s, 2)
		}
	case k < 10:
		return g.merge(t)
	default:
		sql = "DELETE FROM " + t.name + " WHERE " + g.predicate(s, 2)
		if g.chance(70) { // tables should not become empty
			sql += " AND " + t.name + ".id % 3 = 0"
		}
	}
	if g.chance(40) {
		sql += " RETURNING " + t.name + ".id, " + g.expr(g.typ(), s, 2)
	}
	return sql
}

// merge returns a MERGE from another table, whose keys are unique.
func (g *generator) merge(t *table) string {
	o := g.target()
	source := o.scope("o")
	both := &scope{cols: append(t.scope("m").cols, source.cols...)}
	when := func(matched string, s *scope, do string) string {
		if g.chance(50) {
			matched += " AND " + g.predicate(s, 1)
		}
		return " WHEN " + matched + " THEN " + do
	}
	cols := t.given()
	vals := make([]string, len(cols))
	for i, c := range cols {
		if c.to != nil {
			vals[i] = "NULL"
		} else {
			vals[i] = g.expr(c.t, source, 1)
		}
	}
	g.names++
	vals[0] = fmt.Sprintf("o.id + %d", 1000000+1000*g.names)
	sql := "MERGE INTO " + t.name + " AS m USING " + o.name + " AS o ON m.id = o.id"
	if g.chance(40) {
		sql += " AND " + g.predicate(both, 1)
	}
	var clauses string
	if g.chance(70) {
		clauses += when("MATCHED", both, g.pick([]string{"UPDATE SET " + g.set(t, both), "UPDATE SET " + g.set(t, both), "DELETE", "DO NOTHING"}))
	}
	if g.chance(30) {
		clauses += when("MATCHED", both, "UPDATE SET "+g.set(t, both))
	}
	if clauses == "" || g.chance(50) {
		clauses += when("NOT MATCHED", source, g.pick([]string{"DO NOTHING", "INSERT (" + list(cols) + ") VALUES (" + strings.Join(vals, ", ") + ")"}))
	}
	return sql + clauses
}

func (g *generator) set(t *table, s *scope) string {
	cols := t.given()[1:]
	if len(cols) == 0 {
		return "id = " + t.key
	}
	n := 1 + g.r.IntN(min(2, len(cols)))
	at := g.r.IntN(len(cols))
	sets := make([]string, n)
	for i := range sets {
		c := cols[(at+i)%len(cols)]
		switch {
		case g.chance(8):
			sets[i] = c.sql + " = DEFAULT"
		case c.to != nil:
			sets[i] = c.sql + " = " + g.value(c)
		default:
			sets[i] = c.sql + " = " + g.expr(c.t, s, 2)
		}
	}
	return strings.Join(sets, ", ")
}

// alter changes a table itself.
func (g *generator) alter(t *table) change {
	i := 0
	if len(t.cols) > 1 {
		i = 1 + g.r.IntN(len(t.cols)-1)
	}
	c := t.cols[i]
	head := "ALTER TABLE " + t.name + " "
	replace := func(with ...column) func() {
		return func() {
			cols := append(t.cols[:i:i], with...)
			t.cols = append(cols, t.cols[i+1:]...)
		}
	}
	n := column{sql: g.name("a"), t: g.typ()}
	add := func() { t.cols = append(t.cols[:len(t.cols):len(t.cols)], n) }
	if i == 0 || c.to != nil || c.generated {
		return change{sql: head + "ADD COLUMN " + n.sql + " " + sqlNames[n.t], done: add}
	}
	switch g.r.IntN(9) {
	case 0:
		return change{sql: head + "ADD COLUMN " + n.sql + " " + sqlNames[n.t] + " NOT NULL DEFAULT " + values[n.t][0], done: add}
	case 1:
		return change{sql: head + "DROP COLUMN " + c.sql, done: replace()}
	case 2:
		renamed := c
		renamed.sql = n.sql
		return change{sql: head + "RENAME COLUMN " + c.sql + " TO " + n.sql, done: replace(renamed)}
	case 3:
		to := map[typ]typ{"i2": "i4", "i4": "i8", "i8": "n", "d": "ts", "ts": "s", "n": "s", "b": "s", "u": "s", "iv": "s", "t": "iv"}[c.t]
		if to == "" {
			return change{sql: head + "ALTER COLUMN " + c.sql + " SET NOT NULL"}
		}
		other := c
		other.t = to
		return change{sql: head + "ALTER COLUMN " + c.sql + " TYPE " + sqlNames[to], done: replace(other)}
	case 4:
		return change{sql: head + "ALTER COLUMN " + c.sql + " SET DEFAULT " + g.constant(c.t)}
	case 5:
		return change{sql: head + "ALTER COLUMN " + c.sql + g.pick([]string{" DROP NOT NULL", " DROP DEFAULT", " SET NOT NULL"})}
	case 6:
		return change{sql: head + "ADD CONSTRAINT " + g.name("k") + " CHECK (" + c.sql + " IS NULL OR " + c.sql + " <> " + values[c.t][0] + ")"}
	case 7:
		if exact(c.t) {
			return change{sql: head + "ADD CONSTRAINT " + g.name("k") + " UNIQUE (" + c.sql + ")"}
		}
		fallthrough
	default:
		return change{sql: g.index(t)}
	}
}
