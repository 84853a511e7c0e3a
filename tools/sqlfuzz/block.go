package main

import (
	"fmt"
	"strings"
)

func (g *generator) blockTables() []string {
	return []string{"CREATE TABLE one (id integer PRIMARY KEY, v integer)", "CREATE TABLE two (id integer PRIMARY KEY, v integer CHECK (v > -100))",
		"INSERT INTO one SELECT i, i FROM generate_series(1, 9) i", "INSERT INTO two SELECT i, i FROM generate_series(1, 9) i"}
}

// block returns texts of several statements, each one message of the simple protocol:
// they share a transaction, except where they begin and end some themselves.
func (g *generator) block() change {
	c := change{sql: g.text(), check: "SELECT 1, id, v FROM one UNION ALL SELECT 2, id, v FROM two",
		after: []string{"ROLLBACK", "RESET application_name", "RESET default_transaction_read_only", "CLOSE ALL", "DEALLOCATE ALL"}}
	for range []int{0, 0, 0, 1, 2}[g.r.IntN(5)] {
		c.more = append(c.more, g.text())
	}
	return c
}

func (g *generator) text() string {
	list := make([]string, 2+g.r.IntN(6))
	for i := range list {
		list[i] = g.blockStatement()
	}
	return strings.Join(list, "; ")
}

func (g *generator) blockStatement() string {
	t := g.pick([]string{"one", "two"})
	switch k := g.r.IntN(100); {
	case k < 26:
		g.edges.fresh++
		key := g.edges.fresh
		if g.chance(8) {
			key = 1 + g.r.IntN(key)
		}
		return fmt.Sprintf("INSERT INTO %s VALUES (%d, %d)", t, key, g.r.IntN(50))
	case k < 32:
		return fmt.Sprintf("UPDATE %s SET v = v %s WHERE id %% 5 = %d", t, g.pick([]string{"+ 1", "- 30", "* 2 % 1000"}), g.r.IntN(5))
	case k < 36:
		return fmt.Sprintf("DELETE FROM %s WHERE id %% 7 = %d", t, g.r.IntN(7))
	case k < 42:
		return "SELECT count(*), sum(v) FROM " + t
	case k < 68:
		return g.pick([]string{"BEGIN", "COMMIT", "COMMIT", "ROLLBACK", "ROLLBACK", "END", "ABORT", "START TRANSACTION", "BEGIN READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE",
			"COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "COMMIT AND NO CHAIN"})
	case k < 80:
		name := g.pick([]string{"a", "b"})
		return g.pick([]string{"SAVEPOINT ", "SAVEPOINT ", "ROLLBACK TO ", "RELEASE "}) + name
	case k < 88:
		return g.pick([]string{"SET LOCAL application_name = 'l'", "SET application_name = 's'", "SHOW application_name", "SHOW application_name", "SHOW transaction_isolation", "SHOW transaction_read_only",
			"SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "RESET application_name", "SELECT set_config('application_name', 'c', true)"})
	case k < 92:
		return g.pick([]string{"LOCK TABLE one", "DECLARE c CURSOR FOR SELECT id FROM one ORDER BY id", "DECLARE h CURSOR WITH HOLD FOR SELECT id FROM two ORDER BY id", "FETCH 2 FROM c", "FETCH 1 FROM h", "CLOSE c",
			"PREPARE p AS SELECT count(*) FROM one", "EXECUTE p", "DEALLOCATE p"})
	case k < 95:
		return g.pick([]string{"CREATE TABLE made (id integer)", "DROP TABLE made", "INSERT INTO made VALUES (1)", "SELECT count(*) FROM made", "TRUNCATE two", "DROP TABLE IF EXISTS made", "CREATE TEMP TABLE tmp (a integer) ON COMMIT DROP", "DROP TABLE tmp"})
	case k < 98:
		return g.pick([]string{"SELECT 1/0", "SELECT 1/0", "SELECT missing FROM one", "INSERT INTO one VALUES (1, 1)", "UPDATE two SET v = -1000", "SELECT 'x'::integer"})
	default:
		return g.pick([]string{"", "-- nothing\n", "VACUUM one", "SELECT FROM WHERE"})
	}
}
