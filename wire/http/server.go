package http

import (
	"bytes"
	"context"
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

// Source is the data of the metrics.
type Source interface {
	State() State
	Ready() bool
}

// State is a snapshot of the node and its cluster. Bytes and seconds are the units.
type State struct {
	Nodes []Node
	// Sessions counts those of this gateway by state.
	Sessions map[string]int
	// Trainings are those that run.
	Trainings int
}

// Node is a member of the cluster.
type Node struct {
	Name   string
	State  string
	Leader bool
	PG     string
	Limit  int64
	Used   int64
	Idle   int64 // of Used: idle memory, which is given up when memory is needed
	RSS    int64
	Spill  int64
	Cores  int
	// Damaged and Repaired count segments since the node started; Scrubbed is when
	// all were last read (seconds since 1970, 0 for never).
	Damaged  int64
	Repaired int64
	// ModelBytes are those of decoded models, IdleModelBytes of the ones that no
	// statement uses; ModelLoads counts how many were decoded.
	ModelBytes     int64
	IdleModelBytes int64
	ModelLoads     int64
	Scrubbed       int64
	// Admitted and Queued are statements now, Admissions all so far, which waited
	// for AdmissionWait seconds together.
	Admitted      int
	Queued        int
	Admissions    int64
	AdmissionWait float64
}

// Options of a server.
type Options struct {
	Source Source
	// Console serves what is not the server's own; it has logins of its own.
	Console http.Handler
	// TLS, where set, is required of every client.
	TLS *tls.Config
	// Allow, where set, checks the name and the password of requests for metrics and profiles; Open,
	// where set, reports whether none are needed now.
	Allow func(user, password string) bool
	Open  func() bool
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
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{src})
	if own, ok := src.(interface{ Collectors() []prometheus.Collector }); ok { // counted where it happens
		reg.MustRegister(own.Collectors()...)
	}
	mux := http.NewServeMux()
	if o.Console != nil {
		mux.Handle("/", o.Console)
	}
	if o.Manual != nil {
		mux.Handle("/docs/", o.Manual)
	}
	mux.Handle("GET /metrics", o.guarded(promhttp.HandlerFor(reg, promhttp.HandlerOpts{})))
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.Allow != nil && (o.Open == nil || !o.Open()) {
			user, password, ok := r.BasicAuth()
			if !ok || !o.Allow(user, password) {
				w.Header().Set("WWW-Authenticate", `Basic realm="tributary", charset="UTF-8"`)
				http.Error(w, "a superuser's name and password are needed", http.StatusUnauthorized)
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

// collector collects the node's gauges when they are scraped.
type collector struct{ src Source }

var (
	memUsed  = prometheus.NewDesc("tributary_memory_used_bytes", "Memory that statements and trainings hold.", []string{"node"}, nil)
	memIdle  = prometheus.NewDesc("tributary_memory_idle_bytes", "The part of tributary_memory_used_bytes that is cache, such as decoded models and datasets of trainings; it is dropped when memory is needed.", []string{"node"}, nil)
	memLimit = prometheus.NewDesc("tributary_memory_limit_bytes", "The node's memory limit.", []string{"node"}, nil)
	spilled  = prometheus.NewDesc("tributary_spilled_bytes_total", "Bytes written to temporary files.", []string{"node"}, nil)
	damaged  = prometheus.NewDesc("tributary_segments_damaged_total", "Segments found damaged or missing on a node.", []string{"node"}, nil)
	repaired = prometheus.NewDesc("tributary_segments_repaired_total", "Damaged segments that were replaced from another replica.", []string{"node"}, nil)
	scrubbed = prometheus.NewDesc("tributary_scrub_completed_timestamp_seconds", "When a node last finished checking all its segments for damage.", []string{"node"}, nil)
	cached   = prometheus.NewDesc("tributary_models_cached_bytes", "Memory that a node's decoded models take.", []string{"node"}, nil)
	idle     = prometheus.NewDesc("tributary_models_idle_bytes", "The part of tributary_models_cached_bytes that no statement uses; it is dropped when memory is needed.", []string{"node"}, nil)
	loads    = prometheus.NewDesc("tributary_models_loaded_total", "Models that a node has decoded to predict with.", []string{"node"}, nil)
	admitted = prometheus.NewDesc("tributary_statements_admitted", "Statements that are admitted to a node, to keep rows there.", []string{"node"}, nil)
	queued   = prometheus.NewDesc("tributary_statements_queued", "Statements that wait to be admitted.", []string{"node"}, nil)
	lets     = prometheus.NewDesc("tributary_admissions_total", "Statements that a node has admitted.", []string{"node"}, nil)
	waited   = prometheus.NewDesc("tributary_admission_wait_seconds_total", "Time that statements have waited to be admitted to a node.", []string{"node"}, nil)
	up       = prometheus.NewDesc("tributary_node_up", "Whether a member is ready.", []string{"node"}, nil)
	sessions = prometheus.NewDesc("tributary_sessions", "Sessions of this gateway by state.", []string{"state"}, nil)
	jobs     = prometheus.NewDesc("tributary_training_jobs", "Running trainings.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.src.State()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, n := range st.Nodes {
		gauge(memUsed, float64(n.Used), n.Name)
		gauge(memIdle, float64(n.Idle), n.Name)
		gauge(memLimit, float64(n.Limit), n.Name)
		ch <- prometheus.MustNewConstMetric(spilled, prometheus.CounterValue, float64(n.Spill), n.Name)
		ch <- prometheus.MustNewConstMetric(damaged, prometheus.CounterValue, float64(n.Damaged), n.Name)
		ch <- prometheus.MustNewConstMetric(repaired, prometheus.CounterValue, float64(n.Repaired), n.Name)
		gauge(scrubbed, float64(n.Scrubbed), n.Name)
		gauge(cached, float64(n.ModelBytes), n.Name)
		gauge(idle, float64(n.IdleModelBytes), n.Name)
		ch <- prometheus.MustNewConstMetric(loads, prometheus.CounterValue, float64(n.ModelLoads), n.Name)
		gauge(admitted, float64(n.Admitted), n.Name)
		gauge(queued, float64(n.Queued), n.Name)
		ch <- prometheus.MustNewConstMetric(lets, prometheus.CounterValue, float64(n.Admissions), n.Name)
		ch <- prometheus.MustNewConstMetric(waited, prometheus.CounterValue, n.AdmissionWait, n.Name)
		ready := 0.0
		if n.State == "ready" {
			ready = 1
		}
		gauge(up, ready, n.Name)
	}
	for _, state := range []string{"active", "idle", "idle in transaction", "idle in transaction (aborted)"} {
		gauge(sessions, float64(st.Sessions[state]), state)
	}
	gauge(jobs, float64(st.Trainings))
}
