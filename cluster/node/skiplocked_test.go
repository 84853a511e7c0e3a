package node

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestSkipLocked: rows that another session has locked are left out, or refused with NOWAIT; those that
// it has changed meanwhile are left out; LIMIT counts the rows that are returned.
func TestSkipLocked(t *testing.T) {
	for _, nodes := range [][]*Node{start(t, 1), start(t, 3)} {
		a, b := connect(t, nodes[0]), connect(t, nodes[len(nodes)-1])
		a.must("create table jobs (id int primary key, done bool); insert into jobs select g, false from generate_series(1, 500) g")
		take := func(c *client, sql string, want ...string) {
			t.Helper()
			if got := c.must(sql); !slices.Equal(got, want) {
				t.Fatalf("%d nodes: %s: %v, not %v", len(nodes), sql, got, want)
			}
		}
		const next = "select id from jobs where not done order by id limit 2 for update skip locked"
		a.must("begin")
		b.must("begin")
		take(a, next, "1", "2")
		take(b, next, "3", "4")
		take(a, next, "1", "2") // its own
		take(a, "select id from jobs where id < 4 for update skip locked", "1", "2")
		if got := a.must("select relation = 'jobs'::regclass, mode, granted, count(*) from pg_locks where locktype = 'tuple' group by 1, 2, 3"); !slices.Equal(got, []string{"t|ExclusiveLock|t|4"}) {
			t.Error(got)
		}
		if _, err := a.do("select id from jobs where id = 3 for update nowait"); !pgerr.Is(err, pgerr.LockNotAvailable) {
			t.Fatal(err)
		}
		a.must("rollback; begin isolation level repeatable read")
		take(a, "select count(*) from jobs", "500") // it reads what was before the other's commit
		b.must("delete from jobs where id = 3; update jobs set done = true where id = 4; commit")
		take(a, next, "1", "2")
		take(a, "select id from jobs where id in (3, 4, 5) order by id for update skip locked", "5")
		a.must("commit; begin")
		take(a, "select id from jobs where not done order by id limit 0 for update skip locked")
		take(a, "select id from jobs where not done order by id desc limit 1 for share skip locked", "500")
		b.must("begin")
		take(b, "select id from jobs where not done order by id desc limit 1 for share skip locked", "500")
		take(b, "select id from jobs where not done order by id desc limit 1 for update skip locked", "499")
		a.must("commit")
		b.must("commit")
		a.must("drop table jobs")
	}
}

// TestQueueOfJobs: workers of all nodes that take jobs by SKIP LOCKED never meet: each job is done once, and
// no commit conflicts.
func TestQueueOfJobs(t *testing.T) {
	for _, nodes := range [][]*Node{start(t, 1), start(t, 3)} {
		c := connect(t, nodes[0])
		const jobs = 120
		c.must(fmt.Sprintf("create table jobs (id int primary key, of text); create table results (id int); insert into jobs select g, 'x' from generate_series(1, %d) g", jobs))
		var wg sync.WaitGroup
		for i := range 6 {
			w := connect(t, nodes[i%len(nodes)])
			wg.Go(func() {
				for {
					if _, err := w.do("begin"); err != nil {
						t.Error(err)
						return
					}
					got, err := w.do("select id from jobs order by id limit 1 for update skip locked")
					if err == nil && len(got) == 1 {
						_, err = w.do(fmt.Sprintf("delete from jobs where id = %s; insert into results values (%s)", got[0], got[0]))
					}
					if err == nil {
						_, err = w.do("commit")
					}
					if err != nil {
						t.Error(err)
						return
					}
					if len(got) == 0 {
						return
					}
				}
			})
		}
		wg.Wait()
		if got := c.must("select count(*), count(distinct id), (select count(*) from jobs) from results"); got[0] != fmt.Sprintf("%d|%d|0", jobs, jobs) {
			t.Errorf("%d nodes: %v", len(nodes), got)
		}
	}
}
