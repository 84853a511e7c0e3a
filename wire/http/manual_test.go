package http_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/wire/http"
)

// TestManualMetrics: the manual lists the metrics that a node exports.
func TestManualMetrics(t *testing.T) {
	_, body := get(t, start(t, http.Options{Source: &source{ready: true}})+"/metrics", "", "")
	var rows [][]string
	labels := map[string]string{}
	for _, l := range strings.Split(body, "\n") {
		if name, rest, ok := strings.Cut(l, "{"); ok && strings.HasPrefix(name, "tributary_") {
			labels[name], _, _ = strings.Cut(rest, "=")
		}
	}
	for _, l := range strings.Split(body, "\n") {
		w := strings.SplitN(l, " ", 4)
		if len(w) == 4 && w[1] == "HELP" && strings.HasPrefix(w[2], "tributary_") {
			rows = append(rows, []string{"`" + w[2] + "`", labels[w[2]], w[3]})
		}
	}
	if !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == "`tributary_node_up`" && r[1] == "node" }) {
		t.Errorf("the metrics are not understood:\n%s", body)
	}
	manual.Part(t, "docs/operations/watching.md", "metrics", manual.Table([]string{"metric", "label", "meaning"}, rows))
}
