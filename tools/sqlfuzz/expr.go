package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// column is what an expression may name: a column, or an aggregate or window
// call that stands where a column may.
type column struct {
	sql  string
	t    typ
	call bool // not visible to subqueries
	// Of a table's column:
	generated bool
	to        *table // whose key it refers to
}

// scope is the columns visible at a query level.
type scope struct {
	cols  []column
	outer *scope
	// keys identify the rows; nil where nothing does.
	keys []string
}

// generator makes the statements of one round.
type generator struct {
	r      *rand.Rand
	tables []*table
	ctes   []*table // of the statement being made
	risky  bool     // the statement may use expressions that fail on some values
	names  int
	params *[]param // the statement's parameters, if it may have some
	schema string
	role   string // one with few privileges
	// cascades says that foreign keys delete rows along (CASCADE); else they may restrict
	// deletion.
	cascades bool
	edges    *edges // of that profile
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) pick(list []string) string { return list[g.r.IntN(len(list))] }

func (g *generator) typ() typ { return types[g.r.IntN(len(types))] }

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// expr returns an expression of a type, over the columns of a scope.
func (g *generator) expr(t typ, s *scope, depth int) string {
	if depth <= 0 || g.chance(25) {
		return g.leaf(t, s)
	}
	if g.chance(25) {
		return g.fill(g.pick(anyType), t, s, depth)
	}
	if g.risky && g.chance(30) && len(risky[t]) > 0 {
		return g.fill(g.pick(risky[t]), t, s, depth)
	}
	if g.chance(8) && depth > 1 {
		return g.scalarSubquery(t, s, depth-1)
	}
	if t == "b" && g.chance(15) && depth > 1 {
		return g.subqueryPredicate(s, depth-1)
	}
	return g.fill(g.pick(productions[t]), t, s, depth)
}

func (g *generator) leaf(t typ, s *scope) string {
	if !g.chance(80) {
		return g.literal(t)
	}
	for at := s; at != nil; at = at.outer {
		var fit []string
		for _, c := range at.cols {
			if c.t == t && (at == s || !c.call) {
				fit = append(fit, c.sql)
			}
		}
		if len(fit) > 0 && (at.outer == nil || g.chance(75)) {
			return g.pick(fit)
		}
	}
	return g.literal(t)
}

// fill puts expressions into the braces of a production: {i4} is one of that
// type, {T} of the type wanted, {A} of one that is the same throughout, {k} a
// small positive number.
func (g *generator) fill(production string, t typ, s *scope, depth int) string {
	var b strings.Builder
	some := g.typ()
	for {
		before, rest, found := strings.Cut(production, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		hole, after, _ := strings.Cut(rest, "}")
		production = after
		switch hole {
		case "T":
			b.WriteString(g.expr(t, s, depth-1))
		case "A":
			b.WriteString(g.expr(some, s, depth-1))
		case "k":
			fmt.Fprint(&b, 1+g.r.IntN(7))
		case "like":
			b.WriteString(g.pick([]string{"'a%'", "'%b%'", "'_'", "'%'", "''", `'%\%%'`, "'A_c'"}))
		case "regex":
			b.WriteString(g.pick([]string{"'^a'", "'[a-c]+'", "'b$'", "'^.$'", "'(a|x)y*'", `'\d'`, `'\s'`, "''"}))
		case "dpart":
			b.WriteString(g.pick([]string{"year", "month", "day", "dow", "doy", "week", "quarter", "isoyear", "decade", "century"}))
		case "tpart":
			b.WriteString(g.pick([]string{"year", "month", "day", "hour", "minute", "second", "week", "quarter"}))
		case "cmp":
			b.WriteString(g.pick([]string{"=", "<>", "<", "<=", ">", ">="}))
		default:
			b.WriteString(g.expr(typ(hole), s, depth-1))
		}
	}
}

func (g *generator) predicate(s *scope, depth int) string { return g.expr("b", s, depth) }

// scalarSubquery returns one row: an aggregate without groups, or the first row in
// an order that leaves no choice.
func (g *generator) scalarSubquery(t typ, s *scope, depth int) string {
	from, in := g.from(s, depth-1, 1)
	where := g.where(in, depth)
	if g.chance(60) && exact(t) {
		if g.chance(50) {
			e := g.expr(t, in, depth)
			return "(SELECT " + e + " AS v FROM " + from + where + " ORDER BY v LIMIT 1)"
		}
	}
	return "(SELECT " + g.aggregate(t, in, depth) + " FROM " + from + where + ")"
}

func (g *generator) subqueryPredicate(s *scope, depth int) string {
	from, in := g.from(s, depth-1, 1+g.r.IntN(2))
	where := g.where(in, depth)
	t := g.typ()
	switch g.r.IntN(6) {
	case 0:
		return "EXISTS (SELECT 1 FROM " + from + where + ")"
	case 1:
		return "NOT EXISTS (SELECT " + g.expr(t, in, 1) + " FROM " + from + where + ")"
	case 2:
		return "(" + g.expr(t, s, 1) + " IN (SELECT " + g.expr(t, in, 1) + " FROM " + from + where + "))"
	case 3:
		return "(" + g.expr(t, s, 1) + " NOT IN (SELECT " + g.expr(t, in, 1) + " FROM " + from + where + "))"
	case 4:
		u := g.typ()
		return "((" + g.expr(t, s, 1) + ", " + g.expr(u, s, 1) + ") IN (SELECT " + g.expr(t, in, 1) + ", " + g.expr(u, in, 1) + " FROM " + from + where + "))"
	default:
		return "(" + g.expr(t, s, 1) + " " + g.pick([]string{"=", "<>", "<", ">="}) + g.pick([]string{" ANY", " ALL"}) +
			" (SELECT " + g.expr(t, in, 1) + " FROM " + from + where + "))"
	}
}

// aggregate returns an aggregate call of a type, whose result does not depend on the
// order of its input. It does not use outer columns: over those alone it would belong
// to the outer query.
func (g *generator) aggregate(t typ, s *scope, depth int) string {
	s = &scope{cols: s.cols}
	list := aggregates[t]
	call := g.fill(g.pick(list), t, s, min(depth, 2))
	if g.chance(25) {
		call += " FILTER (WHERE " + g.predicate(s, 1) + ")"
	}
	return call
}
