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

	"github.com/tributarydb/tributary/wire/session"
)

// Options of a server.
type Options struct {
	Engine session.Engine
	// TLS, where set, is offered to every client and required of those that are
	// not on the loopback interface.
	TLS *tls.Config
	// Insecure lets clients from anywhere in without TLS, as far as their
	// password goes.
	Insecure bool
	// MaxMessage bounds one message of a client, in bytes; 0 is 1 GiB.
	MaxMessage int
	Log        *slog.Logger
}

// Server serves connections. Close ends it.
type Server struct {
	o    Options
	log  *slog.Logger
	next atomic.Uint32

	mu     sync.Mutex
	ln     []net.Listener
	conns  map[*conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

// startupTimeout bounds the time until a client has authenticated.
const startupTimeout = 60 * time.Second

// NewServer makes a server.
func NewServer(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 1 << 30
	}
	return &Server{o: o, log: o.Log, conns: map[*conn]struct{}{}}
}

// Serve accepts connections until the listener or the server is closed.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.ln = append(s.ln, ln)
	s.mu.Unlock()
	for {
		nc, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				continue
			}
			return err
		}
		s.start(nc)
	}
}

func (s *Server) start(nc net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{srv: s, nc: nc, ctx: ctx, cancel: cancel, pid: s.next.Add(1), secret: random32()}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
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
// in progress are cancelled when ctx ends, or at once if it has.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for _, ln := range s.ln {
		_ = ln.Close()
	}
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.cancel()
		_ = c.nc.Close()
	}
	s.mu.Unlock()
	<-done
}

func random32() uint32 {
	var b [4]byte
	// crypto/rand does not fail on the platforms we build for.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}
