package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// admitted is a statement with an admission of its own.
type admitted struct {
	*worker.Statement
	adm  *worker.Admission
	pool *mem.Pool
}

func (c *cluster) admitted(node int, id string, role types.OID) *admitted {
	n := c.nodes[node-1]
	g := n.worker.Gateway(c.members)
	a := &admitted{pool: n.pool.Child(id, 0)}
	a.adm = g.Admission(role, a.pool)
	a.Statement = g.Statement(id, catalog.New(), a.pool, envOf(), worker.Options{Admission: a.adm})
	return a
}

func (a *admitted) sum(ctx context.Context) error {
	p := sumPlan()
	r, err := a.Execute(ctx, p, nil)
	if err != nil {
		return err
	}
	_, err = rowsOf(ctx, r, p.Stages[0].Root.Schema())
	return errors.Join(err, r.Close())
}

func (a *admitted) close() int64 {
	a.Statement.Close()
	a.adm.Close()
	return a.pool.Close()
}

// until waits for a condition that another goroutine makes true.
func until(ok func() bool) {
	for !ok() {
		runtime.Gosched()
	}
}

// full occupies a ticket of the node and most of its memory until the returned function is called.
func (n *node) full() func() {
	pool := n.pool.Child("full", 0)
	t := pool.Ticket(1, 1)
	t.Force()
	other := n.pool.Child("other", 0)
	other.Account("rows", false).Take(n.pool.Limit() * 6 / 10)
	return func() {
		other.Close()
		t.Close()
		pool.Close()
	}
}

func (c *cluster) idle(t *testing.T) {
	t.Helper()
	for _, n := range c.nodes {
		if a := n.pool.Admissions(); n.pool.Used() != 0 || a.Holding+a.Queued != 0 {
			t.Errorf("node %d: %d bytes, %+v", n.id, n.pool.Used(), a)
		}
	}
}

// TestAdmission: a plan waits in the queue of a node that is short of memory, reports its position
// there, and starts on no node before all have admitted it. A cancel removes it from the queue.
func TestAdmission(t *testing.T) {
	for _, at := range []int{1, 2} {
		for _, stop := range []error{nil, errors.New("stop")} {
			g := newGate(2)
			c := gated(t, g, 2)
			asked := g.asked[1]
			g.open(1, 2)
			free := c.nodes[at-1].full()
			s := c.admitted(1, "queued", 10)
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			go func() { done <- s.sum(ctx) }()
			until(func() bool {
				node, place := s.adm.Place()
				return place == 1 && (at == 1 && node == "" || node == fmt.Sprint("n", at))
			})
			select {
			case <-asked:
				t.Fatal("it began")
			default:
			}
			if stop != nil {
				cancel(stop)
				if err := <-done; err != stop {
					t.Error(err)
				}
				free()
			} else {
				free()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			cancel(nil)
			if _, place := s.adm.Place(); place != 0 {
				t.Error("it has a place still")
			}
			if n := s.close(); n != 0 {
				t.Errorf("%d bytes are left", n)
			}
			until(func() bool { return c.nodes[1].pool.Admissions().Holding == 0 }) // its part on node 2 ends asynchronously
			c.idle(t)
		}
	}
}

// TestAdmissionOfMany: statements of all nodes, each of which needs all nodes, do not deadlock
// although each node admits only one at a time.
func TestAdmissionOfMany(t *testing.T) {
	g := newGate(3)
	c := newCluster(t, 3, 30<<20, func(n uint64) op.Sources { return gateOf{g, n} }, func(*plan.Source) int { return partsOf })
	g.open(1, 2, 3)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			s := c.admitted(i%3+1, fmt.Sprint("s", i), types.OID(10+i%2))
			if err := s.sum(context.Background()); err != nil {
				t.Error(err)
			}
			if n := s.close(); n != 0 {
				t.Errorf("%d bytes are left", n)
			}
		})
	}
	wg.Wait()
	c.idle(t)
	for _, n := range c.nodes {
		if a := n.pool.Admissions(); a.Total < 24 {
			t.Errorf("node %d admitted %d", n.id, a.Total)
		}
	}
}

// TestAdmissionRests: a statement that waits for its client occupies no admission on any node, and
// continues without waiting in a queue.
func TestAdmissionRests(t *testing.T) {
	g := newGate(2)
	c := newCluster(t, 2, 30<<20, func(n uint64) op.Sources { return gateOf{g, n} }, func(*plan.Source) int { return partsOf })
	holding := func(n int) func() bool {
		return func() bool {
			return c.nodes[0].pool.Admissions().Holding == n && c.nodes[1].pool.Admissions().Holding == n
		}
	}
	ctx := context.Background()
	s, p := c.admitted(1, "rests", 10), sumPlan()
	r, err := s.Execute(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	until(holding(1))
	s.adm.Rest()
	until(holding(0))
	other := c.admitted(2, "other", 10)
	got := make(chan error, 1)
	go func() { got <- other.sum(ctx) }()
	until(holding(1))
	s.adm.Resume()
	until(holding(2))
	g.open(1, 2)
	if _, err := rowsOf(ctx, r, p.Stages[0].Root.Schema()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), <-got); err != nil {
		t.Error(err)
	}
	other.close()

	// A plan that starts while its statement's admission rests takes tickets, and releases them the
	// next time the admission rests.
	s.adm.Rest()
	if err := s.sum(ctx); err != nil {
		t.Error(err)
	}
	s.adm.Rest()
	if a := c.nodes[0].pool.Admissions(); a.Holding != 0 || c.nodes[0].pool.Used() != 0 {
		t.Errorf("%+v, %d bytes", a, c.nodes[0].pool.Used())
	}
	s.close()
	c.idle(t)
}
