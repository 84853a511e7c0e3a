package pg

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/wire/session"
)

// patientForSilence waits for clients longer than any test does.
func patientForSilence(o *Options) { o.StartupTimeout = time.Hour }

// TestSilentSockets: sockets that say nothing keep nobody out, whatever time they
// have; the oldest lose their places to the newest.
func TestSilentSockets(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, patientForSilence)
	before := connect(t, addr)
	before.send(&pgproto3.Query{String: "wait"})
	eventually(t, "it runs", func() bool { return e.running() == 1 })
	silent := make([]*client, 2000)
	for i := range silent {
		silent[i] = dial(t, addr)
	}
	connect(t, addr).alive()
	before.cancel(addr, before.key)
	before.wants("E ERROR 57014", "ZI")
	before.alive()
	silent[0].gone("")
	last := silent[len(silent)-1]
	last.raw(startupBytes(protocol30, "user", "ann"))
	last.opened().alive()
}

// TestSilentPasswords: who stops in the middle of a login is as silent as who has
// not begun one.
func TestSilentPasswords(t *testing.T) {
	e := &fakeEngine{password: "secret"}
	addr := serveFake(t, withPassword{e}, func(o *Options) {
		patientForSilence(o)
		o.MaxUnopened = 4
	})
	c := dialAs(t, addr, "ann")
	if _, ok := c.read().(*pgproto3.AuthenticationSASL); !ok {
		t.Fatal("no password is asked for")
	}
	eventually(t, "newer ones push it out", func() bool {
		dial(t, addr)
		_ = c.nc.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := c.nc.Read(make([]byte, 1))
		return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	})
}

// slowLogin holds logins back until it is released.
type slowLogin struct {
	*fakeEngine
	begun, goOn chan struct{}
}

func (e slowLogin) Authenticate(ctx context.Context, role string, fresh bool) (session.Login, error) {
	e.begun <- struct{}{}
	select {
	case <-e.goOn:
	case <-ctx.Done():
	}
	return e.fakeEngine.Authenticate(ctx, role, fresh)
}

// TestSilentSocketsSpareLogins: a client that has spoken is not pushed out by those
// that have not, however long the server takes.
func TestSilentSocketsSpareLogins(t *testing.T) {
	e := slowLogin{&fakeEngine{}, make(chan struct{}), make(chan struct{})}
	addr := serveFake(t, e, func(o *Options) {
		patientForSilence(o)
		o.MaxUnopened = 4
	})
	c := dialAs(t, addr, "ann")
	<-e.begun
	first := dial(t, addr)
	for range 100 {
		dial(t, addr)
	}
	first.gone("")
	close(e.goOn)
	c.opened().alive()
}

// TestUnopened compares with the slow way: to look for the oldest of all.
func TestUnopened(t *testing.T) {
	type place struct {
		c       *conn
		working bool
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		u := unopened{places: 1 + rnd.IntN(5)}
		conns := make([]*conn, 12)
		for i := range conns {
			conns[i] = &conn{pid: uint32(i)}
		}
		var held []place // by when they entered
		remove := func(c *conn) {
			held = slices.DeleteFunc(held, func(p place) bool { return p.c == c })
		}
		for step := range 200 {
			c := conns[rnd.IntN(len(conns))]
			remove(c)
			if rnd.IntN(4) == 0 {
				u.leave(c)
				continue
			}
			working := rnd.IntN(2) == 0
			var want *conn
			n := 0
			for _, p := range held {
				if p.working == working {
					if n++; n == 1 {
						want = p.c
					}
				}
			}
			if n < u.places {
				want = nil
			}
			remove(want)
			held = append(held, place{c, working})
			if got := u.enter(c, working); got != want {
				t.Fatalf("step %d: %v is pushed out, not %v", step, got, want)
			}
			if len(u.silent)+len(u.working) != len(held) || max(len(u.silent), len(u.working)) > u.places {
				t.Fatalf("step %d: %d and %d are held, want %d", step, len(u.silent), len(u.working), len(held))
			}
		}
	}
}
