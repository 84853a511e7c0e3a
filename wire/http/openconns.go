package http

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tributarydb/tributary/wire/limit"
)

// connections is the limit of connections that wait for a request, and of those that wait for an
// answer. net/http has no limit: 8,000 clients that sent 60 KB of a header each took 600 MB.
const connections = 200

// crowd limits the connections of a server.
type crowd struct {
	log *slog.Logger

	mu     sync.Mutex
	places limit.Places[net.Conn]
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// state follows the state of a connection. A connection whose request has begun (StateActive) still
// counts as silent: its next byte may never come.
func (w *crowd) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew, http.StateIdle:
		w.enter(c, false)
	case http.StateActive: // the header of a request is complete
		if t, ok := c.(*tls.Conn); ok {
			t.NetConn().(*limit.Bounded).Lift()
		}
	case http.StateClosed, http.StateHijacked:
		w.mu.Lock()
		w.places.Leave(c)
		w.mu.Unlock()
	}
}

// working counts a connection as served once its request's header is complete, and limits the time for
// the request's body, which net/http reads to its end.
func (w *crowd) working(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			w.enter(c, true)
		}
		if r.ContentLength != 0 {
			_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(readTime))
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *crowd) enter(c net.Conn, working bool) {
	w.mu.Lock()
	out, pushed := w.places.Enter(c, working)
	n := w.places.Dropped
	w.mu.Unlock()
	if !pushed {
		return
	}
	if n%1000 == 1 {
		w.log.Warn("too many connections to the page: the oldest are dropped", "address", out.RemoteAddr().String(), "dropped", n)
	}
	if t, ok := out.(*tls.Conn); ok {
		out = t.NetConn() // tls.Conn.Close would wait until the client has read an alert
	}
	_ = out.Close()
}

// bounding bounds the TLS handshakes of the connections that a listener accepts.
type bounding struct{ net.Listener }

// Accept implements net.Listener.
func (l bounding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return limit.Bound(c), nil
}
