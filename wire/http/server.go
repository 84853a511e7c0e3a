package http

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Source is what the page and the metrics show.
type Source interface {
	State() State
	Ready() bool
}

// State is a moment of the node and its cluster. Bytes and seconds are the
// units.
type State struct {
	Node     string    `json:"node"`
	Nodes    []Node    `json:"nodes"`
	Sessions []Session `json:"sessions"`
	Jobs     []Job     `json:"jobs"`
	Models   []Model   `json:"models"`
}

// Node is a member of the cluster.
type Node struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Leader bool   `json:"leader"`
	PG     string `json:"pg"`
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
	RSS    int64  `json:"rss"`
	Spill  int64  `json:"spilled"`
	Cores  int    `json:"cores"`
}

// Session is a client's session with its statement.
type Session struct {
	PID     uint32  `json:"pid"`
	User    string  `json:"user"`
	State   string  `json:"state"`
	Query   string  `json:"query"`
	Seconds float64 `json:"seconds"`
	Memory  int64   `json:"memory"`
}

// Job is a running training with its losses so far.
type Job struct {
	Model     string    `json:"model"`
	Phase     string    `json:"phase"`
	Rows      int64     `json:"rows"`
	Iteration int       `json:"iteration"`
	Loss      []float64 `json:"loss"`
}

// Model is a trained model.
type Model struct {
	Name      string    `json:"name"`
	Algorithm string    `json:"algorithm"`
	Rows      int64     `json:"rows"`
	Loss      []float64 `json:"loss"`
	TrainLoss float64   `json:"train_loss"`
	SHA256    string    `json:"sha256"`
}

//go:embed page.html
var page []byte

// Server serves one listener.
type Server struct {
	srv *http.Server
}

// NewServer makes a server.
func NewServer(src Source, log *slog.Logger) *Server {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{src})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
		_, _ = w.Write(page)
	})
	mux.HandleFunc("GET /api/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(src.State())
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !src.Ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	return &Server{srv: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}}
}

// Serve accepts connections until Close.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the server and its connections.
func (s *Server) Close() { _ = s.srv.Close() }

// collector gives the node's gauges when they are scraped.
type collector struct{ src Source }

var (
	memUsed  = prometheus.NewDesc("tributary_memory_used_bytes", "Memory that statements and trainings hold.", []string{"node"}, nil)
	memLimit = prometheus.NewDesc("tributary_memory_limit_bytes", "The node's memory limit.", []string{"node"}, nil)
	spilled  = prometheus.NewDesc("tributary_spilled_bytes_total", "Bytes written to temporary files.", []string{"node"}, nil)
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
		gauge(memLimit, float64(n.Limit), n.Name)
		ch <- prometheus.MustNewConstMetric(spilled, prometheus.CounterValue, float64(n.Spill), n.Name)
		ready := 0.0
		if n.State == "ready" {
			ready = 1
		}
		gauge(up, ready, n.Name)
	}
	count := map[string]int{"active": 0, "idle": 0}
	for _, s := range st.Sessions {
		count[s.State]++
	}
	for state, n := range count {
		gauge(sessions, float64(n), state)
	}
	gauge(jobs, float64(len(st.Jobs)))
}
