package main

import (
	"fmt"
	"slices"
	"strings"
)

// question returns a trial that changes nothing: a query, or several statements about
// one.
func (g *generator) question() trial {
	switch k := g.r.IntN(100); {
	case k < 60:
		q := g.top()
		return trial{parts: []string{q.sql}, ordered: q.ordered}
	case k < 78:
		q, params := g.withParams(g.top)
		return trial{parts: []string{q.sql}, ordered: q.ordered, extended: true, binary: g.chance(50), params: params}
	case k < 84:
		return g.cursor()
	case k < 89:
		return g.prepared()
	case k < 94:
		return g.transaction()
	}
	// PostgreSQL 15 does not check privileges in a view's CTEs that nothing reads, nor in
	// subqueries that it proves empty.
	all := g.tables
	g.tables = slices.DeleteFunc(slices.Clone(all), func(t *table) bool { return t.cte })
	defer func() { g.tables = all }()
	t := trial{parts: []string{"SET ROLE " + g.role}, after: []string{"ROLLBACK", "RESET ROLE"}}
	if g.chance(50) {
		t.parts = append(t.parts, g.selectList(nil, 0, g.someTypes(3)).sql)
	} else {
		t.parts = append(t.parts, "BEGIN", g.write(g.target()))
	}
	return t
}

// withParams returns a query some of whose constants are parameters.
func (g *generator) withParams(make func() query) (query, []param) {
	var params []param
	g.params = &params
	defer func() { g.params = nil }()
	return make(), params
}

// cursor returns a trial that reads a query with a total order through a cursor, in
// steps.
func (g *generator) cursor() trial {
	q := g.top()
	for range 10 {
		if q.ordered {
			break
		}
		q = g.top()
	}
	if !q.ordered {
		return trial{parts: []string{q.sql}}
	}
	scroll := g.chance(50)
	parts := []string{"BEGIN", "DECLARE c " + map[bool]string{true: "SCROLL ", false: "NO SCROLL "}[scroll] + "CURSOR FOR " + q.sql}
	steps := []string{"FETCH c", "FETCH NEXT FROM c", "FETCH 3 FROM c", "MOVE 2 IN c", "FETCH FORWARD 2 FROM c", "FETCH ALL FROM c", "FETCH 0 FROM c"}
	if scroll {
		steps = append(steps, "FETCH PRIOR FROM c", "FETCH FIRST FROM c", "FETCH LAST FROM c", "FETCH ABSOLUTE 2 FROM c", "FETCH ABSOLUTE -1 FROM c", "FETCH RELATIVE -1 FROM c",
			"FETCH BACKWARD 2 FROM c", "FETCH BACKWARD ALL FROM c", "MOVE BACKWARD 1 IN c", "MOVE ABSOLUTE 1 IN c")
	}
	for range 1 + g.r.IntN(5) {
		parts = append(parts, g.pick(steps))
	}
	return trial{parts: append(parts, "CLOSE c", "COMMIT"), ordered: true, after: []string{"ROLLBACK"}}
}

// prepared returns a trial of a prepared statement that runs with two lists of values.
func (g *generator) prepared() trial {
	q, params := g.withParams(g.top)
	head := "PREPARE p"
	var names, first, second []string
	for _, p := range params {
		t := g.typeOf(p.oid)
		names = append(names, sqlNames[t])
		first = append(first, inlined("$1", []param{p}))
		second = append(second, g.constant(t))
	}
	if len(names) > 0 {
		head += "(" + strings.Join(names, ", ") + ")"
	}
	execute := func(list []string) string {
		if len(list) == 0 {
			return "EXECUTE p"
		}
		return "EXECUTE p(" + strings.Join(list, ", ") + ")"
	}
	return trial{parts: []string{head + " AS " + q.sql, execute(first), execute(second)}, ordered: q.ordered, after: []string{"DEALLOCATE ALL"}}
}

// transaction returns a trial that writes and rolls back.
func (g *generator) transaction() trial {
	t := g.target()
	look := "SELECT * FROM " + t.name
	parts := []string{"BEGIN" + g.pick([]string{"", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL SERIALIZABLE"}), g.write(t), look}
	if g.chance(60) {
		parts = append(parts, "SAVEPOINT s", g.write(t), look, g.pick([]string{"ROLLBACK TO s", "RELEASE s"}), look)
	}
	return trial{parts: append(parts, "ROLLBACK", look), after: []string{"ROLLBACK"}}
}

func (g *generator) typeOf(oid uint32) typ {
	for _, t := range types {
		if oids[t] == oid {
			return t
		}
	}
	panic(fmt.Sprintf("no type has the OID %d", oid))
}
