package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// The first byte of a connection.
const (
	kindRaft = 'R'
	kindGRPC = 'G'
	kindPut  = 'P'
)

// keepAlive detects on an idle connection that the other end has gone silently.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 3}

// handshakeTime bounds TLS and the first byte, so that a silent connection does not
// hold resources.
const handshakeTime = 5 * time.Second

// maxHandshakes bounds the connections in their handshake, which anyone can make: the oldest gives
// way to the next. A node's takes a few milliseconds.
const maxHandshakes = 256

// handshakeBytes is how much is read of a TLS handshake. A hello and a chain of certificates take some 2 to
// 12 KiB; crypto/tls keeps up to 256 KiB of a message that never ends, which is charged to nobody.
const handshakeBytes = 32 << 10

// bounded is a connection of which so many bytes more may be read; below 0: any number.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.Conn.Read(p)
	}
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// mux distributes the connections of one listener to three.
type mux struct {
	ln    net.Listener
	trust Trust
	self  Self
	log   *slog.Logger
	nos   refusals
	raft  *queue
	grpc  *queue
	puts  *queue
	wg    sync.WaitGroup
	done  chan struct{}
	once  sync.Once

	mu    sync.Mutex
	shake []net.Conn // in their handshake, the oldest first
}

func newMux(ln net.Listener, trust Trust, self Self, log *slog.Logger) *mux {
	m := &mux{ln: ln, trust: trust, self: self, log: log, done: make(chan struct{})}
	m.raft, m.grpc, m.puts = newQueue(ln.Addr()), newQueue(ln.Addr()), newQueue(ln.Addr())
	m.wg.Add(1)
	go m.accept()
	return m
}

func (m *mux) accept() {
	defer m.wg.Done()
	for {
		c, err := m.ln.Accept()
		if err != nil {
			select {
			case <-m.done:
				return
			case <-time.After(10 * time.Millisecond): // out of file descriptors, perhaps
				if errors.Is(err, net.ErrClosed) {
					return
				}
				continue
			}
		}
		if t, ok := c.(interface {
			SetKeepAliveConfig(net.KeepAliveConfig) error
		}); ok {
			t.SetKeepAliveConfig(keepAlive)
		}
		m.mu.Lock()
		if len(m.shake) >= maxHandshakes {
			m.shake[0].Close()
			m.shake = slices.Delete(m.shake, 0, 1)
		}
		m.shake = append(m.shake, c)
		m.mu.Unlock()
		m.wg.Add(1)
		go m.route(c)
	}
}

// route reads the first byte, performs the handshake, and passes the connection on.
func (m *mux) route(raw net.Conn) {
	defer m.wg.Done()
	defer m.shaken(raw)
	c := raw
	raw.SetDeadline(time.Now().Add(handshakeTime))
	key, conf := m.trust.key()
	if conf != nil {
		b := &bounded{Conn: raw, left: handshakeBytes}
		t := tls.Server(b, conf)
		if t.Handshake() != nil {
			raw.Close()
			return
		}
		b.left = -1
		c = t
	}
	var first [1]byte
	if _, err := c.Read(first[:]); err != nil {
		c.Close()
		return
	}
	to := map[byte]*queue{kindRaft: m.raft, kindGRPC: m.grpc, kindPut: m.puts}[first[0]]
	if to == nil || conf == nil && key.IsZero() {
		c.Close()
		return
	}
	met, no, err := acceptHandshake(c, first[0], m.self(), key)
	if no != nil {
		host, _, _ := net.SplitHostPort(raw.RemoteAddr().String())
		m.nos.log(m.log, host, no)
	}
	if err != nil || no != nil {
		c.Close()
		return
	}
	c.SetDeadline(time.Time{})
	to.put(met)
}

// shaken removes a connection from those in their handshake.
func (m *mux) shaken(c net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.shake, c); i >= 0 {
		m.shake = slices.Delete(m.shake, i, i+1)
	}
}

func (m *mux) close() {
	m.once.Do(func() {
		close(m.done)
		m.ln.Close()
		m.mu.Lock()
		for _, c := range m.shake {
			c.Close()
		}
		m.mu.Unlock()
		m.raft.Close()
		m.grpc.Close()
		m.puts.Close()
		m.wg.Wait()
	})
}

// queue is a net.Listener fed by a mux.
type queue struct {
	addr net.Addr
	ch   chan net.Conn
	done chan struct{}
	once sync.Once
}

func newQueue(a net.Addr) *queue {
	return &queue{addr: a, ch: make(chan net.Conn), done: make(chan struct{})}
}

func (q *queue) put(c net.Conn) {
	select {
	case q.ch <- c:
	case <-q.done:
		c.Close()
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.ch:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return q.addr }

// Dialer makes connections to nodes.
type Dialer struct {
	Trust Trust
	Self  Self
	Log   *slog.Logger // for refusals; may be nil
	// Traffic counts what is sent and received; nil: nobody counts.
	Traffic *Traffic
	// Net replaces the network, in tests.
	Net func(ctx context.Context, addr string) (net.Conn, error)
	nos refusals
}

// DialRaft connects to the raft listener of a node (0: any) at addr.
func (d *Dialer) DialRaft(ctx context.Context, node uint64, addr string) (net.Conn, error) {
	return d.dial(ctx, node, addr, kindRaft)
}

func (d *Dialer) dial(ctx context.Context, node uint64, addr string, kind byte) (net.Conn, error) {
	c, _, err := d.identify(ctx, node, addr, kind)
	return c, err
}

// identify is dial that also returns who is at the other end.
func (d *Dialer) identify(ctx context.Context, node uint64, addr string, kind byte) (_ net.Conn, is Identity, err error) {
	var c net.Conn
	if d.Net != nil {
		c, err = d.Net(ctx, addr)
	} else {
		nd := net.Dialer{Timeout: handshakeTime, KeepAliveConfig: keepAlive}
		if c, err = nd.DialContext(ctx, "tcp", addr); err == nil {
			c = d.Traffic.of(c)
		}
	}
	if err != nil {
		return nil, is, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.SetDeadline(time.Now().Add(handshakeTime))
	key, conf := d.Trust.key()
	if conf == nil && key.IsZero() {
		c.Close()
		return nil, is, pgerr.New(pgerr.InvalidAuthorizationSpecification, "this node has neither a secret nor certificates to show to others")
	}
	if conf != nil {
		conf = conf.Clone()
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			c.Close()
			return nil, is, pgerr.New(pgerr.InvalidParameterValue, "invalid address %q", addr)
		}
		conf.ServerName = host
		t := tls.Client(c, conf)
		if err := t.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, is, err
		}
		c = t
	}
	if is, err = dialHandshake(c, kind, d.Self(), node, key); err != nil {
		c.Close()
		var no *pgerr.Error
		if errors.As(err, &no) {
			d.nos.log(d.Log, fmt.Sprintf("%x at %s", node, addr), no)
		}
		return nil, is, err
	}
	if !stop() {
		c.Close()
		return nil, is, ctx.Err()
	}
	return c, is, c.SetDeadline(time.Time{})
}
