package repl

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/sql/catalog"
)

var (
	heldDesc    = prometheus.NewDesc("tributary_files", "Files of tables, models and checkpoints that this node holds.", nil, nil)
	bytesDesc   = prometheus.NewDesc("tributary_file_bytes", "Bytes of the files that this node holds.", nil, nil)
	hitsDesc    = prometheus.NewDesc("tributary_storage_hits_total", "Files of the cluster's storage that were opened and were on the node's disk.", nil, nil)
	fetchesDesc = prometheus.NewDesc("tributary_storage_fetches_total", "Files that the node has got from the cluster's storage.", nil, nil)
	fetchedDesc = prometheus.NewDesc("tributary_storage_fetched_bytes_total", "Bytes that the node has got from the cluster's storage.", nil, nil)
	evictedDesc = prometheus.NewDesc("tributary_storage_evicted_total", "Files that the node has dropped, as the cluster's storage has them.", nil, nil)
	cacheDesc   = prometheus.NewDesc("tributary_storage_cache_bytes", "Bytes of the files on the node's disk, about: those in the cluster's storage may be dropped.", nil, nil)
	shortDesc   = prometheus.NewDesc("tributary_files_under_replicated", "Files of this node with fewer copies on live nodes than the cluster can hold, at most 3.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *Repl) Describe(ch chan<- *prometheus.Desc) {
	ch <- heldDesc
	ch <- bytesDesc
	ch <- shortDesc
	ch <- hitsDesc
	ch <- fetchesDesc
	ch <- fetchedDesc
	ch <- evictedDesc
	ch <- cacheDesc
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
	for _, h := range catalog.HeldFiles(r.c.Current()) {
		if !slices.Contains(h.File.Nodes, r.c.ID()) {
			continue
		}
		held++
		bytes += h.File.Bytes
		if h.File.InBucket() {
			continue
		}
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
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []struct {
		desc *prometheus.Desc
		kind prometheus.ValueType
		n    int64
	}{{heldDesc, gauge, held}, {bytesDesc, gauge, bytes}, {shortDesc, gauge, short}, {cacheDesc, gauge, r.o.Store.Cache.Held()}, {hitsDesc, counter, r.o.Store.Cache.Hits()},
		{fetchesDesc, counter, r.stored.fetches.Load()}, {fetchedDesc, counter, r.stored.bytes.Load()}, {evictedDesc, counter, r.stored.evicted.Load()}} {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.n))
	}
}
