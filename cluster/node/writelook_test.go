package node

import (
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestWritesLookUp: statements that write a few rows do not read whole columns for ON CONFLICT, unique
// constraints and foreign keys, but look keys up: segments get indexes of the columns.
func TestWritesLookUp(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	const rows = 60000
	key := func(i int) int { return i * 7919 % rows * 2 } // even numbers, not in order
	c.must("CREATE TABLE a (k bigint PRIMARY KEY, v int)")
	c.must(fmt.Sprintf("INSERT INTO a SELECT (i * 7919::bigint %% %d) * 2, 0 FROM generate_series(0, %d) AS g(i)", rows, rows-1))
	c.must("CREATE TABLE p (id int PRIMARY KEY)")
	c.must(fmt.Sprintf("INSERT INTO p SELECT (i * 7919::bigint %% %d) * 2 FROM generate_series(0, %d) AS g(i)", rows, rows-1))
	c.must("CREATE TABLE c (n int, p int REFERENCES p)")
	c.must(fmt.Sprintf("INSERT INTO c SELECT i, (i * 7919::bigint %% %d) * 2 FROM generate_series(0, %d) AS g(i) WHERE i %% 2 = 0", rows, rows-1))
	used := n.store.IndexBytes()
	grown := func(what string) {
		t.Helper()
		if now := n.store.IndexBytes(); now <= used {
			t.Errorf("%s: the columns were read each time", what)
		} else {
			used = now
		}
	}

	for i := range 12 {
		c.must(fmt.Sprintf("INSERT INTO a VALUES (%d, 100), (%d, 100), (%d, 100) ON CONFLICT (k) DO UPDATE SET v = a.v + excluded.v + %d", key(i), key(i+1000), key(i)+1, i))
	}
	grown("ON CONFLICT DO UPDATE")
	fails := func(text string, code pgerr.Code) {
		t.Helper()
		if _, err := c.do(text); pgerr.CodeOf(err) != code {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := func(text, want string) {
		t.Helper()
		if got := c.must(text); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	want("SELECT count(*), sum(v), max(v) FROM a", fmt.Sprintf("%d|%d|111", rows+12, 12*300+2*66))
	c.must(fmt.Sprintf("INSERT INTO a VALUES (%d, 1), (%d, 1) ON CONFLICT DO NOTHING", key(5), key(5)+3))
	want("SELECT count(*), sum(v), max(v) FROM a", fmt.Sprintf("%d|%d|111", rows+13, 12*300+2*66+1))

	for i := range 12 {
		c.must(fmt.Sprintf("INSERT INTO p VALUES (%d), (%d)", key(i)+1, key(i+100)+1))
	}
	grown("uniqueness of several rows")
	fails(fmt.Sprintf("INSERT INTO p VALUES (%d), (%d)", key(200)+1, key(300)), pgerr.UniqueViolation)

	for i := 1; i < 24; i += 2 { // rows that nothing refers to
		c.must(fmt.Sprintf("DELETE FROM p WHERE id IN (%d, %d)", key(i), key(i+1000)))
	}
	grown("deletes of referenced rows")
	fails(fmt.Sprintf("DELETE FROM p WHERE id IN (%d, %d)", key(31), key(30)), pgerr.ForeignKeyViolation)

	for i := range 12 {
		c.must(fmt.Sprintf("UPDATE c SET p = NULL WHERE n IN (%d, %d)", 4*i, 4*i+1))
	}
	grown("a list of values of a column without a constraint")
	want("SELECT count(*), count(p) FROM c", fmt.Sprintf("%d|%d", rows/2, rows/2-12))
	want("SELECT count(*) FROM p", fmt.Sprint(rows+24-24))
}
