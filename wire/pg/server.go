package pg

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/limit"
	"github.com/tributarydb/tributary/wire/session"
)

// Options of a server.
type Options struct {
	Engine session.Engine
	// TLS, where set and not nil, returns the current configuration, which is offered to every client
	// and required of those that are not on the loopback interface.
	TLS func() *tls.Config
	// Refused, where set, is told of every client that was refused.
	Refused func(user, host, reason string)
	// Insecure admits clients from anywhere without TLS; passwords are still required.
	Insecure bool
	// MaxMessage bounds one message of a client, in bytes; 0 is 1 GiB.
	MaxMessage int
	// Account, where set, makes an account for a connection's long messages.
	Account func() Account
	// MaxUnopened bounds the connections that are not authenticated and wait for their clients, and
	// separately those that the server works for; 0 is 400. The engine bounds the sessions.
	MaxUnopened int
	// StartupTimeout bounds each wait for a client that has not authenticated; 0 is
	// ten seconds.
	StartupTimeout time.Duration
	// CancelGrace bounds how long Close waits for statements that it cancelled; 0 is five seconds.
	CancelGrace time.Duration
	// Rules, where set, returns the current rules by which clients are authenticated.
	Rules func() auth.Rules
	// Patient does not poll for a client's next message: there is one processor, which the client needs too.
	Patient bool
	Log     *slog.Logger
	// Audit takes the audit log; nil: Log.
	Audit *slog.Logger
}

// Server serves connections. Close ends it.
type Server struct {
	o     Options
	log   *slog.Logger
	audit *slog.Logger
	next  atomic.Uint32

	attempts attempts
	metrics  Metrics
	latest   atomic.Pointer[eager] // the connection that got a message last

	mu       sync.Mutex
	ln       []net.Listener
	conns    map[*conn]struct{}
	unopened limit.Places[*conn] // the connections that have no session yet
	closed   bool
	done     chan struct{} // closed with the server
	wg       sync.WaitGroup
}

// acceptPause is the longest pause after a failed accept, such as for want of
// file descriptors.
const acceptPause = time.Second

// dropsPerLog is how many clients are dropped for each line in the log.
const dropsPerLog = 1000

// NewServer makes a server.
func NewServer(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Audit == nil {
		o.Audit = o.Log
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 1 << 30
	}
	if o.MaxUnopened == 0 {
		o.MaxUnopened = 400
	}
	if o.StartupTimeout == 0 {
		o.StartupTimeout = 10 * time.Second
	}
	if o.CancelGrace == 0 {
		o.CancelGrace = 5 * time.Second
	}
	s := &Server{o: o, log: o.Log, audit: o.Audit.WithGroup("audit"), conns: map[*conn]struct{}{}, unopened: limit.Places[*conn]{Each: o.MaxUnopened},
		done: make(chan struct{}), attempts: attempts{now: time.Now}}
	// The servers of a cluster number their sessions from places so far apart that a number means one
	// session of all: pg_cancel_backend finds it from any node.
	s.next.Store(random32() >> 2)
	s.metrics.open = func() (open int, dropped int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns), s.unopened.Dropped
	}
	return s
}

// Metrics returns what the server counts.
func (s *Server) Metrics() *Metrics { return &s.metrics }

// tls returns the current configuration; nil without TLS.
func (s *Server) tls() *tls.Config {
	if s.o.TLS == nil {
		return nil
	}
	return s.o.TLS()
}

func (s *Server) rules() auth.Rules {
	if s.o.Rules == nil {
		return nil
	}
	return s.o.Rules()
}

// Serve accepts connections until the listener or the server is closed. The resources that a failed
// accept lacked (file descriptors, memory) may become free, so no failure ends it.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.ln = append(s.ln, ln)
	s.mu.Unlock()
	pause := time.Duration(0)
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.start(nc)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			pause = min(max(2*pause, 5*time.Millisecond), acceptPause)
			s.log.Warn("accepting a connection", "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.done:
				return nil
			}
		}
	}
}

func (s *Server) start(nc net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	if !s.o.Patient {
		nc = newEager(nc, &s.latest)
	}
	c := &conn{srv: s, nc: nc, raw: nc, ctx: ctx, cancel: cancel, pid: s.next.Add(1), secret: random32()}
	c.tls = c.encryption() != nil // an inner connection's; a socket's begins later
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = nc.Close()
		cancel()
		return
	}
	s.conns[c] = struct{}{}
	s.metrics.opened.Add(1)
	s.wg.Add(1)
	s.mu.Unlock()
	s.turn(c, false)
	go func() {
		defer s.wg.Done()
		defer func() {
			s.mu.Lock()
			s.unopened.Leave(c)
			delete(s.conns, c)
			s.mu.Unlock()
		}()
		c.serve()
	}()
}

// turn records for a connection without a session whether the server works or the client's message
// is next. That may drop another connection.
func (s *Server) turn(c *conn, working bool) {
	s.mu.Lock()
	if c.ctx.Err() != nil {
		s.mu.Unlock()
		return // pushed out itself
	}
	out, pushed := s.unopened.Enter(c, working)
	n := s.unopened.Dropped
	if pushed {
		out.cancel()
	}
	s.mu.Unlock()
	if !pushed {
		return
	}
	_ = out.raw.Close()
	if n%dropsPerLog == 1 {
		s.log.Warn("too many connections that have not logged in: the oldest are dropped", "address", hostOf(out.raw.RemoteAddr()), "dropped", n)
	}
}

// opened removes a connection that has a session from those that have none.
func (s *Server) opened(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unopened.Leave(c)
}

// Close stops accepting, ends all connections and waits for them. Statements in progress are
// cancelled when ctx ends, or at once if it has; their clients receive the error if they read. It returns
// how many connections are left because their statements did not end CancelGrace later.
func (s *Server) Close(ctx context.Context) (left int) {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	for _, ln := range s.ln {
		_ = ln.Close()
	}
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return 0
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.cancel()
		_ = c.raw.SetDeadline(time.Now().Add(wakeGrace))
	}
	s.mu.Unlock()
	select {
	case <-idle:
		return 0
	case <-time.After(s.o.CancelGrace):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func random32() uint32 {
	var b [4]byte
	// crypto/rand does not fail on the platforms we build for.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}
