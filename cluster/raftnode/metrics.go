package raftnode

import (
	"strconv"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/meta"
)

// Metrics are what a node counts of its log and its commits, a prometheus.Collector.
type Metrics struct {
	raft    func() *raft.Raft
	applied func() uint64
	commits prometheus.Histogram // of this node's, in seconds, until they are applied here
	syncs   prometheus.Histogram // of the journal, in seconds
}

// fromMicroseconds are the upper bounds of classes from 64 µs on, each four times the former.
var fromMicroseconds = prometheus.ExponentialBuckets(64e-6, 4, 10)

func newMetrics(of func() *raft.Raft, applied func() uint64) *Metrics {
	return &Metrics{raft: of, applied: applied,
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "tributary_commit_seconds", Buckets: fromMicroseconds,
			Help: "How long this node's commits took until a majority had them and they were applied here."}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "tributary_log_sync_seconds", Buckets: fromMicroseconds,
			Help: "How long the disk took to keep entries of the replicated log."}),
	}
}

var (
	termDesc     = prometheus.NewDesc("tributary_raft_term", "The term of the replicated log: it grows with each election of a leader.", nil, nil)
	leaderDesc   = prometheus.NewDesc("tributary_raft_leader", "Whether this node leads the cluster.", nil, nil)
	lastDesc     = prometheus.NewDesc("tributary_raft_last_index", "The last entry in this node's log.", nil, nil)
	appliedDesc  = prometheus.NewDesc("tributary_raft_applied_index", "The last commit that this node has applied. A node whose index is below the others' lags.", nil, nil)
	snapshotDesc = prometheus.NewDesc("tributary_raft_snapshot_index", "The commit with which this node's last snapshot of the catalog ends.", nil, nil)
)

// timed runs a commit of this node and counts how long it took.
func (m *Metrics) timed(commit func() (meta.Response, error)) (meta.Response, error) {
	since := time.Now()
	r, err := commit()
	if err == nil {
		m.commits.Observe(time.Since(since).Seconds())
	}
	return r, err
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{termDesc, leaderDesc, lastDesc, appliedDesc, snapshotDesc, m.commits.Desc(), m.syncs.Desc()} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v uint64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	r := m.raft()
	gauge(termDesc, r.CurrentTerm())
	leads := uint64(0)
	if r.State() == raft.Leader {
		leads = 1
	}
	gauge(leaderDesc, leads)
	gauge(lastDesc, r.LastIndex())
	gauge(appliedDesc, m.applied())
	if index, err := strconv.ParseUint(r.Stats()["last_snapshot_index"], 10, 64); err == nil {
		gauge(snapshotDesc, index)
	}
	for _, c := range []prometheus.Metric{m.commits, m.syncs} {
		ch <- c
	}
}
