package training

import (
	"cmp"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/sql/catalog"
)

// outcomes counts the trainings that this node has driven to their end.
type outcomes struct{ done, failed, cancelled atomic.Int64 }

func (o *outcomes) count(s catalog.JobState) {
	switch s {
	case catalog.JobDone:
		o.done.Add(1)
	case catalog.JobCancelled:
		o.cancelled.Add(1)
	default:
		o.failed.Add(1)
	}
}

var (
	runningDesc = prometheus.NewDesc("tributary_training_jobs", "Running trainings that this node drives, by what they do.", []string{"phase"}, nil)
	endedDesc   = prometheus.NewDesc("tributary_trainings_total", "Trainings that this node has driven to their end.", []string{"result"}, nil)
)

// phases are the words with which the phases of a training begin.
var phases = []string{"read", "fit", "encode", "iterate", "evaluate", "other"}

// Describe implements prometheus.Collector.
func (j *Jobs) Describe(ch chan<- *prometheus.Desc) {
	ch <- runningDesc
	ch <- endedDesc
}

// Collect implements prometheus.Collector.
func (j *Jobs) Collect(ch chan<- prometheus.Metric) {
	running := map[string]int{}
	for _, job := range j.cfg.Catalog.Current().Jobs() {
		if job.State != catalog.JobRunning || job.Coordinator != j.cfg.Self {
			continue
		}
		phase := "other"
		for _, p := range phases {
			if strings.HasPrefix(cmp.Or(job.Phase, "read"), p) {
				phase = p
			}
		}
		running[phase]++
	}
	for _, p := range phases {
		ch <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, float64(running[p]), p)
	}
	for _, x := range []struct {
		result string
		n      int64
	}{{"done", j.outcomes.done.Load()}, {"failed", j.outcomes.failed.Load()}, {"cancelled", j.outcomes.cancelled.Load()}} {
		ch <- prometheus.MustNewConstMetric(endedDesc, prometheus.CounterValue, float64(x.n), x.result)
	}
}
