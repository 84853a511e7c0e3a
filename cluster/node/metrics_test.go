package node

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualMetrics: the manual lists the metrics that a node exports, of each of which there is one.
func TestManualMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(start(t, 1)[0].Collectors()...)
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, f := range all {
		label := ""
		if l := f.GetMetric()[0].GetLabel(); len(l) > 0 {
			label = l[0].GetName()
		}
		rows = append(rows, []string{"`" + f.GetName() + "`", label, f.GetHelp()})
	}
	if !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == "`tributary_node_up`" && r[1] == "node" }) {
		t.Errorf("the metrics are not understood: %v", rows)
	}
	manual.Part(t, "docs/operations/watching.md", "metrics", manual.Table([]string{"metric", "label", "meaning"}, rows))
}
