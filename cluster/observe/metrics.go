package observe

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	statementsDesc = prometheus.NewDesc("tributary_statements_total", "Statements that this node's sessions have ended.", nil, nil)
	errorsDesc     = prometheus.NewDesc("tributary_statement_errors_total", "Of those, the ones that failed.", nil, nil)
	secondsDesc    = prometheus.NewDesc("tributary_statement_seconds", "How long statements took, commits included.", nil, nil)
)

// Describe implements prometheus.Collector.
func (n *Node) Describe(ch chan<- *prometheus.Desc) {
	ch <- statementsDesc
	ch <- errorsDesc
	ch <- secondsDesc
}

// Collect implements prometheus.Collector.
func (n *Node) Collect(ch chan<- prometheus.Metric) {
	n.Gather()
	n.mu.Lock()
	all := n.total
	all.add(n.load, &n.load.latency)
	n.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(statementsDesc, prometheus.CounterValue, float64(all.Statements))
	ch <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, float64(all.Errors))
	buckets, below := map[float64]uint64{}, uint64(0)
	for i, k := range all.latency {
		// A class ends where the next begins: every second power of two is a bucket.
		if i >= 20 && i%8 == 0 && i < 120 {
			buckets[bound(i).Seconds()] = below
		}
		below += k
	}
	ch <- prometheus.MustNewConstHistogram(secondsDesc, below, all.took.Seconds(), buckets)
}
