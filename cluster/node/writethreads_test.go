package node

import (
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestWritesInThreads: DML over so many rows that several threads write them, on the nodes that store
// the rows, has the results and errors that it has over few.
func TestWritesInThreads(t *testing.T) {
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[n-1])
		c.must("create table p (k int primary key, v int check (v < 1000000), h int generated always as (v * 2) stored)")
		c.must("create table r (k int references p on update cascade on delete set null, n int)")
		c.must("insert into p (k, v) select g, g from generate_series(1, 150000) g")
		c.must("insert into r select g, g from generate_series(1, 150000) g")
		is := func(want, query string) {
			t.Helper()
			if got := c.one(query); got != want {
				t.Errorf("on %d nodes %s gives %s, not %s", n, query, got, want)
			}
		}
		fails := func(code pgerr.Code, statement string) {
			t.Helper()
			if _, err := c.do(statement); pgerr.CodeOf(err) != code {
				t.Errorf("on %d nodes %s: %v", n, statement, err)
			}
			is("150000|11250075000|150000|11250075000", "select count(*) || '|' || sum(k) || '|' || count(distinct k) || '|' || (select sum(n) from r where k = n) from p")
		}
		is("37500|7500000", "with u as (update p set v = v + 1 where k % 4 = 0 returning k, v, h) select count(*) || '|' || sum(h - 2 * k) * 100 from u")
		is("37500|150000", "select count(*) filter (where v = k + 1 and h = 2 * k + 2) || '|' || count(*) from p")
		fails(pgerr.CheckViolation, "update p set v = v + 900000")
		fails(pgerr.UniqueViolation, "update p set k = k % 149999")
		fails(pgerr.CardinalityViolation, "merge into p using (select k % 100000 as m from p) s on p.k = s.m when matched then update set v = 0")
		fails(pgerr.CardinalityViolation, "merge into p using (select k % 100000 as m from p) s on p.k = s.m when matched then delete")

		// If several joined rows match a row, one of them updates it, and RETURNING has the row once.
		c.must("create table s as select k % 75000 as m, k as w from p")
		is("74999|74999", "with u as (update p set v = s.w from s where s.m = p.k returning p.k, p.v) select count(*) || '|' || count(distinct k) from u")
		is("74999", "select count(*) from p where k < 75000 and v in (k, k + 75000)")

		// ON UPDATE CASCADE, then ON DELETE SET NULL.
		c.must("update p set k = k + 1000000 where k % 2 = 0")
		is("75000|75000", "select count(*) filter (where k = n + 1000000 and n % 2 = 0) || '|' || count(*) filter (where k = n and n % 2 = 1) from r")
		is("50000", "with d as (delete from p where v < 0 or k % 3 = 1 returning k) select count(*) from d")
		is("100000|50000|0", "select (select count(*) from p) || '|' || count(*) filter (where k is null) || '|' || count(*) filter (where k % 3 = 1) from r")
		c.must("merge into p using (select n as m from r) s on p.k = s.m when matched and p.k % 3 = 0 then delete when matched then update set v = 7 when not matched then insert (k, v) values (s.m, 8)")
		is("t", "select count(*) = count(distinct k) and count(*) filter (where v = 8) > 0 and count(*) filter (where v = 7) > 0 from p")
		is("0", "select count(*) from r where k is not null and k not in (select k from p)")
	}
}
