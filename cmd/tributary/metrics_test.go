package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tributarydb/tributary/internal/manual"
)

var (
	help   = regexp.MustCompile(`^# HELP (tributary_\S+) (.*)`)
	series = regexp.MustCompile(`^(tributary_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? `)
	label  = regexp.MustCompile(`(\w+)="`)
	named  = regexp.MustCompile(`tributary_[a-z_]+`)
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestManualMetrics: a node exports its own metrics, which Prometheus' linter finds nothing in, and the manual lists
// them. The certificate's is there with certificates only.
func TestManualMetrics(t *testing.T) {
	s := testServer(t)
	s.access.expires.Store(1)
	ctx := t.Context()
	for _, user := range []string{"tributary", "nobody"} { // the second is refused
		c, err := pgx.Connect(ctx, "postgres://"+user+"@"+s.pg.Addr().String()+"/tributary?sslmode=disable")
		if (err == nil) != (user == "tributary") {
			t.Fatal(user, err)
		}
		if err != nil {
			continue
		}
		if _, err := c.Exec(ctx, "select 1/0"); err == nil {
			t.Fatal("divided by zero")
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	text := metricsOf(t, s, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "tributary_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	helps, labels := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(text) {
		if m := help.FindStringSubmatch(line); m != nil {
			helps[m[1]] = m[2]
		}
		if m := series.FindStringSubmatch(line); m != nil {
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if l[1] != "le" && !slices.Contains(labels[m[1]], l[1]) {
					labels[m[1]] = append(labels[m[1]], l[1])
				}
			}
		}
	}
	if helps["tributary_node_up"] == "" || !slices.Equal(labels["tributary_statement_errors_total"], []string{"class"}) || !slices.Equal(labels["tributary_logins_refused_total"], []string{"code"}) {
		t.Errorf("the metrics are not understood: %v %v", helps, labels)
	}
	var rows [][]string
	for name, text := range helps {
		rows = append(rows, []string{"`" + name + "`", strings.Join(labels[name], ", "), text})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	manual.Part(t, "docs/operations/watching.md", "metrics", manual.Table([]string{"metric", "label", "meaning"}, rows))
	for _, file := range []string{"packaging/prometheus/rules.yml", "packaging/prometheus/dashboard.json", "docs/tutorials/grafana.md", "docs/howto/alerts.md"} {
		b, err := os.ReadFile(filepath.Join(manual.Root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(b), -1) {
			if helps[suffix.ReplaceAllString(name, "")] == "" {
				t.Errorf("%s names %s, which no node exports", file, name)
			}
		}
	}
	if all := metricsOf(t, s, "/metrics/cluster"); !strings.Contains(all, "tributary_node_up{") || strings.Contains(all, "tributary_sessions") {
		t.Errorf("the cluster's metrics: %s", all)
	}
}

func metricsOf(t *testing.T, s *server, path string) string {
	t.Helper()
	r, err := http.Get("http://" + s.http.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	return string(b)
}
