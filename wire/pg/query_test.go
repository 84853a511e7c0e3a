package pg

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

func TestSimpleQuery(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	c := connect(t, addr)
	for _, tc := range []struct {
		sql  string
		want []string
	}{
		{"", []string{"EmptyQueryResponse", "ZI"}},
		{" ; ;", []string{"EmptyQueryResponse", "ZI"}},
		{"rows 2; notice; rows 1;", []string{"T n:20/0", "D 1", "D 2", "C SELECT 2", "N hello", "C NOTICE", "T n:20/0", "D 1", "C SELECT 1", "ZI"}},
		{"rows 0", []string{"T n:20/0", "C SELECT 0", "ZI"}},
		{"set a b; fail; rows 1", []string{"C SET", "E ERROR 23505", "S a=b", "ZI"}},
		{"bad grammar", []string{"E ERROR 42601", "ZI"}},
		{"echo 1 2", []string{"E ERROR 42P02", "ZI"}},
		{"rows \xff", []string{"E ERROR 22021", "ZI"}},
		{"begin", []string{"C BEGIN", "ZT"}},
		{"fail", []string{"E ERROR 23505", "ZE"}},
		{"rows 1", []string{"E ERROR 25P02", "ZE"}},
		{"end", []string{"C COMMIT", "ZI"}},
		{"out", []string{"CopyOutResponse", "d a\tb", "d c\td", "d a\tb", "d c\td", "d a\tb", "d c\td", "CopyDone", "C COPY 1", "ZI"}},
	} {
		c.send(&pgproto3.Query{String: tc.sql})
		c.wants(tc.want...)
	}
	c.send(&pgproto3.Terminate{})
	c.gone("")
}

// TestCommitBeforeTag: the implicit transaction of a query message is committed before the tag of its
// last statement is sent, also if an empty statement follows. A tag before the commit would confirm
// what may still fail.
func TestCommitBeforeTag(t *testing.T) {
	e := &fakeEngine{}
	c := connect(t, serveFake(t, e, nil))
	for _, sql := range []string{"notice", "notice;", "notice; ;"} {
		s := e.any()
		s.mu.Lock()
		s.syncs = nil
		s.mu.Unlock()
		c.send(&pgproto3.Query{String: sql})
		c.wants("N hello", "C NOTICE", "ZI")
		s.mu.Lock()
		if len(s.syncs) == 0 || slices.Contains(s.syncs, false) {
			t.Errorf("%q: %v", sql, s.syncs)
		}
		s.mu.Unlock()
	}
}

func TestErrorFields(t *testing.T) {
	c := connect(t, serveFake(t, &fakeEngine{}, nil))
	c.send(&pgproto3.Query{String: "fail"})
	e, ok := c.read().(*pgproto3.ErrorResponse)
	if !ok {
		t.Fatal("no error")
	}
	got := []string{e.Severity, e.SeverityUnlocalized, e.Code, e.Message, e.Detail, e.Hint, e.SchemaName, e.TableName, e.ColumnName, e.ConstraintName}
	want := []string{"ERROR", "ERROR", "23505", "duplicate", "detail", "hint", "s", "t", "c", "k"}
	if !slices.Equal(got, want) || e.Position != 3 {
		t.Errorf("%q at %d", got, e.Position)
	}
}

func TestCopyIn(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, nil)
	c := connect(t, addr)
	fate := func() string {
		s := e.any()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.fate
	}
	in := &pgproto3.Query{String: "in"}
	c.send(in)
	c.wants("CopyInResponse")
	// Sync and Flush within a COPY are ignored.
	c.send(&pgproto3.CopyData{Data: []byte("1\t2\n")}, &pgproto3.Flush{}, &pgproto3.Sync{}, &pgproto3.CopyData{Data: []byte("3\t4\n")}, &pgproto3.CopyDone{})
	c.wants("C COPY 1", "ZI")
	if got := e.any().copied.String(); got != "1\t2\n3\t4\n" || fate() != "finished" {
		t.Errorf("copied %q, %s", got, fate())
	}
	c.send(in)
	c.wants("CopyInResponse")
	c.send(&pgproto3.CopyFail{Message: "no more"})
	c.wants("E ERROR 57014", "ZI")
	if fate() != "failed: no more" {
		t.Error(fate())
	}
	c.send(in)
	c.wants("CopyInResponse")
	poison := &pgproto3.CopyData{Data: []byte("poison")}
	c.send(poison, poison, &pgproto3.CopyDone{})
	c.wants("E ERROR 22P04", "ZI")
	// In the extended protocol, messages after the error are ignored until Sync.
	c.send(&pgproto3.Parse{Query: "in"}, &pgproto3.Bind{}, &pgproto3.Execute{})
	c.send(poison, &pgproto3.CopyDone{}, &pgproto3.Sync{})
	c.wants("ParseComplete", "BindComplete", "CopyInResponse", "E ERROR 22P04", "ZI")
	// Any other message during a COPY is a protocol violation.
	c.send(in)
	c.wants("CopyInResponse")
	c.send(&pgproto3.Query{String: "rows 1"})
	c.gone("08P01")
}

func TestDeathInCopy(t *testing.T) {
	e := &fakeEngine{}
	c := connect(t, serveFake(t, e, nil))
	s := e.any()
	c.send(&pgproto3.Query{String: "in"})
	c.wants("CopyInResponse")
	c.send(&pgproto3.CopyData{Data: []byte("1\t2\n")})
	_ = c.nc.Close()
	eventually(t, "the session ends", func() bool { return e.open() == 0 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(s.fate, "failed") {
		t.Errorf("the copy %s", s.fate)
	}
}

// TestSlowReader stops reading a long result: the server computes only as much as the socket buffers
// take, other sessions work, and the statement can be cancelled.
func TestSlowReader(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, nil)
	c := connect(t, addr)
	s := e.any()
	c.send(&pgproto3.Query{String: "wide 1048576"}) // 64 GiB
	last := -1
	eventually(t, "the server waits for the client", func() bool {
		time.Sleep(50 * time.Millisecond)
		n := s.batches()
		stopped := n == last && n > 0
		last = n
		return stopped
	})
	if last > 20 { // of 100 rows of 64 KiB
		t.Errorf("%d batches were made for a client that does not read", last)
	}
	for range 20 {
		connect(t, addr).alive()
	}
	if n := s.batches(); n > 20 {
		t.Errorf("the result went on from %d to %d batches", last, n)
	}
	s.kill()
	eventually(t, "the session ends", func() bool { return s.e.any() != s })
}

func TestTerminate(t *testing.T) {
	for _, tc := range []struct{ name, sql string }{{"idle", ""}, {"running", "wait"}, {"copy", "in"}} {
		t.Run(tc.name, func(t *testing.T) {
			e := &fakeEngine{}
			addr := serveFake(t, e, nil)
			c := connect(t, addr)
			if tc.sql != "" {
				c.send(&pgproto3.Query{String: tc.sql})
			}
			if tc.sql == "in" {
				c.wants("CopyInResponse")
			}
			e.any().kill()
			c.gone("57P01")
			eventually(t, "the session ends", func() bool { return e.open() == 0 })
			connect(t, addr).alive()
		})
	}
}

func TestIdleTimeout(t *testing.T) {
	e := &fakeEngine{}
	c := connect(t, serveFake(t, e, nil))
	c.alive()
	s := e.any()
	s.mu.Lock()
	s.idle = 20 * time.Millisecond // the session reads it before it waits for the next message
	s.mu.Unlock()
	c.alive()
	c.gone("57P05")
}

// TestShutdownLeaves: a statement that does not heed its cancellation does not hold up the server's end.
func TestShutdownLeaves(t *testing.T) {
	e := &fakeEngine{stuck: make(chan struct{})}
	s := NewServer(Options{Engine: e, CancelGrace: 20 * time.Millisecond})
	ln := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	busy := connect(t, ln.Addr().String())
	busy.send(&pgproto3.Query{String: "stuck"})
	eventually(t, "it runs", func() bool { return e.running() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left := s.Close(ctx); left != 1 {
		t.Errorf("%d connections are left", left)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	close(e.stuck)
	if left := s.Close(context.Background()); left != 0 {
		t.Errorf("%d connections are left at the end", left)
	}
}

func TestShutdown(t *testing.T) {
	e := &fakeEngine{}
	s := NewServer(Options{Engine: e})
	ln := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	idle, busy := connect(t, ln.Addr().String()), connect(t, ln.Addr().String())
	busy.send(&pgproto3.Query{String: "wait"})
	eventually(t, "it runs", func() bool { return e.running() == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	s.Close(ctx)
	idle.gone("57P01")
	busy.gone("57P01")
	if err := <-served; err != nil {
		t.Error(err)
	}
	if e.open() != 0 {
		t.Errorf("%d sessions are left", e.open())
	}
}
