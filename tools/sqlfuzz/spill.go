package main

import "fmt"

// spillTables makes a table of several segments with rows that were updated and deleted. A few
// hundred rows of each thread are more than the least limit; one round in fifty has as many as
// fill batches and chunks.
func (g *generator) spillTables() []string {
	most := 2000
	if g.edges.limit = 400; g.chance(2) {
		most, g.edges.limit = 30000, 8000
	}
	list := []string{"CREATE TABLE big (id integer, dk integer, w bigint, h text, v integer)"}
	at := 1
	for range 2 + g.r.IntN(4) {
		to := at + 200 + g.r.IntN(most)
		list = append(list, fmt.Sprintf("INSERT INTO big SELECT i, i %% %d, i * 7919 %% %d - 500, md5((i %% %d)::text), CASE WHEN i %% 9 <> 0 THEN i %% 1000 - 500 END FROM generate_series(%d, %d) i",
			1+g.r.IntN(12), 10+g.r.IntN(5000), 1+g.r.IntN(40000), at, to))
		at = to + 1
	}
	for range g.r.IntN(4) {
		list = append(list, g.spillChange().sql)
	}
	return list
}

func (g *generator) spillChange() change {
	m := 2 + g.r.IntN(40)
	which := fmt.Sprintf(" WHERE id %% %d = %d", m, g.r.IntN(m))
	return change{sql: g.pick([]string{
		"UPDATE big SET v = v + 1" + which, "UPDATE big SET dk = dk + 1, h = h || 'x'" + which, "UPDATE big SET w = -w" + which, "DELETE FROM big" + which + " AND w % 3 = 0",
	})}
}

// spill returns a query whose operators keep many rows, once without a limit and once
// with a small one. Its result is the number of its rows and a sum over their hashes.
func (g *generator) spill(peer bool) trial {
	q := g.spilling()
	sql := "SELECT count(*), sum(get_byte(h, 0) * 65536 + get_byte(h, 1) * 256 + get_byte(h, 2)) FROM (SELECT decode(md5(q::text), 'hex') AS h FROM (" + q + ") q) z"
	t := trial{kind: "settings", parts: []string{sql}, knob: fmt.Sprintf("work_mem = '%dkB'", 64+g.r.IntN(g.edges.limit>>g.r.IntN(4)))}
	if g.chance(15) {
		t.parts = []string{fmt.Sprintf("SET batch_size = %d", 50+g.r.IntN(3000)), sql}
		t.after = []string{"RESET batch_size"}
	} else if peer && g.chance(15) {
		t.kind, t.knob = "peer", ""
	}
	return t
}

func (g *generator) spilling() string {
	if g.chance(15) {
		return g.spillingJoin()
	}
	return g.spillingRows()
}

func (g *generator) spillingJoin() string {
	on := g.pick([]string{"a.id = b.w", "a.h = b.h AND a.id = b.id", "a.v = b.id", "a.id = b.id AND a.dk = b.dk", "a.w = b.id"})
	if g.chance(30) {
		return "SELECT * FROM big a WHERE " + g.pick([]string{"", "NOT "}) + "EXISTS (SELECT 1 FROM big b WHERE " + on + " AND b.v > 100)"
	}
	return "SELECT a.id, a.h, b.id AS bid, b.v FROM big a " + g.pick([]string{"JOIN", "LEFT JOIN", "FULL JOIN"}) + " big b ON " + on
}

func (g *generator) spillingRows() string {
	where := g.pick([]string{"", "", " WHERE v IS NOT NULL", " WHERE id % 3 <> 0", " WHERE w > 0", " WHERE dk < 5"})
	by := g.pick([]string{"dk", "w", "v", "h", "id", "dk, v", "substr(h, 1, 1)"})
	order := g.pick([]string{"", "h, ", "v, ", "w DESC, ", "v DESC NULLS LAST, ", "dk, h DESC, "}) + "id"
	switch g.r.IntN(10) {
	case 0, 1, 2, 3, 4:
		partition := g.pick([]string{"", "PARTITION BY " + by + " ", "PARTITION BY " + by + " "})
		frame := g.pick([]string{"", "", " ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING", " ROWS UNBOUNDED PRECEDING", " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
			" ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " GROUPS 2 PRECEDING EXCLUDE CURRENT ROW"})
		calls := []string{"first_value(h)", "last_value(id)", "row_number()", "rank()", "sum(v)", "count(v)", "max(h)", "lag(h, 3)", "lead(v)", "ntile(7)", "nth_value(w, 2)", "min(w)", "avg(v)", "count(*)"}
		over := " OVER (" + partition + "ORDER BY " + order + frame + ")"
		sql := "SELECT id, " + g.pick(calls) + over + " AS x1"
		if g.chance(50) {
			sql += ", " + g.pick(calls) + over + " AS x2"
		}
		if g.chance(30) {
			sql += ", " + g.pick(calls) + " OVER (PARTITION BY " + g.pick([]string{"dk", "w", "v"}) + " ORDER BY id) AS x3"
		}
		return sql + " FROM big" + where
	case 5:
		return fmt.Sprintf("SELECT * FROM big%s ORDER BY %s LIMIT %d OFFSET %d", where, order, 1+g.r.IntN(60000), g.r.IntN(3000))
	case 6:
		return fmt.Sprintf("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY %s ORDER BY %s) AS n FROM big%s) q WHERE n <= %d", by, order, where, 1+g.r.IntN(50))
	case 7:
		return "SELECT " + by + ", count(*), " + g.pick([]string{"count(DISTINCT h)", "string_agg(h, ',' ORDER BY id)", "array_agg(v ORDER BY id)", "max(h)", "sum(DISTINCT v)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY w)"}) +
			" FROM big" + where + " GROUP BY " + g.pick([]string{"", "", "ROLLUP "}) + "(" + by + ")"
	case 8:
		if g.chance(50) {
			return "SELECT DISTINCT ON (" + by + ") * FROM big" + where + " ORDER BY " + by + ", " + order
		}
		return "SELECT DISTINCT " + g.pick([]string{"h, dk", "v, w", "id % 1000, h", "h"}) + " FROM big" + where
	default:
		cols := g.pick([]string{"h", "w, v", "id, h"})
		return "(SELECT " + cols + " FROM big" + where + ") " + g.pick([]string{"UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"}) + " (SELECT " + cols + " FROM big WHERE id % 2 = 0)"
	}
}
