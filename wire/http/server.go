package http

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tributarydb/tributary/wire/limit"
)

// Source is the node that is served.
type Source interface {
	Ready() bool
	// Collectors are its own metrics, and those of all nodes of its cluster as far as it knows them.
	Collectors() (own, cluster []prometheus.Collector)
}

// Options of a server.
type Options struct {
	Source Source
	// Console serves what is not the server's own; it has logins of its own.
	Console http.Handler
	// TLS, where set, is required of every client.
	TLS *tls.Config
	// Collectors are further metrics of the process.
	Collectors []prometheus.Collector
	// Allow, where set, checks the name and the password of requests for profiles, and Watch those for
	// metrics; Open, where set, reports whether none are needed now.
	Allow, Watch func(user, password string) bool
	Open         func() bool
	// Token, where set, returns what lets who sends it (Authorization: Bearer …) read metrics; "" for none.
	Token func() string
	// Manual, where set, serves /docs/.
	Manual http.Handler
	Log    *slog.Logger
}

// Server serves one listener.
type Server struct {
	srv   *http.Server
	tls   *tls.Config
	crowd crowd
}

// What a client may take, who may be anyone: nothing here is charged to the node's memory.
const (
	maxHeader = 16 << 10 // bytes
	// readTime is that for a header, and that for a body; writeTime that for an answer, beside what it
	// is asked to take (profiles).
	readTime  = 10 * time.Second
	writeTime = 30 * time.Second
)

// NewServer makes a server.
func NewServer(o Options) *Server {
	src := o.Source
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	own, all := src.Collectors()
	reg.MustRegister(own...)
	reg.MustRegister(o.Collectors...)
	cluster := prometheus.NewRegistry()
	cluster.MustRegister(all...)
	mux := http.NewServeMux()
	if o.Console != nil {
		mux.Handle("/", o.Console)
	}
	if o.Manual != nil {
		mux.Handle("/docs/", o.Manual)
	}
	for path, of := range map[string]*prometheus.Registry{"/metrics": reg, "/metrics/cluster": cluster} {
		mux.Handle("GET "+path, o.watched(promhttp.HandlerFor(of, promhttp.HandlerOpts{})))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !src.Ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	for path, profile := range map[string]http.HandlerFunc{"": pprof.Index, "profile": pprof.Profile, "trace": pprof.Trace, "symbol": pprof.Symbol, "cmdline": pprof.Cmdline} {
		mux.Handle("/debug/pprof/"+path, o.guarded(profile))
	}
	s := &Server{tls: o.TLS, crowd: crowd{places: limit.Places[net.Conn]{Each: connections}, log: o.Log}}
	s.srv = &http.Server{Handler: s.crowd.working(hosted(mux, o.TLS != nil)), ReadHeaderTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(errorLog{o.Log}, "", 0), ConnContext: withConn, ConnState: s.crowd.state}
	return s
}

// errorLog takes the lines that net/http logs. A handshake that fails is for debugging: anyone can make
// thousands of lines of them.
type errorLog struct{ to *slog.Logger }

// Write implements io.Writer.
func (l errorLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, strings.TrimSpace(string(line)))
	return len(line), nil
}

// guarded requires a superuser's name and password.
func (o Options) guarded(next http.Handler) http.Handler {
	return o.required(o.Allow, "a superuser's name and password are needed", next)
}

// watched requires those of a member of pg_monitor, or the token.
func (o Options) watched(next http.Handler) http.Handler {
	byName := o.required(o.Watch, "the name and password of a superuser or a member of pg_monitor are needed, or the token", next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && o.Token != nil {
			if token := o.Token(); token != "" && subtle.ConstantTimeCompare([]byte(sent), []byte(token)) == 1 {
				next.ServeHTTP(w, r)
				return
			}
		}
		byName.ServeHTTP(w, r)
	})
}

// required requires a name and a password that allow accepts, where it is set.
func (o Options) required(allow func(user, password string) bool, message string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allow != nil && (o.Open == nil || !o.Open()) {
			user, password, ok := r.BasicAuth()
			if !ok || !allow(user, password) {
				w.Header().Set("WWW-Authenticate", `Basic realm="tributary", charset="UTF-8"`)
				http.Error(w, message, http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hosted refuses, without TLS, whose certificate names the host, requests for a host name that only a
// public resolver can have resolved to this node: by DNS rebinding a page of that name could read this
// one through a user's browser.
func hosted(next http.Handler, encrypted bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !encrypted && !ownHost(r.Host) {
			http.Error(w, "this is not the host you asked for", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a request's host cannot be a foreign domain: an address, or a name
// without a dot.
func ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	own, err := os.Hostname()
	return !strings.Contains(name, ".") || err == nil && strings.EqualFold(name, own)
}

// Serve accepts connections until Close.
func (s *Server) Serve(ln net.Listener) error {
	if s.tls != nil {
		ln = tls.NewListener(bounding{ln}, s.tls)
	}
	if err := s.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the server and its connections.
func (s *Server) Close() { _ = s.srv.Close() }
