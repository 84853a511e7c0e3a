package pg

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/session"
)

// withSuper is a fakeEngine with the role ann and the superuser root, who have the same password.
type withSuper struct{ *fakeEngine }

func (e withSuper) Authenticate(_ context.Context, role string, _ bool) (session.Login, error) {
	if role != "ann" && role != "root" {
		return session.Login{}, nil
	}
	v, err := auth.Verifier(e.password)
	return session.Login{Exists: true, CanLogin: true, Super: role == "root", Verifier: v}, err
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func (l *lockedBuffer) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

// TestAuditOfLogins: each failed login and each login of a superuser is one audit record. Other
// logins, and clients that disconnect when a password is requested, as psql does before it prompts for
// one, are not recorded. No log contains a password.
func TestAuditOfLogins(t *testing.T) {
	var audit, log lockedBuffer
	addr := serveFake(t, withSuper{&fakeEngine{password: "geheim"}}, func(o *Options) {
		o.Audit, o.Log = slog.New(slog.NewJSONHandler(&audit, nil)), slog.New(slog.NewJSONHandler(&log, nil))
	})
	for _, x := range []struct{ user, password, want string }{
		{"root", "geheim", "INFO root LOGIN ok"},
		{"ann", "geheim", ""},
		{"root", "geheimer", "WARN root LOGIN 28P01"},
		{"ann", "geheimer", "WARN ann LOGIN 28P01"},
		{"nobody", "geheim", "WARN nobody LOGIN 28P01"},
	} {
		c, err := pgx.ConnectConfig(t.Context(), pgxConfig(t, addr, x.user, x.password, "disable"))
		if err == nil {
			_ = c.Close(t.Context())
		}
		text := audit.take()
		got := ""
		for line := range strings.Lines(text) {
			var rec struct {
				Level, Msg string
				Audit      struct {
					Session                                          uint64
					User, Role, Database, Address, Statement, Result string
				}
			}
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			a := rec.Audit
			host, _, err := net.SplitHostPort(a.Address)
			if rec.Msg != "audit" || a.Session == 0 || a.Role != a.User || a.Database == "" || err != nil || host != "127.0.0.1" {
				t.Errorf("a record of a login is %s", line)
			}
			got += strings.Join([]string{rec.Level, a.User, a.Statement, a.Result}, " ")
		}
		if got != x.want {
			t.Errorf("%s with %s left %q, not %q", x.user, x.password, got, x.want)
		}
		if all := text + log.take(); strings.Contains(all, "geheim") {
			t.Errorf("a password is in a log: %s", all)
		}
	}
}

// TestLongNames: what a client without a login sends is no longer in a log than a name may be.
func TestLongNames(t *testing.T) {
	var audit lockedBuffer
	addr := serveFake(t, withSuper{&fakeEngine{password: "geheim"}}, func(o *Options) { o.Audit = slog.New(slog.NewTextHandler(&audit, nil)) })
	long := strings.Repeat("\x01\u00e9\u2028", 700)
	c := dial(t, addr)
	c.raw(startupBytes(protocol30, "user", long, "database", long))
	if m, ok := c.read().(*pgproto3.AuthenticationSASL); !ok {
		t.Fatalf("%T", m)
	}
	c.raw([]byte("p\x00\x00\x00\x04"))
	c.gone("08P01")
	eventually(t, "the record is written", func() bool { return audit.len() > 0 })
	if text := audit.take(); len(text) > 2000 {
		t.Errorf("a failed login leaves %d bytes: %.300s", len(text), text)
	}
}
