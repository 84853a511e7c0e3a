package node

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestLimitsOfRunningNodes changes the memory and threads of one node and of all; a cursor that is
// open meanwhile still returns its rows. A restarted node has the same limits, unless it is started
// with limits of its own.
func TestLimitsOfRunningNodes(t *testing.T) {
	nodes := start(t, 2)
	c := connect(t, nodes[0], spread)
	limits := func(n *Node) string { l := n.limits.Load(); return fmt.Sprintf("%dM %d", l.Memory>>20, l.Threads) }
	seen := func(want ...string) {
		t.Helper()
		got := c.must("select name || ' ' || memory_limit / 1048576 || 'M ' || threads from cluster.nodes order by 1")
		if !slices.Equal(got, want) {
			t.Errorf("cluster.nodes has %q, not %q", got, want)
		}
	}
	c.must("create table t with (partitions = 4) as select i, i % 1000 as k from generate_series(1, 100000) i")
	c.must("begin; declare d cursor for select * from t order by k, i; fetch 1 from d")
	c2 := connect(t, nodes[1])
	c2.must("alter node n2 set (memory = '256MiB', threads = 3)")
	seen("n1 1024M 2", "n2 256M 3")
	c2.must("alter system set memory = '300MB'")
	c2.must("alter system set threads = 1")
	seen("n1 300M 1", "n2 256M 3")
	if got := slices.Concat(c2.must("show memory"), c2.must("show threads"), connect(t, nodes[0]).must("show memory")); !slices.Equal(got, []string{"256MB", "3", "300MB"}) {
		t.Error(got)
	}
	if limit := nodes[0].pool.Limit(); limit >= 300<<20 {
		t.Errorf("the pool has %d bytes", limit)
	}
	if got := c.must("fetch 1 from d"); !slices.Equal(got, []string{"2000|0"}) {
		t.Error(got)
	}
	c.must("commit")
	if got := c.must("select count(*), sum(i) from (select i, row_number() over (order by k, i) from t) x"); !slices.Equal(got, []string{"100000|5000050000"}) {
		t.Error(got)
	}
	for sql, code := range map[string]pgerr.Code{
		"alter node n2 set (memory = '1MB')":      pgerr.InvalidParameterValue,
		"alter node n2 set (threads = 5000)":      pgerr.InvalidParameterValue,
		"alter node n2 set (work_mem = '1MB')":    pgerr.InvalidParameterValue,
		"alter node n2 set (nothing = 1)":         pgerr.UndefinedObject,
		"alter node n3 set (threads = 1)":         pgerr.UndefinedObject,
		"alter node n2 reset (memory":             pgerr.SyntaxError,
		"set memory = '1GB'":                      pgerr.CantChangeRuntimeParam,
		"begin; alter node n2 set (threads = 1)":  pgerr.ActiveSQLTransaction,
		"rollback; alter system set threads = -1": pgerr.InvalidParameterValue,
	} {
		x := connect(t, nodes[0])
		if _, err := x.do(sql); !pgerr.Is(err, code) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	// The node is restarted without and with limits of its own.
	for _, fixed := range []bool{false, true} {
		o := nodes[1].o
		if err := nodes[1].Close(); err != nil {
			t.Fatal(err)
		}
		o.FixedMemory, o.FixedThreads = fixed, fixed
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		again, err := Start(ctx, o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = again.Close() })
		nodes[1] = again
		want := "256M 3"
		if fixed {
			want = "1024M 2"
		}
		if got := limits(again); got != want {
			t.Errorf("fixed %v: it uses %s", fixed, got)
		}
	}
	c.must("alter node n2 reset (memory)")
	until(t, "n2 takes the cluster's memory", func() bool { return limits(nodes[1]) == "300M 3" })
	c.must("alter node n2 reset (threads)")
	c.must("alter system reset all")
	until(t, "all are as they were started", func() bool { return limits(nodes[0]) == "1024M 2" && limits(nodes[1]) == "1024M 2" })
}
