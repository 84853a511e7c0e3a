package sqlfuzz

import (
	"fmt"
	"slices"
	"strings"
)

// create makes the statements of a round's tables and their first rows.
func (g *generator) create() []string {
	var list []string
	for range 1 + g.r.IntN(3) {
		t := &table{name: g.name("tab"), key: "id", cols: []column{{sql: "id", t: "i4"}}}
		defs := []string{"id integer PRIMARY KEY"}
		for i := range 3 + g.r.IntN(5) {
			c := column{sql: fmt.Sprintf("c%d", i), t: g.typ()}
			def := c.sql + " " + sqlNames[c.t]
			switch g.r.IntN(12) {
			case 0:
				def += " DEFAULT " + literal(g.r, c.t)
			case 1:
				if exact(c.t) {
					def += " UNIQUE"
				}
			case 2:
				def += " NOT NULL"
			case 3:
				def += " CHECK (" + c.sql + " <> " + values[c.t][g.r.IntN(3)] + ")"
			}
			t.cols, defs = append(t.cols, c), append(defs, def)
		}
		list = append(list, "CREATE TABLE "+t.name+" ("+strings.Join(defs, ", ")+")")
		g.tables = append(g.tables, t)
		for range g.r.IntN(4) {
			list = append(list, g.insertValues(t, 1+g.r.IntN(12)))
		}
	}
	return list
}

func (g *generator) names1(t *table) []string {
	names := make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i] = c.sql
	}
	return names
}

func (g *generator) insertValues(t *table, rows int) string {
	list := make([]string, rows)
	for i := range list {
		vals := make([]string, len(t.cols))
		for j, c := range t.cols {
			vals[j] = literal(g.r, c.t)
		}
		g.names++ // few keys meet
		vals[0] = fmt.Sprint(g.names)
		if g.chance(2) {
			vals[0] = fmt.Sprint(1 + g.r.IntN(g.names))
		}
		list[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	sql := "INSERT INTO " + t.name + " (" + strings.Join(g.names1(t), ", ") + ") VALUES " + strings.Join(list, ", ")
	if g.chance(60) {
		sql += " ON CONFLICT DO NOTHING"
	}
	return sql
}

// write is a statement that changes a table.
func (g *generator) write() string {
	t := g.tables[g.r.IntN(len(g.tables))]
	s := &scope{}
	for _, c := range t.cols {
		s.cols = append(s.cols, column{sql: t.name + "." + c.sql, t: c.t})
	}
	var sql string
	switch k := g.r.IntN(10); {
	case k < 3:
		sql = g.insertValues(t, 1+g.r.IntN(4))
		if before, ok := strings.CutSuffix(sql, " ON CONFLICT DO NOTHING"); ok && g.chance(50) {
			excluded := &scope{cols: slices.Clone(s.cols)}
			for _, c := range t.cols {
				excluded.cols = append(excluded.cols, column{sql: "excluded." + c.sql, t: c.t})
			}
			sql = before + " ON CONFLICT (id) DO UPDATE SET " + g.set(t, excluded) + g.where(excluded, 1)
		}
	case k < 5:
		from, in := g.from(nil, 1, 1)
		if len(in.keys) == 0 {
			return g.insertValues(t, 2)
		}
		items := []string{fmt.Sprintf("%d + row_number() OVER (ORDER BY %s)", 1000000+1000*g.names, strings.Join(in.keys, ", "))}
		for _, c := range t.cols[1:] {
			items = append(items, g.expr(c.t, in, 2))
		}
		sql = "INSERT INTO " + t.name + " (" + strings.Join(g.names1(t), ", ") + ") SELECT " + strings.Join(items, ", ") + " FROM " + from +
			" WHERE " + in.keys[0] + " % 5 = 0 AND " + g.predicate(in, 2) + " ON CONFLICT DO NOTHING"
	case k < 8:
		sql = "UPDATE " + t.name + " SET " + g.set(t, s)
		if g.chance(25) {
			o := g.tables[g.r.IntN(len(g.tables))]
			both := &scope{cols: slices.Clone(s.cols)}
			for _, c := range o.cols {
				both.cols = append(both.cols, column{sql: "o." + c.sql, t: c.t})
			}
			sql = "UPDATE " + t.name + " SET " + g.set(t, both) + " FROM " + o.name + " o WHERE o.id = " + t.name + ".id AND " + g.predicate(both, 2)
		} else {
			sql += g.where(s, 2)
		}
	default:
		sql = "DELETE FROM " + t.name + " WHERE " + g.predicate(s, 2)
		if g.chance(70) { // tables should not run empty
			sql += " AND " + t.name + ".id % 3 = 0"
		}
	}
	if g.chance(40) {
		sql += " RETURNING " + t.name + ".id, " + g.expr(g.typ(), s, 2)
	}
	return sql
}

func (g *generator) set(t *table, s *scope) string {
	c := t.cols[1+g.r.IntN(len(t.cols)-1)]
	return c.sql + " = " + g.expr(c.t, s, 2)
}
