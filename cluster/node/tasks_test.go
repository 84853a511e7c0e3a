package node

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestThreshold: a plan that reads fewer rows than tributary.distribute_rows, or costs less than
// tributary.distribute_cost, runs on the gateway alone.
func TestThreshold(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0])
	if got := c.must("show tributary.distribute_rows"); !slices.Equal(got, []string{"100000"}) {
		t.Error(got)
	}
	if got := c.must("select setting from cluster.settings where name = 'tributary.distribute_rows'"); !slices.Equal(got, []string{"100000"}) {
		t.Error(got)
	}
	c.must("create table t as select g as id from generate_series(1, 5000) g; insert into t select id + 5000 from t")
	c.must("set tributary.distribute_cost = 0")
	for _, x := range []struct {
		rows, where string
		spread      bool
	}{
		{"100000", "true", false}, {"10001", "true", false}, {"10000", "true", true}, {"0", "true", true},
		// Only segments that may have matching rows, by their zone maps, are counted.
		{"5001", "id > 6000", false}, {"5000", "id > 6000", true},
	} {
		c.must("set tributary.distribute_rows = " + x.rows)
		plan := strings.Join(c.must("explain (costs off) select sum(id) from t where "+x.where), "\n")
		if strings.Contains(plan, "on 3 nodes") != x.spread {
			t.Errorf("from %s rows on, where %s:\n%s", x.rows, x.where, plan)
		}
	}
	c.must("set tributary.distribute_rows = 1")
	for cost, spread := range map[string]bool{"10000": true, "1000000": false} {
		c.must("set tributary.distribute_cost = " + cost)
		if plan := strings.Join(c.must("explain (costs off) select sum(id) from t"), "\n"); strings.Contains(plan, "on 3 nodes") != spread {
			t.Errorf("from a cost of %s on:\n%s", cost, plan)
		}
	}
	if _, err := c.do("set tributary.distribute_rows = -1"); err == nil {
		t.Error("a negative number of rows is taken")
	}
}

// TestExplainAnalyze: EXPLAIN ANALYZE shows the sums of all nodes' tasks.
func TestExplainAnalyze(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[2], spread)
	c.must("create table t as select g as id, g % 7 as a from generate_series(1, 20000) g; insert into t select * from t")
	plan := strings.Join(c.must("explain analyze select a, count(*) from t group by a"), "\n")
	for _, want := range []string{`Seq Scan on t .*rows=40000 loops=3 `, `Gather from stage 1 on 3 nodes`, `Stages: 2`, `  Stage 0: 1 task, rows=7 `, `  Stage 1: 3 tasks, rows=\d+ .* memory=[1-9]\d*kB spilled=0kB network=[1-9]\d*kB`, `Network: [1-9]\d*kB in 2 messages`, `Memory: `} {
		if !regexp.MustCompile(want).MatchString(plan) {
			t.Errorf("no %q in\n%s", want, plan)
		}
	}
}

// TestTasks: cluster.tasks lists the tasks of all nodes.
func TestTasks(t *testing.T) {
	nodes := start(t, 3)
	c, other := connect(t, nodes[0], spread), connect(t, nodes[0])
	c.must(big)
	p, err := c.query("select x.b, y.b from big x join big y on x.a = y.a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	const tasks = "select node, stage, query, statement from cluster.tasks where query like 'select x.%' order by 1, 2"
	if got := other.must(tasks); len(got) < 2 || !strings.HasPrefix(got[0], "n1|0|select x.b, y.b") || !strings.HasPrefix(got[1], "n1|1|") {
		t.Errorf("%q", got)
	}
	// Nodes report their tasks with heartbeats. The tasks run on, since flow control does not let
	// them send all rows to a client that does not read.
	far := connect(t, nodes[1])
	for deadline := time.Now().Add(time.Minute); ; {
		got := far.must("select distinct node from cluster.tasks where query like 'select x.%' order by 1")
		if slices.Equal(got, []string{"n1", "n2", "n3"}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q", got)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.s.Sync(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if got := other.must("select * from cluster.tasks where query like 'select x.%' and node = 'n1'"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
