package http_test

import (
	"io"
	"log/slog"
	"net"
	gohttp "net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/wire/http"
)

type source struct{ ready bool }

func (s *source) Ready() bool { return s.ready }

func (s *source) Collectors() (own, cluster []prometheus.Collector) {
	all := prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_all", Help: "Of all."})
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_things", Help: "Things."})
	g.Set(2)
	return []prometheus.Collector{g}, []prometheus.Collector{all}
}

// narrow gives the connections that it accepts small send buffers, so that few answers fill them.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return c, err
}

func start(t *testing.T, o http.Options) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := http.NewServer(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(narrow{ln}) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func get(t *testing.T, url, user, password string) (int, string) {
	t.Helper()
	r, err := gohttp.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	resp, err := gohttp.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestPages(t *testing.T) {
	src := &source{}
	console := gohttp.HandlerFunc(func(w gohttp.ResponseWriter, r *gohttp.Request) { _, _ = io.WriteString(w, "console "+r.URL.Path) })
	url := start(t, http.Options{Source: src, Console: console})
	for path, want := range map[string]string{
		"/": "console /", "/models/m": "console /models/m", "/healthz": "ok", "/debug/pprof/": "goroutine", "/debug/pprof/cmdline": "",
		"/metrics": "tributary_things 2", "/metrics/cluster": "tributary_all 0",
	} {
		code, body := get(t, url+path, "", "")
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q", path, code, want)
		}
	}
	if _, body := get(t, url+"/metrics", "", ""); !strings.Contains(body, "go_goroutines") {
		t.Error("/metrics has nothing of Go")
	}
	if code, _ := get(t, url+"/readyz", "", ""); code != 503 {
		t.Errorf("not ready, and /readyz says %d", code)
	}
	src.ready = true
	if code, _ := get(t, url+"/readyz", "", ""); code != 200 {
		t.Errorf("ready, and /readyz says %d", code)
	}
}

// TestGuard: metrics and profiles need a password, the health checks none, however the path is written.
func TestGuard(t *testing.T) {
	ann := func(user, password string) bool { return user == "ann" && password == "secret" }
	url := start(t, http.Options{Source: &source{ready: true}, Allow: ann, Watch: ann})
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/trace", "//metrics", "/healthz/../metrics"} {
		for _, tc := range [][2]string{{"", ""}, {"ann", "x"}, {"bob", "secret"}} {
			if code, body := get(t, url+path, tc[0], tc[1]); code != 401 || strings.Contains(body, "n1") {
				t.Errorf("%s as %q: %d", path, tc, code)
			}
		}
	}
	if code, _ := get(t, url+"/metrics", "ann", "secret"); code != 200 {
		t.Errorf("with the password: %d", code)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, _ := get(t, url+path, "", ""); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// TestWatch: metrics are for who may watch, by name or by the token, and profiles are not.
func TestWatch(t *testing.T) {
	token := ""
	url := start(t, http.Options{Source: &source{ready: true}, Allow: func(string, string) bool { return false }, Token: func() string { return token },
		Watch: func(user, password string) bool { return user == "watcher" && password == "secret" }})
	for _, tc := range []struct {
		path, token, sent, user string
		want                    int
	}{
		{"/metrics", "", "", "watcher", 200}, {"/metrics/cluster", "", "", "watcher", 200}, {"/debug/pprof/", "", "", "watcher", 401}, {"/metrics", "", "", "ann", 401},
		{"/metrics", "a long token", "a long token", "", 200}, {"/metrics/cluster", "a long token", "a long token", "", 200}, {"/debug/pprof/", "a long token", "a long token", "", 401},
		{"/metrics", "a long token", "another", "", 401}, {"/metrics", "", "", "", 401},
	} {
		token = tc.token
		r, err := gohttp.NewRequest("GET", url+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.user != "" {
			r.SetBasicAuth(tc.user, "secret")
		} else {
			r.Header.Set("Authorization", "Bearer "+tc.sent)
		}
		a, err := gohttp.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != tc.want {
			t.Errorf("%+v: %d", tc, a.StatusCode)
		}
	}
}

func TestHosts(t *testing.T) {
	open, no := true, func(string, string) bool { return false }
	url := start(t, http.Options{Source: &source{ready: true}, Allow: no, Watch: no, Open: func() bool { return open }})
	for host, want := range map[string]int{"": 200, "localhost": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "db1:8080": 200,
		"evil.example.com": 421, "evil.example.com:8080": 421, "127.0.0.1.evil.example": 421} {
		r, err := gohttp.NewRequest("GET", url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := gohttp.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, a.StatusCode, want)
		}
	}
	open = false
	a, err := gohttp.Get(url + "/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if a.StatusCode != 401 {
		t.Errorf("once a password is set: %d", a.StatusCode)
	}
}
