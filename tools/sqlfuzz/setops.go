package main

import (
	"fmt"
	"strings"
)

// setTables are of few values, so that most rows have duplicates.
func (g *generator) setTables() []string {
	var list []string
	for i := range 3 {
		list = append(list, fmt.Sprintf("CREATE TABLE dup%d (a integer, b text)", i))
		for range 1 + g.r.IntN(3) {
			list = append(list, fmt.Sprintf("INSERT INTO dup%d VALUES ", i)+g.dupRows())
		}
	}
	return list
}

func (g *generator) dupRows() string {
	rows := make([]string, 1+g.r.IntN(10))
	for i := range rows {
		rows[i] = "(" + g.pick([]string{"1", "1", "2", "2", "3", "4", "NULL"}) + ", " + g.pick([]string{"'x'", "'x'", "'y'", "NULL", "''"}) + ")"
	}
	return strings.Join(rows, ", ")
}

// setTree returns a tree of set operations whose duplicates count, of n columns.
func (g *generator) setTree(n, depth int, outer string) string {
	cols := func(t string) string { return strings.Join([]string{t + ".a", t + ".b"}[:n], ", ") }
	if depth <= 0 || g.chance(20) {
		t := fmt.Sprintf("dup%d", g.r.IntN(3))
		sql := g.pick([]string{"SELECT ", "SELECT ", "SELECT ", "SELECT DISTINCT "}) + cols("t") + " FROM " + t + " t"
		switch g.r.IntN(6) {
		case 0:
			sql += fmt.Sprintf(", dup%d u", g.r.IntN(3))
		case 1:
			sql += fmt.Sprintf(" %s dup%d u ON t.a = u.a", g.pick([]string{"JOIN", "LEFT JOIN"}), g.r.IntN(3))
		case 2:
			return "VALUES " + map[int]string{1: "(1), (1), (2), (NULL)", 2: "(1, 'x'), (1, 'x'), (2, NULL)"}[n]
		case 3:
			sql += ", generate_series(1, 2) s"
		}
		where := []string{" WHERE t.a > 1", " WHERE t.b = 'x'", " WHERE t.a IS NOT NULL", ""}
		if outer != "" {
			where = append(where, " WHERE t.a = "+outer+".a", " WHERE t.a <> "+outer+".a", " WHERE t.b = "+outer+".b")
		}
		return sql + g.pick(where)
	}
	op := g.pick([]string{"EXCEPT ALL", "EXCEPT ALL", "INTERSECT ALL", "INTERSECT ALL", "UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"})
	return "(" + g.setTree(n, depth-1, outer) + ") " + op + " (" + g.setTree(n, depth-1, outer) + ")"
}

// setContext puts a tree where the duplicates of the whole do not count.
func (g *generator) setContext() string {
	n := 1 + g.r.IntN(2)
	tree := func(outer string) string { return g.setTree(n, 1+g.r.IntN(3), outer) }
	list := []string{"a", "a, b"}[n-1]
	in := " q(" + list + ")"
	row := []string{"o.a", "(o.a, o.b)"}[n-1]
	not := g.pick([]string{"", "", "NOT "})
	switch g.r.IntN(10) {
	case 0:
		return "SELECT DISTINCT " + list + " FROM (" + tree("") + ")" + in
	case 1:
		return "SELECT * FROM dup0 o WHERE " + not + "EXISTS (" + tree("o") + ")"
	case 2:
		return "SELECT * FROM dup1 o WHERE " + row + " " + not + "IN (" + tree(g.pick([]string{"", "o"})) + ")"
	case 3:
		return "SELECT * FROM dup2 o WHERE o.a " + g.pick([]string{"=", "<", ">=", "<>"}) + g.pick([]string{" ANY", " ALL"}) + " (" + g.setTree(1, 2, g.pick([]string{"", "o"})) + ")"
	case 4:
		return "SELECT " + list + g.pick([]string{"", ", max(a)", ", count(DISTINCT a)", ", count(*)"}) + " FROM (" + tree("") + ")" + in + " GROUP BY " + list
	case 5:
		return "(" + tree("") + ") " + g.pick([]string{"UNION", "EXCEPT", "INTERSECT"}) + " (" + tree("") + ")"
	case 6:
		return "SELECT max(a), min(a), count(DISTINCT a), bool_or(a > 2) FROM (" + tree("") + ")" + in
	case 7:
		return "SELECT DISTINCT q.a FROM (" + tree("") + ")" + in + " JOIN dup0 o ON o.a = q.a"
	case 8:
		return "WITH q(" + list + ") AS " + g.pick([]string{"", "MATERIALIZED "}) + "(" + tree("") + ") SELECT DISTINCT * FROM q WHERE EXISTS (SELECT 1 FROM q r WHERE r.a = q.a)"
	default:
		return "SELECT o.a, (SELECT count(*) FROM (" + tree("") + ")" + in + " WHERE q.a = o.a) FROM dup1 o"
	}
}

// setChange writes by such a condition.
func (g *generator) setChange() change {
	check := "SELECT 0, a, b FROM dup0 UNION ALL SELECT 1, a, b FROM dup1 UNION ALL SELECT 2, a, b FROM dup2"
	t := fmt.Sprintf("dup%d", g.r.IntN(3))
	if g.chance(40) {
		return change{sql: "INSERT INTO " + t + " VALUES " + g.dupRows(), check: check}
	}
	n := 1 + g.r.IntN(2)
	where := g.pick([]string{
		[]string{"o.a", "(o.a, o.b)"}[n-1] + " IN (" + g.setTree(n, 2, "") + ")",
		"EXISTS (" + g.setTree(n, 2, "o") + ")",
		"o.a = ANY (" + g.setTree(1, 2, "") + ")",
	})
	return change{sql: g.pick([]string{"DELETE FROM " + t + " o", "UPDATE " + t + " o SET a = o.a % 3 + 1", "UPDATE " + t + " o SET b = 'u'"}) + " WHERE " + where, check: check}
}
