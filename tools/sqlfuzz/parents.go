package main

import "fmt"

// parentTables are two, the second with a foreign key whose actions a round chooses.
func (g *generator) parentTables() []string {
	remove := g.pick([]string{"CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION"})
	update := g.pick([]string{"CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION"})
	return []string{"CREATE TABLE parent (id integer PRIMARY KEY, u integer UNIQUE, v integer)",
		"CREATE TABLE child (id integer PRIMARY KEY, pid integer DEFAULT 0 REFERENCES parent ON DELETE " + remove + " ON UPDATE " + update + ", v integer)",
		"INSERT INTO parent SELECT i, 100 + i, i FROM generate_series(0, 20) i", "INSERT INTO child SELECT i, i % 21, i FROM generate_series(1, 50) i"}
}

// withWrites returns a statement that writes both: in WITH, with ON CONFLICT, and by the
// foreign key. No row is written twice, which has no defined outcome.
func (g *generator) withWrites() change {
	m := 2 + g.r.IntN(9)
	some := fmt.Sprintf("id %% %d = %d", m, g.r.IntN(m))
	g.edges.fresh += 100
	fresh := g.edges.fresh
	key := func() int { return g.r.IntN(30) }
	twice := g.chance(8)
	values := func() string {
		a := g.r.IntN(20)
		list := fmt.Sprintf("VALUES (%d, %d, 1), (%d, %d, 2), (%d, %d, 3)", a, fresh, a+1+g.r.IntN(3), fresh+1, fresh, fresh+2)
		if twice {
			list += fmt.Sprintf(", (%d, %d, 4)", a, fresh+3) // twice
		}
		return list
	}
	upsert := func() string {
		does := []string{"(id) DO UPDATE SET v = p.v + excluded.v", "(id) DO UPDATE SET u = excluded.u, v = excluded.v", "DO NOTHING",
			"(id) DO UPDATE SET v = excluded.v WHERE p.v > 5", "(id) DO UPDATE SET v = (SELECT count(*) FROM child c WHERE c.pid = excluded.id)", fmt.Sprintf("(id) DO UPDATE SET id = p.id + %d", fresh+10)}
		if twice { // a key that the first row frees would be free for the second in PostgreSQL alone
			does = does[:len(does)-1]
		}
		return "INSERT INTO parent AS p (id, u, v) " + values() + " ON CONFLICT " + g.pick(does)
	}
	returning := g.pick([]string{" RETURNING *", " RETURNING p.id, (SELECT count(*) FROM child c WHERE c.pid = p.id)", " RETURNING id, v * 2, (SELECT max(u) FROM parent)", " RETURNING p.id, (SELECT c.v FROM child c WHERE c.id = p.id), p.v"})
	remake := func() string { // the old key anew
		return "WITH x AS (DELETE FROM parent WHERE " + some + " RETURNING *) INSERT INTO parent SELECT id, u, v + 1 FROM x" + g.pick([]string{"", " WHERE v % 2 = 0", " ON CONFLICT DO NOTHING"}) + " RETURNING id"
	}
	move := fmt.Sprintf("UPDATE parent SET id = id + %d WHERE %s RETURNING id, v", fresh, some)
	c := change{check: "SELECT 'p', id, u, v FROM parent UNION ALL SELECT 'c', id, pid, v FROM child"}
	switch g.r.IntN(12) {
	case 0, 1:
		c.sql = upsert() + returning
	case 2:
		c.sql = remake()
	case 3:
		c.sql = "WITH x AS (" + upsert() + " RETURNING p.id, p.v) INSERT INTO child SELECT " + fmt.Sprint(fresh) + " + row_number() OVER (ORDER BY id), id, v FROM x RETURNING *"
	case 4:
		c.sql = "WITH x AS (" + move + ") SELECT x.id, x.v, (SELECT count(*) FROM child c WHERE c.pid = x.id), (SELECT count(*) FROM parent) FROM x"
	case 5:
		c.sql = "WITH x AS (DELETE FROM child WHERE " + some + " RETURNING pid) DELETE FROM parent WHERE id IN (SELECT pid FROM x) RETURNING id"
	case 6:
		c.sql = "WITH x AS (" + upsert() + " RETURNING p.id), y AS (UPDATE child SET v = v + 1 WHERE " + some + " RETURNING id) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y), (SELECT sum(v) FROM child)"
	case 7:
		c.sql = fmt.Sprintf("WITH x AS (INSERT INTO parent VALUES (%d, %d, 7) RETURNING id) INSERT INTO child SELECT %d + i, x.id, i FROM x, generate_series(1, 3) i", fresh, fresh+5, fresh)
	case 8:
		c.sql = g.pick([]string{"DELETE FROM parent WHERE " + some, "DELETE FROM parent WHERE " + some + " RETURNING (SELECT count(*) FROM child)", fmt.Sprintf("UPDATE parent SET id = -id - 1 WHERE %s", some), fmt.Sprintf("UPDATE parent SET id = id WHERE %s", some)})
	case 9:
		c.sql = fmt.Sprintf("INSERT INTO child (id, pid, v) VALUES (%d, %d, 1), (%d, DEFAULT, 2) ON CONFLICT (id) DO UPDATE SET pid = excluded.pid RETURNING *, (SELECT u FROM parent p WHERE p.id = child.pid)", key(), key(), fresh)
	case 10:
		c.sql = fmt.Sprintf("WITH x AS (DELETE FROM parent WHERE id = %d RETURNING id, u), y AS (INSERT INTO parent SELECT id + %d, u, 0 FROM x RETURNING id) SELECT x.id, y.id FROM x, y", key(), fresh)
	default: // rows to go on with
		c.sql = fmt.Sprintf("INSERT INTO parent SELECT i, %d + i, i FROM generate_series(0, 20) i ON CONFLICT DO NOTHING", fresh)
		if g.chance(50) {
			c.sql = fmt.Sprintf("INSERT INTO child SELECT %d + i, (SELECT min(id) FROM parent WHERE id >= i), i FROM generate_series(0, 20) i ON CONFLICT DO NOTHING", fresh)
		}
	}
	return c
}
