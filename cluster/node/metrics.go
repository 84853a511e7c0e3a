package node

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/archive"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Collectors are the metrics of this node alone, each where it is counted, and those of all members.
func (n *Node) Collectors() (own, cluster []prometheus.Collector) {
	return []prometheus.Collector{n.observe, &n.traffic, n.raft.Metrics(), n.repl, n.engine.Trainings(), nodeCollector{n}, memberCollector{n, true}}, []prometheus.Collector{memberCollector{n, false}}
}

// nodeCollector collects what the node knows of itself without having counted it.
type nodeCollector struct{ n *Node }

var (
	sessionsDesc = prometheus.NewDesc("tributary_sessions", "Sessions of this gateway by state.", []string{"state"}, nil)
	behindDesc   = prometheus.NewDesc("tributary_archive_behind_seconds", "For how long a commit is there that is not in the archive, where this node leads; 0 for none.", nil, nil)
	failedDesc   = prometheus.NewDesc("tributary_archive_failures_total", "Attempts of the cluster to archive commits that failed, where this node leads.", nil, nil)
	takenDesc    = prometheus.NewDesc("tributary_storage_taken_over", "1 where another cluster has taken over the storage of this one, which then writes nothing; else 0.", nil, nil)
	buildDesc    = prometheus.NewDesc("tributary_build_info", "1: the version of the program, and of Go.", []string{"version", "goversion"}, nil)
)

// Describe implements prometheus.Collector.
func (nodeCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- sessionsDesc
	ch <- buildDesc
	ch <- behindDesc
	ch <- failedDesc
	ch <- takenDesc
}

// Collect implements prometheus.Collector.
func (c nodeCollector) Collect(ch chan<- prometheus.Metric) {
	states := map[string]int{}
	for _, s := range c.n.Engine().Sessions() {
		states[s.Info().Activity.State]++
	}
	for _, state := range []string{"active", "idle", "idle in transaction", "idle in transaction (aborted)"} {
		ch <- prometheus.MustNewConstMetric(sessionsDesc, gauge, float64(states[state]), state)
	}
	if st := c.n.raft.Current(); c.n.raft.Leads() {
		behind, failures := 0.0, int64(0)
		if _, since := archive.Behind(context.Background(), st, c.n.past.Commits); !since.IsZero() {
			behind = max(time.Since(since).Seconds(), 0)
		}
		if a := catalog.Archived(st); a != nil {
			failures = a.Failures
		}
		ch <- prometheus.MustNewConstMetric(behindDesc, gauge, behind)
		ch <- prometheus.MustNewConstMetric(failedDesc, counter, float64(failures))
	}
	taken := 0.0
	if catalog.TakenOver(c.n.raft.Current()) != nil {
		taken = 1
	}
	ch <- prometheus.MustNewConstMetric(takenDesc, gauge, taken)
	ch <- prometheus.MustNewConstMetric(buildDesc, gauge, 1, cmp.Or(c.n.o.Version, "unknown"), runtime.Version())
}

// memberCollector collects what members report of themselves: this node, or all of them.
type memberCollector struct {
	n   *Node
	own bool
}

// A memberMetric is a figure of each member.
type memberMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(m *sysview.NodeRow) float64
}

const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue

func ofMember(name, help string, kind prometheus.ValueType, of func(m *sysview.NodeRow) float64) memberMetric {
	return memberMetric{prometheus.NewDesc("tributary_"+name, help, []string{"node"}, nil), kind, of}
}

var memberMetrics = []memberMetric{
	ofMember("memory_used_bytes", "Memory that statements and trainings hold.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.MemoryUsed) }),
	ofMember("memory_idle_bytes", "The part of tributary_memory_used_bytes that is cache, such as decoded models and datasets of trainings; it is dropped when memory is needed.", gauge,
		func(m *sysview.NodeRow) float64 { return float64(m.MemoryIdle) }),
	ofMember("memory_limit_bytes", "The node's memory limit.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.MemoryLimit) }),
	ofMember("spilled_bytes_total", "Bytes written to temporary files.", counter, func(m *sysview.NodeRow) float64 { return float64(m.Spilled) }),
	ofMember("segments_damaged_total", "Segments found damaged or missing on a node.", counter, func(m *sysview.NodeRow) float64 { return float64(m.Damaged) }),
	ofMember("segments_repaired_total", "Damaged segments that were replaced from another replica.", counter, func(m *sysview.NodeRow) float64 { return float64(m.Repaired) }),
	ofMember("scrub_completed_timestamp_seconds", "When a node last finished checking all its segments for damage.", gauge, func(m *sysview.NodeRow) float64 {
		if m.ScrubCompleted.IsZero() {
			return 0
		}
		return float64(m.ScrubCompleted.Unix())
	}),
	ofMember("models_cached_bytes", "Memory that a node's decoded models take.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.Models.Bytes) }),
	ofMember("models_idle_bytes", "The part of tributary_models_cached_bytes that no statement uses; it is dropped when memory is needed.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.Models.Idle) }),
	ofMember("models_loaded_total", "Models that a node has decoded to predict with.", counter, func(m *sysview.NodeRow) float64 { return float64(m.Models.Loads) }),
	ofMember("statements_admitted", "Statements that are admitted to a node, to keep rows there.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.Admitted) }),
	ofMember("statements_queued", "Statements that wait to be admitted.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.Queued) }),
	ofMember("admissions_total", "Statements that a node has admitted.", counter, func(m *sysview.NodeRow) float64 { return float64(m.Admissions) }),
	ofMember("admission_wait_seconds_total", "Time that statements have waited to be admitted to a node.", counter, func(m *sysview.NodeRow) float64 { return m.AdmissionWait.Seconds() }),
	ofMember("disk_used_bytes", "Used bytes of the file system of the data directory.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.DiskUsed) }),
	ofMember("disk_free_bytes", "Free bytes of that file system; -1 where they are not known.", gauge, func(m *sysview.NodeRow) float64 { return float64(m.DiskFree) }),
	ofMember("heartbeat_age_seconds", "How long ago a member that is down was last heard of.", gauge, func(m *sysview.NodeRow) float64 { return m.HeartbeatAge.Seconds() }),
	ofMember("node_up", "Whether a member is ready.", gauge, func(m *sysview.NodeRow) float64 {
		if m.State == "ready" {
			return 1
		}
		return 0
	}),
}

// Describe implements prometheus.Collector.
func (memberCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range memberMetrics {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c memberCollector) Collect(ch chan<- prometheus.Metric) {
	for _, row := range c.n.Members() {
		if c.own && row.ID != c.n.dir.ID {
			continue
		}
		for _, m := range memberMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&row), row.Name)
		}
	}
}
