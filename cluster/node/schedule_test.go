package node

import (
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestSchedules: a statement runs as its owner, with the settings of who made it, on one node and on three; its
// error is kept, and a training is one.
func TestSchedules(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n)
			c := connect(t, nodes[n-1])
			c.must("create role worker")
			c.must("create schema jobs authorization worker")
			c.must("create table public.rows as select i::float8 as x, i * 2.0 as y from generate_series(1, 100) i")
			c.must("grant select on public.rows to worker")
			c.must("set role worker")
			c.must("set search_path = jobs, public")
			c.must("create table ran (who text, path text)")
			c.must("create schedule s for insert into ran values (current_user, current_setting('search_path')) recurring '@yearly'")
			c.must("create schedule fails for select 1 / count(*) from ran where who = 'nobody' recurring '@yearly'")
			c.must("create schedule trains for train or replace model m using linear_regression predict y as select x, y from rows recurring '@yearly'")
			ran := func(name string, runs int64) *catalog.Schedule {
				for {
					changed := nodes[n-1].raft.Changed()
					for _, s := range catalog.Schedules(nodes[n-1].raft.Current()) {
						if s.Name == name && s.Runs == runs && !s.Running {
							return s
						}
					}
					<-changed
				}
			}
			for run := range int64(2) {
				for _, name := range []string{"s", "fails", "trains"} {
					c.must("alter schedule " + name + " run")
				}
				for name, code := range map[string]string{"s": "", "fails": "22012", "trains": ""} {
					if s := ran(name, run+1); s.Code != code || s.Node == 0 {
						t.Errorf("%s: %+v", name, s)
					}
				}
			}
			if got := c.must("select who, path, count(*) from ran group by 1, 2"); len(got) != 1 || got[0] != "worker|jobs, public|2" {
				t.Errorf("%q", got)
			}
			if got := c.must("select name, owner, version from ml.models"); len(got) != 1 || got[0] != "m|worker|2" {
				t.Errorf("%q", got)
			}
			c.must("reset role")
			if got := c.must("select subject, message from cluster.events where kind = 'schedule'"); len(got) != 2 || got[0] != "fails|division by zero" {
				t.Errorf("%q", got)
			}
		})
	}
}
