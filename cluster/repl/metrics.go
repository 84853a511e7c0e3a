package repl

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/place"
)

var (
	heldDesc  = prometheus.NewDesc("tributary_files", "Files of tables, models and checkpoints that this node holds.", nil, nil)
	bytesDesc = prometheus.NewDesc("tributary_file_bytes", "Bytes of the files that this node holds.", nil, nil)
	shortDesc = prometheus.NewDesc("tributary_files_under_replicated", "Files of this node with fewer copies on live nodes than the cluster can hold, at most 3.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *Repl) Describe(ch chan<- *prometheus.Desc) {
	ch <- heldDesc
	ch <- bytesDesc
	ch <- shortDesc
}

// Collect implements prometheus.Collector.
func (r *Repl) Collect(ch chan<- prometheus.Metric) {
	alive, want := map[uint64]bool{}, 0
	for _, n := range r.members() {
		if alive[n.ID] = n.Alive; !n.Draining {
			want++
		}
	}
	want = min(want, place.Replicas)
	var held, bytes, short int64
	for _, h := range files(r.c.Current()) {
		if !slices.Contains(h.File.Nodes, r.c.ID()) {
			continue
		}
		held++
		bytes += h.File.Bytes
		copies := 0
		for _, id := range h.File.Nodes {
			if alive[id] {
				copies++
			}
		}
		if copies < want {
			short++
		}
	}
	for _, m := range []struct {
		desc *prometheus.Desc
		n    int64
	}{{heldDesc, held}, {bytesDesc, bytes}, {shortDesc, short}} {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.n))
	}
}
