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

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/session"
)

// Options of a server.
type Options struct {
	Engine session.Engine
	// TLS, where set and not nil, gives what is offered to every client now, and
	// required of those that are not on the loopback interface.
	TLS func() *tls.Config
	// Insecure lets clients from anywhere in without TLS, as far as their
	// password goes.
	Insecure bool
	// MaxMessage bounds one message of a client, in bytes; 0 is 1 GiB.
	MaxMessage int
	// Account, where set, makes an account for a connection's long messages.
	Account func() Account
	// MaxConns bounds the connections, those that have not authenticated
	// included; 0 is 1000.
	MaxConns int
	// StartupTimeout bounds the time until a client has authenticated; 0 is a
	// minute.
	StartupTimeout time.Duration
	// Rules, where set, gives the rules that decide how clients prove who they are,
	// as they are now.
	Rules func() auth.Rules
	Log   *slog.Logger
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

	mu     sync.Mutex
	ln     []net.Listener
	conns  map[*conn]struct{}
	closed bool
	done   chan struct{} // closed with the server
	wg     sync.WaitGroup
}

// acceptPause is the longest pause after a failed accept, such as for want of
// file descriptors.
const acceptPause = time.Second

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
	if o.MaxConns == 0 {
		o.MaxConns = 1000
	}
	if o.StartupTimeout == 0 {
		o.StartupTimeout = time.Minute
	}
	s := &Server{o: o, log: o.Log, audit: o.Audit.WithGroup("audit"), conns: map[*conn]struct{}{}, done: make(chan struct{}), attempts: attempts{now: time.Now}}
	return s
}

// tls is what is offered now; nil without TLS.
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

// Serve accepts connections until the listener or the server is closed. What a
// failed accept wants (file descriptors, memory) may come back, so none ends it.
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
	c := &conn{srv: s, nc: nc, ctx: ctx, cancel: cancel, pid: s.next.Add(1), secret: random32()}
	s.mu.Lock()
	full := len(s.conns) >= s.o.MaxConns
	if s.closed || full {
		s.mu.Unlock()
		if full {
			// A new socket's buffer takes this without waiting for the client.
			_ = nc.SetDeadline(time.Now().Add(acceptPause))
			c.fatal(pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already"))
		}
		_ = nc.Close()
		cancel()
		return
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		defer func() {
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
		c.serve()
	}()
}

// Close stops accepting, ends all connections and waits for them. Statements
// in progress are cancelled when ctx ends, or at once if it has; their clients
// are told as far as they read.
func (s *Server) Close(ctx context.Context) {
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
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.cancel()
		_ = c.nc.SetDeadline(time.Now().Add(wakeGrace))
	}
	s.mu.Unlock()
	<-idle
}

func random32() uint32 {
	var b [4]byte
	// crypto/rand does not fail on the platforms we build for.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}
