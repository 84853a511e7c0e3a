package observe

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	statementsDesc = prometheus.NewDesc("tributary_statements_total", "Statements that this node's sessions have ended.", nil, nil)
	errorsDesc     = prometheus.NewDesc("tributary_statement_errors_total", "Statements that failed, by the class of their SQLSTATE, its first two characters.", []string{"class"}, nil)
	secondsDesc    = prometheus.NewDesc("tributary_statement_seconds", "How long statements took, commits included, by what they do.", []string{"kind"}, nil)
	rowsDesc       = prometheus.NewDesc("tributary_statement_rows_total", "Rows that statements returned or wrote.", nil, nil)
)

// Describe implements prometheus.Collector.
func (n *Node) Describe(ch chan<- *prometheus.Desc) {
	ch <- statementsDesc
	ch <- errorsDesc
	ch <- secondsDesc
	ch <- rowsDesc
}

// Collect implements prometheus.Collector.
func (n *Node) Collect(ch chan<- prometheus.Metric) {
	n.Gather()
	all := &Load{}
	n.mu.Lock()
	all.add(n.total)
	all.add(n.load)
	n.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(statementsDesc, prometheus.CounterValue, float64(all.Statements))
	ch <- prometheus.MustNewConstMetric(rowsDesc, prometheus.CounterValue, float64(all.rows))
	for _, class := range slices.Sorted(maps.Keys(all.classes)) {
		ch <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, float64(all.classes[class]), class)
	}
	for k := range all.kinds {
		ch <- all.kind(Kind(k)).metric(kindNames[k])
	}
}

func (k *kindLoad) metric(kind string) prometheus.Metric {
	buckets, below := map[float64]uint64{}, uint64(0)
	for i, n := range k.latency {
		// A class ends where the next begins: every second power of two is a bucket.
		if i >= 20 && i%8 == 0 && i < 120 {
			buckets[bound(i).Seconds()] = below
		}
		below += n
	}
	return prometheus.MustNewConstHistogram(secondsDesc, below, k.took.Seconds(), buckets, kind)
}
