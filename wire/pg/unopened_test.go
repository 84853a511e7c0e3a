package pg

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/wire/session"
)

// patientForSilence sets a startup timeout longer than any test, so that only other limits close
// connections.
func patientForSilence(o *Options) { o.StartupTimeout = time.Hour }

// TestSilentSockets: connections that send nothing do not keep other clients out, even without a
// timeout: their number is limited, and a new one replaces the oldest.
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

// TestSilentPasswords: a client that stops in the middle of a login, where the server waits for its
// password, can be replaced as one that has sent nothing.
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

// slowLogin delays logins until goOn is closed.
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

// TestSilentSocketsSpareLogins: a client whose login the server is working on is not replaced by
// clients that have sent nothing, however long the login takes.
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
