package pg

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/session"
)

// fakeEngine runs statements of a few words:
//
//	rows N        N rows of one int8 column, in batches of 100
//	wide N        N rows of 64 KiB of text
//	echo A B      the parameters $1 int4, $2 text, $3 bytea as a row
//	wait          until it is cancelled
//	stuck         until stuck is closed, though it is cancelled
//	fail          an error with every field
//	notice        a NOTICE; set X Y a changed parameter
//	begin, end    the transaction status
//	in, out       COPY
//	die           a panic
type fakeEngine struct {
	mu       sync.Mutex
	sessions map[uint32]*fakeSession
	password string // of the role ann; if "", no password is needed from loopback
	waits    int
	most     int // the limit of sessions; 0 is none
	stuck    chan struct{}
}

func (e *fakeEngine) count(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waits += n
}

func (e *fakeEngine) running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waits
}

func (e *fakeEngine) Authenticate(context.Context, string, bool) (session.Login, error) {
	if e.password == "" {
		return session.Login{Exists: true, CanLogin: true, TrustLoopback: true}, nil
	}
	return session.Login{Exists: true, CanLogin: true}, nil
}

// withPassword is a fakeEngine whose only role is ann.
type withPassword struct{ *fakeEngine }

func (e withPassword) Authenticate(_ context.Context, role string, _ bool) (session.Login, error) {
	if role != "ann" {
		return session.Login{}, nil
	}
	v, err := auth.Verifier(e.password)
	return session.Login{Exists: true, CanLogin: true, Verifier: v}, err
}

func (e *fakeEngine) Connect(_ context.Context, st session.Startup) (session.Session, error) {
	s := &fakeSession{e: e, st: st, status: 'I'}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.most > 0 && len(e.sessions) >= e.most {
		return nil, pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already").WithSeverity(pgerr.SevFatal)
	}
	if e.sessions == nil {
		e.sessions = map[uint32]*fakeSession{}
	}
	e.sessions[st.PID] = s
	return s, nil
}

func (e *fakeEngine) Cancel(pid, secret uint32) {
	e.mu.Lock()
	s := e.sessions[pid]
	e.mu.Unlock()
	if s != nil && s.st.Secret == secret {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cancel != nil {
			s.cancel()
		}
	}
}

func (e *fakeEngine) open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions)
}

func (e *fakeEngine) any() *fakeSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.sessions {
		return s
	}
	return nil
}

type fakeSession struct {
	e      *fakeEngine
	st     session.Startup
	status byte
	named  map[string]session.Statement

	mu     sync.Mutex
	idle   time.Duration
	cancel context.CancelFunc
	killed error
	copied strings.Builder
	fate   string // the outcome of the last COPY
	made   int    // batches returned so far
	syncs  []bool
}

func (s *fakeSession) Parameters() [][2]string { return [][2]string{{"server_version", "15"}} }

func (s *fakeSession) Script(_ context.Context, sql string) ([]*parse.Statement, error) {
	if strings.Contains(sql, "bad grammar") {
		return nil, pgerr.New(pgerr.SyntaxError, "syntax error at or near \"bad\"").At(1)
	}
	var out []*parse.Statement
	for _, p := range strings.Split(sql, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, &parse.Statement{Text: p})
		}
	}
	return out, nil
}

func (s *fakeSession) Prepare(_ context.Context, p *parse.Statement, _ []types.OID) (session.Statement, error) {
	if p == nil {
		return &fakeStatement{s: s}, nil
	}
	if s.status == 'E' && p.Text != "end" {
		return nil, pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	return &fakeStatement{s: s, words: strings.Fields(p.Text)}, nil
}

func (s *fakeSession) Sync(_ context.Context, ok bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncs = append(s.syncs, ok)
	if !ok && s.status == 'T' {
		s.status = 'E'
	}
	return nil
}

func (s *fakeSession) Keep(name string, st session.Statement) error {
	if name != "" && s.named[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	if s.named == nil {
		s.named = map[string]session.Statement{}
	}
	s.named[name] = st
	return nil
}

func (s *fakeSession) Kept(name string) (session.Statement, error) {
	if st := s.named[name]; st != nil {
		return st, nil
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
}

func (s *fakeSession) Forget(name string) { delete(s.named, name) }

func (s *fakeSession) Cursor(name string) ([]session.Column, bool) {
	return []session.Column{{Name: "n", Type: types.Int8}}, name == "declared"
}

func (s *fakeSession) TxStatus() byte { return s.status }

func (s *fakeSession) Charset() *charset.Charset { return nil }

func (s *fakeSession) Transactions() uint64 { return 0 }

func (s *fakeSession) Killed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

func (s *fakeSession) kill() {
	s.mu.Lock()
	s.killed = pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command").WithSeverity(pgerr.SevFatal)
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.st.Wake()
}

func (s *fakeSession) IdleLimit() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle, pgerr.New(pgerr.IdleSessionTimeout, "terminating connection due to idle-session timeout").WithSeverity(pgerr.SevFatal)
}

func (s *fakeSession) Env() *types.Env {
	return &types.Env{Settings: datetime.Settings{Location: time.UTC}}
}

func (s *fakeSession) Close() error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	delete(s.e.sessions, s.st.PID)
	return nil
}

func (s *fakeSession) batches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

type fakeStatement struct {
	s     *fakeSession
	words []string
}

func (st *fakeStatement) Empty() bool { return len(st.words) == 0 }

func (st *fakeStatement) Params() []types.Type {
	if !st.Empty() && st.words[0] == "echo" {
		return []types.Type{types.Int4, types.Text, types.Bytea}
	}
	return nil
}

func (st *fakeStatement) Columns() []session.Column {
	if st.Empty() {
		return nil
	}
	switch st.words[0] {
	case "rows":
		return []session.Column{{Name: "n", Type: types.Int8}}
	case "wide":
		return []session.Column{{Name: "t", Type: types.Text}}
	case "echo":
		return []session.Column{{Name: "a", Type: types.Int4}, {Name: "b", Type: types.Text}, {Name: "c", Type: types.Bytea}}
	}
	return nil
}

func (st *fakeStatement) Bind(_ context.Context, params []types.Datum) (session.Portal, error) {
	p := &fakePortal{st: st, params: params}
	if len(st.words) > 1 {
		p.left, _ = strconv.Atoi(st.words[1])
	}
	return p, nil
}

func (st *fakeStatement) Close() error { return nil }

type fakePortal struct {
	st     *fakeStatement
	params []types.Datum
	left   int
	given  int
	tag    string
	copy   *fakeCopy
}

func (p *fakePortal) Columns() []session.Column { return p.st.Columns() }

func (p *fakePortal) Copy() session.Copy {
	if p.copy == nil {
		return nil
	}
	return p.copy
}

func (p *fakePortal) Tag() string    { return p.tag }
func (p *fakePortal) Close() error   { return nil }
func (p *fakePortal) Suspend() error { return nil }

func (p *fakePortal) Next(ctx context.Context) (*batch.Batch, error) {
	s := p.st.s
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	killed := s.killed // under the lock that sets cancel: a kill between the two would reach neither
	s.cancel = cancel
	s.mu.Unlock()
	if killed != nil {
		return nil, killed
	}
	done := func(tag string) (*batch.Batch, error) {
		p.tag = tag
		return nil, io.EOF
	}
	switch word := p.st.words[0]; word {
	case "rows", "wide":
		if p.left == 0 {
			return done(fmt.Sprintf("SELECT %d", p.given))
		}
		s.mu.Lock()
		s.made++
		s.mu.Unlock()
		n := min(p.left, 100)
		p.left -= n
		var arr arrow.Array
		if word == "rows" {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for range n {
				p.given++
				b.Append(int64(p.given))
			}
			arr = b.NewArray()
		} else {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for range n {
				p.given++
				b.Append(strings.Repeat("x", 64<<10))
			}
			arr = b.NewArray()
		}
		return batch.New([]arrow.Array{arr}, n), nil
	case "echo":
		if p.given == 1 {
			return done("SELECT 1")
		}
		p.given = 1
		var cols []arrow.Array
		for i, c := range p.Columns() {
			b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
			if p.params[i] == nil {
				b.AppendNull()
			} else if err := types.AppendDatum(b, c.Type, p.params[i]); err != nil {
				return nil, err
			}
			cols = append(cols, b.NewArray())
		}
		return batch.New(cols, 1), nil
	case "wait":
		s.e.count(1)
		defer s.e.count(-1)
		<-ctx.Done()
		if err := s.Killed(); err != nil {
			return nil, err
		}
		return nil, pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	case "stuck":
		s.e.count(1)
		defer s.e.count(-1)
		<-s.e.stuck
		return done("STUCK")
	case "fail":
		return nil, pgerr.New(pgerr.UniqueViolation, "duplicate").WithDetail("detail").WithHint("hint").At(3).OnTable("s", "t").OnColumn("c").OnConstraint("k")
	case "notice":
		s.st.Notify.Notice(pgerr.New(pgerr.SuccessfulCompletion, "hello").WithSeverity(pgerr.SevNotice))
		return done("NOTICE")
	case "set":
		s.st.Notify.Parameter(p.st.words[1], p.st.words[2])
		return done("SET")
	case "begin":
		s.status = 'T'
		return done("BEGIN")
	case "end":
		s.status = 'I'
		return done("COMMIT")
	case "in", "out":
		p.tag = "COPY 1"
		p.copy = &fakeCopy{s: s, in: word == "in", left: 3}
		return nil, io.EOF
	case "die":
		panic("asked to")
	}
	return nil, pgerr.New(pgerr.SyntaxError, "what is %q?", p.st.words)
}

type fakeCopy struct {
	s    *fakeSession
	in   bool
	left int
}

func (c *fakeCopy) In() bool     { return c.in }
func (c *fakeCopy) Binary() bool { return false }
func (c *fakeCopy) Columns() int { return 2 }

func (c *fakeCopy) Write(_ context.Context, p []byte) error {
	if strings.Contains(string(p), "poison") {
		return pgerr.New(pgerr.BadCopyFileFormat, "poison")
	}
	c.s.copied.Write(p)
	return nil
}

func (c *fakeCopy) end(fate string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.fate = fate
}

func (c *fakeCopy) Finish(context.Context) error { c.end("finished"); return nil }

func (c *fakeCopy) Fail(reason string) error {
	c.end("failed: " + reason)
	return pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", reason)
}

func (c *fakeCopy) Read(context.Context) ([]byte, []int, error) {
	if c.left == 0 {
		return nil, nil, io.EOF
	}
	c.left--
	return []byte("a\tb\nc\td\n"), []int{4, 8}, nil
}
