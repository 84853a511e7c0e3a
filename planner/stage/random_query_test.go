package stage_test

import (
	"fmt"
	"math/rand"
	"strings"
)

// randomQuery makes a random query of joins, filters, correlated subqueries in
// all clauses, aggregates and set operations.
func randomQuery(r *rand.Rand) string {
	g := &generator{r: r}
	return g.query(2)
}

type generator struct {
	r    *rand.Rand
	used int
}

// alias is a table in scope and its integer columns.
type alias struct {
	name string
	ints []string
}

func (g *generator) pick(list ...string) string { return list[g.r.Intn(len(list))] }

func (g *generator) table() (sql string, a alias) {
	g.used++
	name := fmt.Sprintf("x%d", g.used)
	switch g.r.Intn(3) {
	case 0:
		return "t " + name, alias{name, []string{"a", "b"}}
	case 1:
		return "u " + name, alias{name, []string{"a", "x"}}
	}
	return "s " + name, alias{name, []string{"k", "v"}}
}

// col returns a random integer column in scope, more often one of the innermost query.
func (g *generator) col(scope []alias) string {
	i := len(scope) - 1
	for i > 0 && g.r.Intn(2) == 0 {
		i--
	}
	a := scope[i]
	return a.name + "." + a.ints[g.r.Intn(len(a.ints))]
}

func (g *generator) inner(scope []alias) string {
	a := scope[len(scope)-1]
	return a.name + "." + a.ints[g.r.Intn(len(a.ints))]
}

func (g *generator) from(outer []alias) (string, []alias) {
	sql, a := g.table()
	scope := append(outer[:len(outer):len(outer)], a)
	for g.r.Intn(3) == 0 {
		if g.r.Intn(4) == 0 {
			g.used++
			name := fmt.Sprintf("x%d", g.used)
			sub, cols := g.lateral(scope)
			join := g.pick("cross join lateral", "left join lateral")
			sql += " " + join + " (" + sub + ") " + name
			if strings.HasPrefix(join, "left") {
				sql += " on " + g.pick("true", name+"."+cols[0]+" > 1")
			}
			scope = append(scope, alias{name, cols})
			continue
		}
		s, b := g.table()
		all := append(scope[:len(scope):len(scope)], b)
		kind := g.pick("join", "left join", "right join", "full join", "join")
		own := all[len(outer):]
		on := g.inner(all) + " = " + g.inner(own[:len(own)-1])
		if kind == "join" && g.r.Intn(3) == 0 {
			on = on + " and " + g.inner(all) + " < " + g.col(all)
		}
		sql += " " + kind + " " + s + " on " + on
		scope = all
	}
	return sql, scope
}

// lateral is a LATERAL subquery, which may refer to items on its left.
func (g *generator) lateral(scope []alias) (string, []string) {
	from, in := g.from(scope)
	switch g.r.Intn(6) {
	case 4, 5:
		return g.ordered(scope)
	case 0:
		return fmt.Sprintf("select count(*)::int as n, max(%s) as m from %s where %s", g.inner(in), from, g.cond(in, 0)), []string{"n", "m"}
	case 1:
		return fmt.Sprintf("select %s as n, %s as m from %s where %s order by 1, 2 limit 2", g.inner(in), g.col(in), from, g.cond(in, 0)), []string{"n", "m"}
	}
	return fmt.Sprintf("select %s as n, %s as m from %s where %s", g.inner(in), g.col(in), from, g.cond(in, 0)), []string{"n", "m"}
}

// ordered is a LATERAL subquery of the row before or after a value, or of aggregates of rows around one.
func (g *generator) ordered(scope []alias) (string, []string) {
	from, a := g.table()
	k, x := a.name+"."+a.ints[0], a.name+"."+a.ints[1]
	where := ""
	if g.r.Intn(4) > 0 {
		where = fmt.Sprintf("%s = %s and ", k, g.col(scope))
	}
	if g.r.Intn(4) == 0 {
		where += k + " > 1 and "
	}
	at := g.col(scope)
	switch g.r.Intn(3) {
	case 0:
		desc, op := "desc", g.pick("<", "<=")
		if g.r.Intn(2) == 0 {
			desc, op = "asc", g.pick(">", ">=")
		}
		where += fmt.Sprintf("%s %s %s", x, op, at)
		if g.r.Intn(3) == 0 {
			where += fmt.Sprintf(" and %s %s %s", x, map[string]string{"desc": ">", "asc": "<"}[desc], g.col(scope))
		}
		return fmt.Sprintf("select %s as n, %s as m from %s where %s order by %s %s, %s %s limit 1", k, x, from, where, x, desc, k, g.pick("asc", "desc")), []string{"n", "m"}
	case 1:
		where += fmt.Sprintf("%s %s %s", x, g.pick("<", "<=", ">", ">="), at)
	default:
		where += fmt.Sprintf("%s between %s - 2 and %s", x, at, at)
		switch g.r.Intn(3) {
		case 0:
			where = strings.ReplaceAll(where, "between "+at+" - 2 and", g.pick(">", ">=")+" "+at+" - 1 and "+x+" "+g.pick("<", "<="))
		case 1:
			where = strings.ReplaceAll(where, "between "+at+" - 2 and", g.pick("<", "<=")+" "+at+" + 1 and "+x+" "+g.pick(">", ">="))
		}
	}
	having := g.pick("", "", " having count(*) > 1", " having min("+k+") < "+at)
	return fmt.Sprintf("select count(%s)::int as n, max(%s) as m from %s where %s%s", g.pick("*", k), k, from, where, having), []string{"n", "m"}
}

func (g *generator) cond(scope []alias, depth int) string {
	one := func() string {
		if depth > 0 && g.r.Intn(2) == 0 {
			return g.subCond(scope, depth-1)
		}
		switch g.r.Intn(6) {
		case 0:
			return fmt.Sprintf("%s is %snull", g.col(scope), g.pick("", "not "))
		case 1:
			return fmt.Sprintf("%s in (1, 2, %s)", g.inner(scope), g.pick("3", "null"))
		case 2:
			return fmt.Sprintf("%s %s %d", g.col(scope), g.pick("=", "<", ">", "<>"), g.r.Intn(4))
		}
		return fmt.Sprintf("%s %s %s", g.inner(scope), g.pick("=", "=", "=", "<", "<>"), g.col(scope))
	}
	c := one()
	for g.r.Intn(3) == 0 {
		c = fmt.Sprintf("%s %s %s", c, g.pick("and", "and", "or"), one())
	}
	if g.r.Intn(6) == 0 {
		c = "not (" + c + ")"
	}
	return c
}

// subCond is a condition with a subquery.
func (g *generator) subCond(scope []alias, depth int) string {
	from, in := g.from(scope)
	where := g.cond(in, depth)
	col := g.inner(in)
	switch g.r.Intn(7) {
	case 0:
		return fmt.Sprintf("exists (select 1 from %s where %s)", from, where)
	case 1:
		return fmt.Sprintf("not exists (select %s from %s where %s)", col, from, where)
	case 2:
		return fmt.Sprintf("%s in (select %s from %s where %s)", g.col(scope), col, from, where)
	case 3:
		return fmt.Sprintf("%s not in (select %s from %s where %s)", g.col(scope), col, from, where)
	case 4:
		return fmt.Sprintf("%s %s %s (select %s from %s where %s)", g.col(scope), g.pick("=", "<", ">=", "<>"), g.pick("any", "all"), col, from, where)
	}
	return fmt.Sprintf("%s %s %s", g.col(scope), g.pick("=", "<", ">="), g.scalar(scope, depth))
}

// scalar is a subquery of one value.
func (g *generator) scalar(scope []alias, depth int) string {
	from, in := g.from(scope)
	where := g.cond(in, depth)
	col := g.inner(in)
	switch g.r.Intn(5) {
	case 0:
		return fmt.Sprintf("(select count(*)::int from %s where %s)", from, where)
	case 1:
		return fmt.Sprintf("(select coalesce(sum(%s), -1)::int from %s where %s)", col, from, where)
	case 2:
		return fmt.Sprintf("(select %s from %s where %s order by %s limit 1)", col, from, where, col)
	case 3:
		return fmt.Sprintf("(select max(%s) from %s where %s group by %s order by 1 limit 1)", col, from, where, g.inner(in))
	}
	return fmt.Sprintf("(select %s(%s) from %s where %s)", g.pick("min", "max"), col, from, where)
}

func (g *generator) query(depth int) string {
	from, scope := g.from(nil)
	where := g.cond(scope, depth)
	out := g.col(scope)
	if g.r.Intn(3) == 0 {
		out += ", " + g.scalar(scope, depth-1)
	}
	var sql string
	switch g.r.Intn(4) {
	case 0:
		k := g.col(scope)
		last := g.pick("count(*), count(distinct %s)", "count(%s)") // no partial aggregation below joins with DISTINCT, so both ways are taken
		sql = fmt.Sprintf("select %s, sum(%s), "+last+" from %s where %s group by %s", k, g.col(scope), g.col(scope), from, where, k)
		if g.r.Intn(2) == 0 {
			sql += fmt.Sprintf(" having count(*) > %d", g.r.Intn(2))
		}
	case 1:
		sql = fmt.Sprintf("select distinct %s from %s where %s", out, from, where)
	default:
		sql = fmt.Sprintf("select %s from %s where %s", out, from, where)
	}
	if depth > 1 && g.r.Intn(6) == 0 && !strings.Contains(out, ",") && !strings.Contains(sql, "group by") {
		f2, s2 := g.from(nil)
		sql += fmt.Sprintf(" %s select %s from %s where %s", g.pick("union", "union all", "intersect", "except", "except all"), g.col(s2), f2, g.cond(s2, 1))
	}
	return sql
}
