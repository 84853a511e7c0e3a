package pg

import (
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are what a server has counted since it was made, a prometheus.Collector.
type Metrics struct {
	open            func() (open int, dropped int64) // connections
	opened, in, out atomic.Int64

	mu      sync.Mutex
	refused map[string]int64 // logins by the SQLSTATE of the refusal
}

func (c *Metrics) refusedBy(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int64{}
	}
	c.refused[code]++
}

// countedReader counts what is read.
type countedReader struct {
	io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}

var (
	openDesc    = prometheus.NewDesc("tributary_connections", "Open connections of clients, those that have not logged in included.", nil, nil)
	openedDesc  = prometheus.NewDesc("tributary_connections_total", "Connections that clients have opened.", nil, nil)
	droppedDesc = prometheus.NewDesc("tributary_connections_dropped_total", "Connections that were dropped before their login since too many others waited.", nil, nil)
	refusedDesc = prometheus.NewDesc("tributary_logins_refused_total", "Logins that were refused, by SQLSTATE: 28P01 is a wrong password, 53300 too many sessions.", []string{"code"}, nil)
	bytesDesc   = prometheus.NewDesc("tributary_client_bytes_total", "Bytes of the messages of clients (in) and to them (out).", []string{"direction"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openDesc, openedDesc, droppedDesc, refusedDesc, bytesDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Metrics) Collect(ch chan<- prometheus.Metric) {
	open, dropped := c.open()
	c.mu.Lock()
	refused := maps.Clone(c.refused)
	c.mu.Unlock()
	counter := func(d *prometheus.Desc, n int64, label ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label...)
	}
	ch <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(open))
	counter(openedDesc, c.opened.Load())
	counter(droppedDesc, dropped)
	counter(bytesDesc, c.in.Load(), "in")
	counter(bytesDesc, c.out.Load(), "out")
	for _, code := range slices.Sorted(maps.Keys(refused)) {
		counter(refusedDesc, refused[code], code)
	}
}
