package resource

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// world is a catalog with a group of one role, 20000.
type world struct {
	t    *testing.T
	st   *catalog.State
	pool *mem.Pool
	*Groups
}

func newWorld(t *testing.T, g catalog.ResourceGroup) *world {
	w := &world{t: t, st: catalog.New(), pool: mem.NewPool("n1", 1<<30)}
	w.Groups = New(w.pool, func() *catalog.State { return w.st })
	g.OID, g.Name = 20001, "g"
	w.apply(&catalog.PutResourceGroup{Group: &g}, &catalog.PutRole{Role: &catalog.Role{OID: 20000, Name: "r", ResourceGroup: 20001}})
	return w
}

func (w *world) apply(cs ...catalog.Change) {
	w.t.Helper()
	st, err := w.st.Apply(cs)
	if err != nil {
		w.t.Fatal(err)
	}
	w.st = st
}

// change sets the group's limits anew.
func (w *world) change(set func(*catalog.ResourceGroup)) {
	w.t.Helper()
	old := catalog.ResourceGroupNamed(w.st, "g")
	g := *old
	set(&g)
	w.apply(&catalog.PutResourceGroup{Group: &g, ExpectVersion: old.Version})
	w.Update()
}

// TestSlots: who waits is admitted in turn, as limits change too, and leaves when its statement is cancelled.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog.ResourceGroup{Concurrency: 1, Queue: 2})
		g := w.Of(20000)
		ctx, cancel := context.WithCancel(t.Context())
		first := g.Slot()
		if err := first.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		slots, ends := []*Slot{g.Slot(), g.Slot()}, []chan error{make(chan error, 1), make(chan error, 1)}
		for i, s := range slots {
			of := t.Context()
			if i == 0 {
				of = ctx
			}
			go func() { ends[i] <- s.Wait(of) }()
			synctest.Wait()
		}
		if slots[1].Place() != 2 {
			t.Error("place", slots[1].Place())
		}
		if err := g.Slot().Wait(ctx); !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) {
			t.Error(err)
		}
		cancel()
		if err := <-ends[0]; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if slots[1].Place() != 1 {
			t.Error("place", slots[1].Place())
		}
		w.change(func(x *catalog.ResourceGroup) { x.Concurrency = 2 })
		if err := <-ends[1]; err != nil {
			t.Error(err)
		}
		if u := w.Usage()[0]; u.Running != 2 || u.Queued != 0 || u.Admitted != 2 || u.Refused != 1 {
			t.Errorf("%+v", u)
		}
		first.Close()
		first.Force() // a statement that has ended takes nothing
		slots[1].Release()
		slots[1].Release()
		if u := w.Usage()[0]; u.Running != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// TestNoGroup: without a group nothing is limited.
func TestNoGroup(t *testing.T) {
	w := newWorld(t, catalog.ResourceGroup{})
	for _, g := range []*Group{w.Of(10), (*Groups)(nil).Of(20000)} {
		s := g.Slot()
		s.Force()
		s.Release()
		if g != nil || s.Wait(t.Context()) != nil || s.Place() != 0 || g.Begin(t.Context()) != nil || g.Threads(7) != 7 || g.Pool(w.pool) != w.pool {
			t.Errorf("%v", g)
		}
		s.Close()
	}
}

// TestPool: a group's memory follows the catalog, and a dropped group's pool is closed once nothing is in it.
func TestPool(t *testing.T) {
	w := newWorld(t, catalog.ResourceGroup{Memory: 64 << 20, Threads: 2})
	g := w.Of(20000)
	q := g.Pool(w.pool).Child("q", 0)
	if q.Limit() != 64<<20 || g.Threads(7) != 2 || g.Threads(1) != 1 {
		t.Error(q.Limit(), g.Threads(7))
	}
	w.change(func(x *catalog.ResourceGroup) { x.Memory = 32 << 20 })
	if q.Limit() != 32<<20 {
		t.Error(q.Limit())
	}
	w.apply(&catalog.PutRole{Role: &catalog.Role{OID: 20000, Name: "r"}}, &catalog.DropResourceGroup{OID: 20001})
	w.Update()
	if len(w.groups) != 1 || w.Of(20000) != nil {
		t.Error("a group with a statement is forgotten")
	}
	q.Close()
	w.Update()
	if len(w.groups) != 0 {
		t.Error("a dropped group stays")
	}
}

// TestBegin: statements come at the group's rate.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog.ResourceGroup{Rate: 10, Queue: 3})
		g := w.Of(20000)
		start := time.Now()
		for range 12 {
			if err := g.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Error(took)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Begin(ctx) }()
		synctest.Wait()
		if u := w.Usage()[0]; u.Delayed != 1 {
			t.Errorf("%+v", u)
		}
		cancel(pgerr.New(pgerr.QueryCanceled, "enough"))
		if err := <-ended; !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Error(err)
		}
	})
}

// TestBeginLeaves: statements that are cancelled while they wait for the rate keep nobody waiting.
func TestBeginLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog.ResourceGroup{Rate: 1, Queue: 15})
		g := w.Of(20000)
		if err := g.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 15)
		for range cap(ends) {
			go func() { ends <- g.Begin(ctx) }()
		}
		synctest.Wait()
		if err := g.Begin(t.Context()); !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) {
			t.Error("more may wait:", err)
		}
		cancel()
		for range cap(ends) {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		start := time.Now()
		if err := g.Begin(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
	})
}

// TestBeginHeeds: a new rate counts at once for those that wait, none of which is refused for it.
func TestBeginHeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog.ResourceGroup{Rate: 1, Queue: 15})
		g := w.Of(20000)
		if err := g.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		start, ends := time.Now(), make(chan error, 15)
		for range cap(ends) {
			go func() { ends <- g.Begin(t.Context()) }()
		}
		synctest.Wait()
		w.change(func(x *catalog.ResourceGroup) { x.Rate, x.Queue = 2, 0 })
		synctest.Wait()
		if u := w.Usage()[0]; u.Delayed != 13 || u.Refused != 0 {
			t.Errorf("%+v", u)
		}
		for range 4 { // two at once, and one each half second
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Error(took)
		}
		w.change(func(x *catalog.ResourceGroup) { x.Rate = 0 })
		for range 11 {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if u := w.Usage()[0]; u.Delayed != 0 || time.Since(start) != time.Second {
			t.Error(u.Delayed, time.Since(start))
		}
	})
}

// TestGiveWay: a training of low priority rests while plans are at work, three times as long as it worked, and no longer.
func TestGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog.ResourceGroup{LowTraining: true})
		rest := w.GiveWay(20000)()
		rested := func() time.Duration {
			time.Sleep(10 * time.Millisecond) // it works
			start := time.Now()
			rest(t.Context())
			return time.Since(start)
		}
		if d := rested(); d != 0 {
			t.Error("alone it rests", d)
		}
		w.Work(1)
		if d := rested(); d != 30*time.Millisecond {
			t.Error(d)
		}
		time.Sleep(time.Minute)
		if d := rested(); d != mostRest {
			t.Error(d)
		}
		w.change(func(x *catalog.ResourceGroup) { x.LowTraining = false })
		if d := rested(); d != 0 {
			t.Error(d)
		}
		w.change(func(x *catalog.ResourceGroup) { x.LowTraining = true })
		w.Work(-1)
		if d := rested(); d != 0 {
			t.Error(d)
		}
	})
}
