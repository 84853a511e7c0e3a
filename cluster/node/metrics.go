package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Collectors are the metrics of the node, each where it is counted.
func (n *Node) Collectors() []prometheus.Collector {
	return []prometheus.Collector{n.observe, &n.traffic, memberCollector{n}}
}

// memberCollector collects what is known of all members, of this gateway's sessions and of trainings.
type memberCollector struct{ n *Node }

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
	ofMember("node_up", "Whether a member is ready.", gauge, func(m *sysview.NodeRow) float64 {
		if m.State == "ready" {
			return 1
		}
		return 0
	}),
}

var (
	sessionsDesc = prometheus.NewDesc("tributary_sessions", "Sessions of this gateway by state.", []string{"state"}, nil)
	trainingDesc = prometheus.NewDesc("tributary_training_jobs", "Running trainings.", nil, nil)
)

// Describe implements prometheus.Collector.
func (memberCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range memberMetrics {
		ch <- m.desc
	}
	ch <- sessionsDesc
	ch <- trainingDesc
}

// Collect implements prometheus.Collector.
func (c memberCollector) Collect(ch chan<- prometheus.Metric) {
	for _, row := range c.n.Members() {
		for _, m := range memberMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&row), row.Name)
		}
	}
	states := map[string]int{}
	for _, s := range c.n.Engine().Sessions() {
		states[s.Info().Activity.State]++
	}
	for _, state := range []string{"active", "idle", "idle in transaction", "idle in transaction (aborted)"} {
		ch <- prometheus.MustNewConstMetric(sessionsDesc, gauge, float64(states[state]), state)
	}
	running := 0
	for _, j := range c.n.Catalog().Jobs() {
		if j.State == catalog.JobRunning {
			running++
		}
	}
	ch <- prometheus.MustNewConstMetric(trainingDesc, gauge, float64(running))
}
