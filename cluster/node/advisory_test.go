package node

import (
	"context"
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

func TestAdvisoryLocks(t *testing.T) {
	n := start(t, 1)[0]
	a, b := connect(t, n), connect(t, n)
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
}
