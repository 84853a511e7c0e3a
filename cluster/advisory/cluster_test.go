package advisory

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// common is the replicated table as one node sees it. Nodes of one cluster have the same log.
type common struct {
	*log
	id uint64

	// alone, apart and deaf are guarded by log.mu: the only node; no majority; operations are
	// applied and not answered.
	alone, apart, deaf bool
}

type log struct {
	mu      sync.Mutex
	table   *Table
	changed chan struct{}
}

func newLog() *log { return &log{table: NewTable(), changed: make(chan struct{})} }

func (c *common) ready() *log {
	if c.log == nil {
		c.log = newLog()
	}
	return c.log
}

func (c *common) Lock(_ context.Context, _ []catalog.Change, ops []Op) (Result, error) {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.apart {
		return Result{}, pgerr.New(pgerr.CannotConnectNow, "apart")
	}
	if err := l.table.Check(ops); err != nil {
		return Result{}, err
	}
	r, err := l.table.Apply(ops)
	close(l.changed)
	l.changed = make(chan struct{})
	if c.deaf {
		return Result{}, pgerr.New(pgerr.StatementCompletionUnknown, "deaf")
	}
	return r, err
}

func (c *common) Locks(f func(*Table)) {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.table)
}

func (c *common) Changed() <-chan struct{} {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (c *common) Barrier(ctx context.Context) error { return c.Renew(ctx) }

func (c *common) Renew(context.Context) error {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.apart {
		return errors.New("apart")
	}
	return nil
}

func (c *common) Alone() bool {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.alone
}

func (c *common) ID() uint64 { return c.id }

func (c *common) set(f func()) {
	l := c.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// TestShare: when a second node is admitted, the first node's locks and waits go on, in their order,
// for the sessions of both.
func TestShare(t *testing.T) {
	ctx := context.Background()
	one := &common{log: newLog(), id: 1, alone: true}
	two := &common{log: one.log, id: 2}
	first, second := New(one, time.Hour), New(two, time.Hour)
	defer first.Close()
	defer second.Close()
	key, other := Key{A: 7}, Key{A: 8, B: 9, Two: true}
	a, b := first.Holder(11, nil), first.Holder(12, nil)
	mustTry(t, a, key, false, true)
	mustTry(t, a, other, true, true)
	waits := wait(ctx, b, key, false)
	if n := len(one.table.Rows()); n != 0 {
		t.Fatal("the only node does not keep its locks in its memory:", n)
	}
	if err := first.Share(ctx); err != nil {
		t.Fatal(err)
	}
	one.set(func() { one.alone = false })
	c := second.Holder(21, nil)
	mustTry(t, c, key, false, false)
	mustTry(t, c, other, true, true)
	mustTry(t, c, other, false, false)
	for _, rows := range [][]Row{first.Rows(ctx), second.Rows(ctx)} {
		if len(rows) != 4 || rows[0].Owner.PID() != 11 || rows[1].Owner.PID() != 12 || rows[1].Granted || !rows[2].Shared || rows[3].Owner.PID() != 21 {
			t.Errorf("%+v", rows)
		}
	}
	third := wait(ctx, c, key, false)
	a.Release(ctx, Both)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	b.Release(ctx, Both)
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	c.Release(ctx, Both)
	if n := len(second.Rows(ctx)); n != 0 {
		t.Error(n, "locks are left")
	}
}

// TestDeadlockOfNodes: sessions of two nodes that wait for each other.
func TestDeadlockOfNodes(t *testing.T) {
	ctx := context.Background()
	one := &common{log: newLog(), id: 1}
	two := &common{log: one.log, id: 2}
	first, second := New(one, time.Hour), New(two, time.Hour)
	defer first.Close()
	defer second.Close()
	a, b := first.Holder(1, nil), second.Holder(1, nil)
	mustTry(t, a, Key{A: 1}, false, true)
	mustTry(t, b, Key{A: 2}, false, true)
	waits := wait(ctx, a, Key{A: 2}, false)
	if _, err := b.Lock(ctx, Key{A: 1}, function.AdvisoryMode{}, 0); !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	b.Release(ctx, Both)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
}

// TestLapse: a node that cannot renew its lease ends the sessions that have locks or wait, and no
// others, before it takes another lock; what its sessions had left is free again then.
func TestLapse(t *testing.T) {
	ctx := context.Background()
	c := &common{log: newLog(), id: 1}
	l := New(c, 80*time.Millisecond)
	defer l.Close()
	ended := make(chan uint32, 9)
	session := func(pid uint32) *Holder { return l.Holder(pid, func(*pgerr.Error) { ended <- pid }) }
	a, b := session(1), session(2)
	mustTry(t, a, Key{A: 1}, false, true)
	mustTry(t, b, Key{A: 1}, false, false)
	c.set(func() { c.apart = true })
	if pid := <-ended; pid != 1 {
		t.Fatal("session", pid)
	}
	if _, err := b.Lock(ctx, Key{A: 2}, function.AdvisoryMode{}, 0); !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Fatal(err)
	}
	c.set(func() { c.apart = false })
	mustTry(t, b, Key{A: 1}, false, true)
	// The first session, which has not noticed yet, commits nothing and gives nothing away.
	if checked, err := a.Commit(ctx, nil); !checked || !pgerr.Is(err, pgerr.AdminShutdown) {
		t.Fatal(checked, err)
	}
	a.Release(ctx, Both)
	mustTry(t, session(3), Key{A: 1}, false, false)
}

// TestEndedByTheLeader: a session whose node's life was ended elsewhere loses its locks, waits no
// more and may not take others; a session that had none goes on.
func TestEndedByTheLeader(t *testing.T) {
	ctx := context.Background()
	c := &common{log: newLog(), id: 1}
	two := &common{log: c.log, id: 2}
	l, m := New(c, time.Hour), New(two, time.Hour)
	defer l.Close()
	defer m.Close()
	ended := make(chan uint32, 9)
	session := func(pid uint32) *Holder { return l.Holder(pid, func(*pgerr.Error) { ended <- pid }) }
	a, b, idle, other := session(1), session(2), session(3), m.Holder(1, nil)
	mustTry(t, other, Key{A: 9}, false, true)
	mustTry(t, a, Key{A: 1}, false, true)
	waits := wait(ctx, b, Key{A: 9}, false)
	if _, err := two.Lock(ctx, nil, []Op{{Kind: EndLife, Owner: Owner{Gateway: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !pgerr.Is(err, pgerr.AdminShutdown) {
		t.Fatal(err)
	}
	if pid := <-ended; pid != 2 {
		t.Fatal(pid)
	}
	if _, err := a.Lock(ctx, Key{A: 5}, function.AdvisoryMode{}, 0); !pgerr.Is(err, pgerr.AdminShutdown) {
		t.Fatal(err)
	}
	if pid := <-ended; pid != 1 {
		t.Fatal(pid)
	}
	mustTry(t, idle, Key{A: 1}, false, true)
	mustTry(t, other, Key{A: 1}, false, false)
}

// TestNoAnswer: a session that does not learn whether it got a lock has none; nor has one that could
// not give it back kept it once there is an answer again.
func TestNoAnswer(t *testing.T) {
	ctx := context.Background()
	c := &common{log: newLog(), id: 1}
	l := New(c, 40*time.Millisecond)
	defer l.Close()
	a, b := l.Holder(1, nil), l.Holder(2, nil)
	c.set(func() { c.deaf = true })
	if _, err := a.Lock(ctx, Key{A: 1}, function.AdvisoryMode{}, 0); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Fatal(err)
	}
	c.set(func() { c.deaf = false })
	for len(l.Rows(context.Background())) > 0 { // by what renews the lease
		runtime.Gosched()
	}
	mustTry(t, a, Key{A: 1}, true, true)
	c.set(func() { c.deaf = true })
	a.Release(ctx, Both)
	c.set(func() { c.deaf = false })
	mustTry(t, b, Key{A: 1}, false, true)
	mustTry(t, a, Key{A: 1}, true, false)
	mustTry(t, a, Key{A: 2}, true, true)
}

// TestLockTimeout: a wait ends by lock_timeout, with PostgreSQL's error.
func TestLockTimeout(t *testing.T) {
	l := New(&common{id: 1}, time.Hour)
	defer l.Close()
	a, b := l.Holder(1, nil), l.Holder(2, nil)
	mustTry(t, a, Key{A: 1}, false, true)
	if held, err := b.Lock(context.Background(), Key{A: 1}, function.AdvisoryMode{Shared: true}, time.Millisecond); held || !pgerr.Is(err, pgerr.LockNotAvailable) {
		t.Fatal(held, err)
	}
	if rows := l.Rows(context.Background()); len(rows) != 1 {
		t.Error(rows)
	}
}

// TestImage: a table that was written down goes on as the one that was not.
func TestImage(t *testing.T) {
	a := NewTable()
	ops := []Op{
		{Kind: Take, Owner: Owner{1, 0, 1}, Key: Key{A: 1}},
		{Kind: Take, Owner: Owner{2, 0, 1}, Key: Key{A: 1}, Shared: true, Wait: true},
		{Kind: Take, Owner: Owner{2, 0, 2}, Key: Key{A: 1}, Shared: true, Wait: true},
		{Kind: Take, Owner: Owner{2, 0, 3}, Key: Key{A: -4, B: 3, Two: true}, Shared: true},
	}
	if _, err := a.Apply(ops); err != nil {
		t.Fatal(err)
	}
	b := a.Image().Table()
	for _, x := range []*Table{a, b} {
		x.EndLife(1)
		if x.Life(1) != 1 || x.size != 3 || len(x.waits) != 0 || !x.State(Owner{2, 0, 2}, Key{A: 1}, true).Held {
			t.Errorf("%+v", x.Rows())
		}
		x.EndLife(2)
		if x.size != 0 || len(x.Image().Locks) != 0 {
			t.Errorf("%+v", x.Rows())
		}
	}
}
