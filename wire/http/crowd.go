package http

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tributarydb/tributary/wire/places"
)

// connections is how many may wait for their client's request, and how many for an answer. net/http
// takes any number, and 8,000 with 60 KB of a header each took 600 MB.
const connections = 200

// crowd keeps the connections of a server within bounds.
type crowd struct {
	log *slog.Logger

	mu     sync.Mutex
	places places.Places[net.Conn]
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// state follows a connection. That a request has begun says nothing: its next byte may never come.
func (w *crowd) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew, http.StateIdle:
		w.enter(c, false)
	case http.StateClosed, http.StateHijacked:
		w.mu.Lock()
		w.places.Leave(c)
		w.mu.Unlock()
	}
}

// working moves the connections of requests that are whole among those that are served, and gives
// their bodies, which net/http reads to the end, an end.
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
		out = t.NetConn() // else Close waits for the client to take a farewell
	}
	_ = out.Close()
}
