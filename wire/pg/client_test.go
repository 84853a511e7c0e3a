package pg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/wire/session"
)

// patience is the longest that a test's connection lasts, on the busiest of machines; a longer one counts as a hang.
const patience = 2 * time.Minute

// serveFake runs a server over e and returns its address.
func serveFake(t testing.TB, e session.Engine, change func(*Options)) string {
	t.Helper()
	o := Options{Engine: e, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Close(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// client sends and receives single messages of the protocol.
type client struct {
	t   testing.TB
	nc  net.Conn
	fe  *pgproto3.Frontend
	pid uint32
	key []byte
}

// dial opens a connection and sends nothing.
func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetReadDeadline(time.Now().Add(patience))
	return &client{t: t, nc: nc, fe: pgproto3.NewFrontend(nc, nc)}
}

// dialAs opens a connection and sends the startup message of this user.
func dialAs(t testing.TB, addr, user string) *client {
	t.Helper()
	c := dial(t, addr)
	c.raw(startupBytes(protocol30, "user", user, "database", "tributary"))
	return c
}

// connect opens a session of the role ann.
func connect(t testing.TB, addr string) *client {
	t.Helper()
	return dialAs(t, addr, "ann").opened()
}

// opened reads to the end of a successful startup.
func (c *client) opened() *client {
	t := c.t
	t.Helper()
	for {
		switch m := c.read().(type) {
		case *pgproto3.BackendKeyData:
			c.pid, c.key = m.ProcessID, append([]byte(nil), m.SecretKey...)
		case *pgproto3.ReadyForQuery:
			return c
		case *pgproto3.ErrorResponse:
			t.Fatalf("startup: %s %s", m.Code, m.Message)
		}
	}
}

// cancel sends a cancel request for the statement of c, and waits until the server closes that
// connection.
func (c *client) cancel(addr string, key []byte) {
	c.t.Helper()
	k := dial(c.t, addr)
	msg := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 16}, codeCancel)
	k.raw(append(binary.BigEndian.AppendUint32(msg, c.pid), key...))
	k.gone("")
}

func startupBytes(version uint32, pairs ...string) []byte {
	body := binary.BigEndian.AppendUint32(nil, version)
	for _, p := range pairs {
		body = append(append(body, p...), 0)
	}
	body = append(body, 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
}

func (c *client) raw(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(ms ...pgproto3.FrontendMessage) {
	c.t.Helper()
	for _, m := range ms {
		c.fe.Send(m)
	}
	if err := c.fe.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read() pgproto3.BackendMessage {
	c.t.Helper()
	m, err := c.fe.Receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// say formats a message as the tests compare it.
func say(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ReadyForQuery:
		return "Z" + string(m.TxStatus)
	case *pgproto3.CommandComplete:
		return "C " + string(m.CommandTag)
	case *pgproto3.ErrorResponse:
		return "E " + m.Severity + " " + m.Code
	case *pgproto3.NoticeResponse:
		return "N " + m.Message
	case *pgproto3.ParameterStatus:
		return "S " + m.Name + "=" + m.Value
	case *pgproto3.RowDescription:
		var names []string
		for _, f := range m.Fields {
			names = append(names, fmt.Sprintf("%s:%d/%d", f.Name, f.DataTypeOID, f.Format))
		}
		return "T " + strings.Join(names, " ")
	case *pgproto3.ParameterDescription:
		return fmt.Sprint("t ", m.ParameterOIDs)
	case *pgproto3.DataRow:
		var vals []string
		for _, v := range m.Values {
			if v == nil {
				vals = append(vals, "NULL")
			} else {
				vals = append(vals, string(v))
			}
		}
		return "D " + strings.Join(vals, "|")
	case *pgproto3.CopyData:
		return "d " + strings.TrimSpace(string(m.Data))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

// until reads messages up to the one that say formats as last.
func (c *client) until(last string) []string {
	c.t.Helper()
	var out []string
	for {
		s := say(c.read())
		out = append(out, s)
		if s == last {
			return out
		}
		if len(out) > 100000 {
			c.t.Fatalf("no %q in sight", last)
		}
	}
}

// wants reads as many messages as are listed and compares them.
func (c *client) wants(want ...string) {
	c.t.Helper()
	for i, w := range want {
		if got := say(c.read()); got != w {
			c.t.Fatalf("message %d is %q, want %q", i, got, w)
		}
	}
}

// gone reads until the connection ends, and requires a FATAL error of this code before that unless
// code is empty.
func (c *client) gone(code string) {
	c.t.Helper()
	seen := false
	for {
		m, err := c.fe.Receive()
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				c.t.Fatal("the connection stays open")
			}
			break
		}
		if e, ok := m.(*pgproto3.ErrorResponse); ok && e.Severity == "FATAL" {
			if e.Code != code {
				c.t.Fatalf("%s %s, want %s", e.Code, e.Message, code)
			}
			seen = true
		}
	}
	if code != "" && !seen {
		c.t.Fatalf("the connection ended without %s", code)
	}
}

// alive checks that the connection answers a query.
func (c *client) alive() {
	c.t.Helper()
	c.send(&pgproto3.Query{String: "rows 1"})
	c.wants("T n:20/0", "D 1", "C SELECT 1", "ZI")
}

// eventually waits until a condition holds that another goroutine makes true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never: " + what)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}
