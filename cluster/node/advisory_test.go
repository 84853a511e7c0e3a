package node

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// waits starts a statement that has to wait for a lock, and returns a channel with its result.
func waits(c *client, sql string) <-chan error {
	out := make(chan error, 1)
	go func() {
		_, err := c.do(sql)
		out <- err
	}()
	return out
}

// TestAdvisoryLocks: two sessions, of one node, of two nodes, and of a node that was alone when the
// first lock was taken.
func TestAdvisoryLocks(t *testing.T) {
	t.Run("one node", func(t *testing.T) {
		n := start(t, 1)[0]
		advisoryLocks(t, connect(t, n), connect(t, n))
	})
	nodes := start(t, 3)
	for i := range nodes {
		t.Run(fmt.Sprint("three nodes, from ", i), func(t *testing.T) {
			advisoryLocks(t, connect(t, nodes[i]), connect(t, nodes[(i+1)%3]))
		})
	}
	if rows := connect(t, nodes[0]).must("select count(*) from pg_locks where locktype = 'advisory'"); rows[0] != "0" {
		t.Error(rows, "locks are left")
	}
}

// TestAdvisoryLocksOfALostNode: the locks of a node's sessions are others' once it has gone, and at once
// when a session or its node ends in order.
func TestAdvisoryLocksOfALostNode(t *testing.T) {
	nodes := start(t, 3, func(o *Options) { o.Heartbeat, o.DeadAfter = heartbeat/2, deadAfter/2 }) // the ends of leases are waited for
	for _, i := range []int{2, 0} {                                                                // a follower; the first, which leads
		a, b := connect(t, nodes[i]), connect(t, nodes[1])
		a.must("select pg_advisory_lock(1), pg_advisory_lock_shared(-7, 3)")
		for k, n := range nodes {
			if n == nil {
				continue
			}
			got := connect(t, n).must("select classid, objid, objsubid, mode, granted, pid > 0 from pg_locks where locktype = 'advisory' order by objsubid")
			if want := []string{"0|1|1|ExclusiveLock|t|t", "4294967289|3|2|ShareLock|t|t"}; !slices.Equal(got, want) {
				t.Errorf("node %d: %v", k, got)
			}
		}
		waiting := waits(b, "select pg_advisory_lock(1)")
		if err := nodes[i].Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; err != nil {
			t.Fatal(err)
		}
		b.must("select pg_advisory_unlock_all()")
		if i == 2 {
			again := nodes[i].o
			again.ListenCluster = nodes[i].ClusterAddr()
			var err error
			if nodes[i], err = Start(context.Background(), again); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = nodes[i].Close() })
		}
	}
}

// TestAdvisoryLocksOfAGrowingCluster: locks that a node gave while it was alone hold for the
// second node too.
func TestAdvisoryLocksOfAGrowingCluster(t *testing.T) {
	one := start(t, 1)
	a, b := connect(t, one[0]), connect(t, one[0])
	a.must("select pg_advisory_lock(1)")
	waiting := waits(b, "select pg_advisory_lock(1)")
	sees(t, a, "Lock|advisory", "select wait_event_type, wait_event from pg_stat_activity where wait_event_type = 'Lock'")
	with := one[0].o
	with.Data, with.Name, with.Join, with.Secret = t.TempDir(), "n2", []string{one[0].ClusterAddr()}, one[0].secret(t)
	two, err := Start(context.Background(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = two.Close() })
	c := connect(t, two)
	if got := c.must("select pg_try_advisory_lock(1)"); got[0] != "f" {
		t.Fatal("two nodes have it")
	}
	a.must("select pg_advisory_unlock(1)")
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	if got := c.must("select pg_try_advisory_lock(1)"); got[0] != "f" {
		t.Fatal("two nodes have it")
	}
	// A wait ends by lock_timeout, by statement_timeout, and with the other's end.
	for set, code := range map[string]pgerr.Code{"lock_timeout": pgerr.LockNotAvailable, "statement_timeout": pgerr.QueryCanceled} {
		c.must("set " + set + " = 20")
		if _, err := c.do("select pg_advisory_lock(1)"); !pgerr.Is(err, code) {
			t.Error(set, err)
		}
		c.must("reset " + set)
	}
	third := waits(c, "select pg_advisory_lock(1)")
	_ = b.s.Close()
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	// A transaction's lock is free as soon as it has ended.
	c.must("select pg_advisory_unlock_all()")
	c.must("begin; select pg_advisory_xact_lock(5); commit")
	if got := a.must("select pg_try_advisory_lock(5)"); got[0] != "t" {
		t.Error("it outlived the transaction")
	}
}

func advisoryLocks(t *testing.T, a, b *client) {
	one := func(c *client, sql string) string { t.Helper(); return c.must(sql)[0] }
	a.must("select pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(2, 3)")
	for sql, want := range map[string]string{
		"select pg_try_advisory_lock(1)":           "f",
		"select pg_try_advisory_lock(0, 1)":        "t", // two int4 keys are another lock than one bigint
		"select pg_try_advisory_lock(2, 3)":        "f",
		"select pg_try_advisory_lock_shared(2, 3)": "t",
		"select pg_try_advisory_xact_lock(9)":      "t",
	} {
		if got := one(b, sql); got != want {
			t.Errorf("%s gave %s", sql, got)
		}
	}
	if got := one(a, "select pg_try_advisory_lock(9)"); got != "t" {
		t.Error("a transaction's lock outlived it")
	}
	// a took the lock twice, so b gets it only after the second release.
	if got := one(a, "select pg_advisory_unlock(1)"); got != "t" {
		t.Error("a did not have the lock")
	}
	if got := one(b, "select pg_try_advisory_lock(1)"); got != "f" {
		t.Error("a lock held twice was given away after one release")
	}
	got := waits(b, "select pg_advisory_lock(1)")
	if got := one(a, "select pg_advisory_unlock(1)"); got != "t" {
		t.Error("a lock held twice was lost after one release")
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if got := one(a, "select pg_advisory_unlock(1)"); got != "f" {
		t.Error("a gave back what it has not")
	}
	// If two sessions wait for each other, one gets a deadlock error.
	a.must("select pg_advisory_lock(50)")
	b.must("select pg_advisory_lock(51)")
	x, y := waits(a, "select pg_advisory_lock(51)"), waits(b, "select pg_advisory_lock(50)")
	var victim error
	var other <-chan error
	var loser *client
	select {
	case victim = <-x:
		other, loser = y, a
	case victim = <-y:
		other, loser = x, b
	}
	if pgerr.CodeOf(victim) != pgerr.DeadlockDetected {
		t.Fatal("no deadlock was seen:", victim)
	}
	loser.must("select pg_advisory_unlock_all()")
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	// A waiting session can be cancelled, and a session's end releases its locks.
	a.must("select pg_advisory_unlock_all()")
	b.must("select pg_advisory_unlock_all(), pg_advisory_lock(7)")
	ctx, cancel := context.WithCancel(context.Background())
	pieces, err := a.s.Script(context.Background(), "select pg_advisory_lock(7)")
	if err != nil {
		t.Fatal(err)
	}
	st, err := a.s.Prepare(ctx, pieces[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := st.Bind(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := p.Next(ctx); err == nil {
		t.Error("a cancelled statement took a lock that another has")
	}
	_ = a.s.Sync(context.Background(), false)
	_ = b.s.Close()
	if got := one(a, "select pg_try_advisory_lock(7)"); got != "t" {
		t.Error("a lock outlived its session")
	}
	_ = a.s.Close()
}
