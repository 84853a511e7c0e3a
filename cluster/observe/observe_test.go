package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tributarydb/tributary/exec/mem"
)

func TestHistogram(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("of nothing")
	}
	for i := 1; i <= 1000; i++ {
		h.add(time.Duration(i) * time.Millisecond)
	}
	h.add(1000 * time.Hour)
	h.add(-1)
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond} {
		if got := h.quantile(q); math.Abs(float64(got-want)) > 0.13*float64(want) {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
	for i := range len(h) - 1 {
		if classOf(bound(i)) != i || bound(i) >= bound(i+1) {
			t.Errorf("class %d begins at %v", i, bound(i))
		}
	}
}

// Times merged in any way are those of all values.
func TestTimes(t *testing.T) {
	var all, a, b Times
	for i, x := range []float64{3, 1, 4, 1, 5, 9, 2, 6} {
		all.Add(x)
		if i%3 == 0 {
			a.Add(x)
		} else {
			b.Add(x)
		}
	}
	a.Merge(b)
	a.Merge(Times{})
	if all.N != 8 || all.Total != 31 || all.Min != 1 || all.Max != 9 || math.Abs(all.Deviation()-2.5708) > 1e-3 {
		t.Error(all, all.Deviation())
	}
	if math.Abs(a.Deviation()-all.Deviation()) > 1e-9 || a.Mean() != all.Mean() {
		t.Error(a, all)
	}
}

// What is kept is charged, bounded, and given back.
func TestRing(t *testing.T) {
	pool := mem.NewPool("n", 64<<20)
	n := New(pool)
	for i := range 5000 {
		n.Logs.Add(&Log{Message: fmt.Sprint(i)})
	}
	all := n.Logs.All()
	if len(all) != keptLogs || all[0].Message != "3000" || all[len(all)-1].Message != "4999" {
		t.Error(len(all), all[0].Message)
	}
	for range 1000 {
		n.Logs.Add(&Log{Message: strings.Repeat("x", 2000)})
	}
	n.Logs.Add(&Log{Message: strings.Repeat("x", 10<<20)}) // is not kept
	if used := pool.Used(); used == 0 || used > 64<<20/share+1<<20 || pool.Idle() != used {
		t.Error(used, pool.Idle())
	}
	a := pool.Account("a", false)
	if !a.Try(60<<20 + 600<<10) {
		t.Error("the ring does not give way")
	}
	if n.Logs.Add(&Log{Message: "again"}); len(n.Logs.All()) > 1 {
		t.Error(len(n.Logs.All()))
	}
	a.Close()
}

// What sessions count is collected while they count on, and nothing is lost.
func TestCollectedMeanwhile(t *testing.T) {
	n := New(nil)
	const each, sessions = 500, 4
	var wg sync.WaitGroup
	for range sessions {
		s := n.Session()
		wg.Go(func() {
			for range each {
				s.Ended(&Statement{Fingerprint: 7}, func(int) string { return "select" })
			}
			s.Close()
		})
	}
	for range 200 {
		n.Gather()
	}
	wg.Wait()
	if all := n.Calls.All(); len(all) != 1 || all[0].Exec.N != each*sessions {
		t.Error(all)
	}
}

func TestCallsAreBounded(t *testing.T) {
	n := New(nil)
	s := n.Session()
	for i := range 5000 {
		s.Ended(&Statement{Fingerprint: int64(i), Took: time.Millisecond}, func(int) string { return "select" })
		s.Ended(&Statement{Fingerprint: -1, Took: time.Millisecond}, func(int) string { return "select" })
	}
	s.Close()
	all := n.Calls.All()
	if len(all) > keptCalls || all[0].Fingerprint != -1 || all[0].Exec.N != 5000 {
		t.Error(len(all), all[0])
	}
}

// Metrics count by what statements do and by the class of their errors, and go on when the load is taken.
func TestMetrics(t *testing.T) {
	n := New(nil)
	s := n.Session()
	for range 10 {
		s.Ended(&Statement{Kind: KindOf("SELECT"), Took: time.Millisecond, Rows: 2, Brief: true}, func(int) string { return "select" })
		s.Ended(&Statement{Kind: KindOf("COPY"), Took: time.Second, Code: "22P02", Brief: true}, nil)
	}
	s.Ended(&Statement{Kind: KindOf("INSERT"), Code: "23505", Brief: true}, nil)
	check := func() {
		t.Helper()
		for name, want := range map[string]string{
			"tributary_statements_total":                                      "21",
			"tributary_statement_rows_total":                                  "20",
			`tributary_statement_errors_total{class="22"}`:                    "10",
			`tributary_statement_errors_total{class="23"}`:                    "1",
			`tributary_statement_seconds_count{kind="select"}`:                "10",
			`tributary_statement_seconds_sum{kind="copy"}`:                    "10",
			`tributary_statement_seconds_count{kind="insert"}`:                "1",
			`tributary_statement_seconds_count{kind="train"}`:                 "0",
			`tributary_statement_seconds_bucket{kind="select",le="0.002048"}`: "10",
		} {
			if got := metric(t, n, name); got != want {
				t.Errorf("%s is %q, not %s", name, got, want)
			}
		}
	}
	check()
	if l := n.TakeLoad(); l.Statements != 21 || n.TakeLoad().Statements != 0 {
		t.Error(l.Statements)
	}
	check()
	s.Close()
	check()
}

// metric is the value of a series as Prometheus reads it, "" for none.
func metric(t *testing.T, c prometheus.Collector, name string) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// The samples of the last day are there after a restart; a damaged file begins afresh.
func TestSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load")
	var log bytes.Buffer
	open := func() *Samples { return OpenSamples(path, slog.New(slog.NewTextHandler(&log, nil))) }
	now := time.Unix(1_800_000_000, 0)
	s := open()
	for at := now.Add(-30 * time.Hour); at.Before(now); at = at.Add(Fine) {
		var l Load
		l.Statements = 100
		l.kind(Select).latency.add(3 * time.Millisecond)
		s.Add(Sample{At: float64(at.Unix()), Span: 10, CPU: 0.5, Sessions: 3}, &l)
	}
	check := func(s *Samples) {
		t.Helper()
		all := s.All(now)
		fine, coarse := 0, 0
		for _, x := range all {
			if x.Span == 10 {
				fine++
			} else {
				coarse++
			}
			if x.CPU != 0.5 || x.Sessions != 3 || x.Statements != 10 || x.P99 < 2.5 || x.P99 > 3.5 {
				t.Fatalf("%+v", x)
			}
		}
		if fine != keptFine || coarse != keptCoarse {
			t.Errorf("%d of the hour, %d of the day", fine, coarse)
		}
	}
	check(s)
	s.Close()
	s = open()
	check(s)
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil || len(whole) != samplesBytes || log.Len() != 0 {
		t.Fatal(len(whole), err, log.String())
	}
	damage := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	torn := bytes.Clone(whole)
	torn[len(samplesHeader)+5] ^= 1
	damage(torn)
	s = open()
	if n := len(s.All(now)); n != keptFine+keptCoarse-1 || log.Len() != 0 {
		t.Errorf("%d samples of a file that a crash tore: %s", n, log.String())
	}
	s.Close()
	twice := bytes.Clone(torn)
	twice[len(twice)-3] ^= 1
	for i, b := range [][]byte{twice, whole[:len(whole)-1], append(bytes.Clone(whole), 0), []byte("what"), append([]byte("x"), whole[1:]...)} {
		damage(b)
		log.Reset()
		s = open()
		if n := len(s.All(now)); n != 0 || !strings.Contains(log.String(), "begins afresh") {
			t.Errorf("damage %d: %d samples, %s", i, n, log.String())
		}
		var l Load
		s.Add(Sample{At: float64(now.Unix()), Span: 10}, &l)
		s.Close()
		s = open()
		if n := len(s.All(now)); n != 2 {
			t.Errorf("damage %d: %d samples afterwards", i, n)
		}
		s.Close()
	}
	// Where there can be no file it is done without.
	s = OpenSamples(filepath.Join(path, "no"), slog.New(slog.DiscardHandler))
	var l Load
	s.Add(Sample{At: float64(now.Unix()), Span: 10}, &l)
	if len(s.All(now)) != 2 {
		t.Error("not in memory")
	}
}

func TestLogHandler(t *testing.T) {
	n := New(nil)
	var out bytes.Buffer
	l := slog.New(n.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	l.Debug("no")
	l.Info("first", "a", 1)
	l.With("node", "n1").WithGroup("g").Error("second", "b", "x\"y", "message", "m")
	l.Info("third", "long", strings.Repeat("x", maxLog))
	all := n.Logs.All()
	if len(all) != 3 || all[0].Fields != `{"a":1}` || all[1].Level != "error" || all[2].Fields != "" {
		t.Fatalf("%+v", all)
	}
	var f map[string]any
	if err := json.Unmarshal([]byte(all[1].Fields), &f); err != nil || f["node"] != "n1" || f["g"].(map[string]any)["b"] != `x"y` {
		t.Error(all[1].Fields, err)
	}
	if s := out.String(); strings.Contains(s, "first") || !strings.Contains(s, "second") {
		t.Error(s)
	}
}

// In a node that is full what is new is not kept. It was asked for for ever: the only idle memory was the ring's own,
// which it could not give while it asked.
func TestRingInFullNode(t *testing.T) {
	pool := mem.NewPool("n", 64<<20)
	n := New(pool)
	text := strings.Repeat("x", 2000)
	for range 100 { // more than a block of what an account takes at once
		n.Logs.Add(&Log{Message: text})
	}
	a := pool.Account("a", false)
	defer a.Close()
	for a.TryFree(64 << 10) {
	}
	for range 100 {
		n.Logs.Add(&Log{Message: text})
	}
	if all := n.Logs.All(); len(all) == 0 || len(all) == 200 {
		t.Error(len(all))
	}
	if !a.Try(64 << 10) {
		t.Error("the ring does not give way")
	}
}
