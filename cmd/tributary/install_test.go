package main

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cmd/flags"
)

// TestPrecedence: a flag comes before the environment, that before the file, that before the default.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("data: file\nnode: file\nzone: file\nmemory: 1GiB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"TRIBUTARY_CONFIG": file, "TRIBUTARY_DATA": "env", "TRIBUTARY_NODE": "env", "TRIBUTARY_JOIN_SECRET": "text", "TRIBUTARY_PORT": "tcp://10.0.0.1:5432"}
	s, err := readSettings(flags.New("serve", ""), []string{"--data", "flag"}, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if o := s.options; o.Data != "flag" || o.Name != "env" || o.Zone != "file" || s.listenPG != "127.0.0.1:5432" || !o.FixedMemory || s.joinSecret != "" {
		t.Errorf("%q %q %q %q", o.Data, o.Name, o.Zone, s.listenPG)
	}
	env["TRIBUTARY_THREADS"] = "many"
	if _, err := readSettings(flags.New("serve", ""), nil, func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "TRIBUTARY_THREADS") {
		t.Error(err)
	}
}

// TestVariables: every flag of serve is read from its variable, and yields to the command line.
func TestVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("zone: file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := map[string]string{
		"listen-pg": "127.0.0.1:1", "listen-http": "127.0.0.1:2", "listen-cluster": "127.0.0.1:3", "advertise": "10.0.0.1:7400", "join": "a:1,b:2", "data": "d", "temp": "t",
		"node": "n", "zone": "z", "join-secret": "s", "certs": "c", "memory": "1GiB", "threads": "3", "scrub-every": "1h0m0s", "scrub-rate": "1MiB",
		"config": file, "testing": "sweep=2s", "audit-log": "audit", "log-format": "json", "insecure": "true", "metrics-token": "token", "object-cache": "20MiB", "storage": "s3://bucket/prefix", "storage-cache": "20MiB",
	}
	env := map[string]string{}
	for name, v := range set {
		env[flags.Variable(name)] = v
	}
	fs := flags.New("serve", "")
	s, err := readSettings(fs, []string{"--node", "given"}, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	set["node"] = "given"
	fs.VisitAll(func(f *flag.Flag) {
		want, ok := set[f.Name]
		if got := f.Value.String(); !ok || got != want && f.Name != "testing" && f.Name != "log-format" || !fs.Given()[f.Name] {
			t.Errorf("%s: %q instead of %q", flags.Variable(f.Name), got, want)
		}
	})
	if s.options.Pace.Sweep != 2*time.Second || len(s.options.Join) != 2 || s.options.Memory != 1<<30 || env["TRIBUTARY_JOIN_SECRET_FILE"] != "s" || env["TRIBUTARY_LISTEN_PG"] == "" {
		t.Errorf("%+v %q", s.options, env)
	}
}

func TestConfigCheck(t *testing.T) {
	t.Setenv("TRIBUTARY_MEMORY", "many") // does not count
	for _, c := range []struct{ text, says string }{
		{"memory: 1GiB\nlisten-pg: 127.0.0.1:5432\n", ""},
		{"hba:\n- {type: host, database: all, user: all, address: 10.0.0.0/8, method: scram-sha-256}\n", ""},
		{"momory: 1GiB\n", "momory"},
		{"memory: 10\n", "10GiB"},
		{"listen-pg: 0.0.0.0:5432\n", "TLS"},
		{"hba:\n- {type: host, database: all, user: all, address: all, method: guess}\n", "guess"},
		{"certs: nowhere\n", "nowhere"},
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := checkConfig([]string{"check", file}, &out)
		if c.says == "" && (err != nil || !strings.Contains(out.String(), "can start")) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v %q", c.text, err, out.String())
		}
	}
}

// TestDoctor: what is wrong with a directory is told, and fails the command; a whole one of a stopped node passes.
func TestDoctor(t *testing.T) {
	data := filepath.Join(t.TempDir(), "n1")
	p := startProcess(t, data, "")
	run := func(args ...string) (string, error) {
		var out strings.Builder
		err := examine(t.Context(), append([]string{"--data", data, "--memory", "1GiB", "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0"}, args...), &out)
		return out.String(), err
	}
	out, err := run("--url", "postgres://tributary@"+p.PG+"/tributary", "--join", p.Cluster)
	for _, line := range []string{"in use by a running node", "ready, with version " + version, p.Cluster + " answers"} {
		if err != nil || !strings.Contains(out, line) {
			t.Errorf("running, no %q: %v\n%s", line, err, out)
		}
	}
	running := version
	version = "0.0.1"
	out, err = run("--url", "postgres://tributary@"+p.PG+"/tributary")
	version = running
	if err != nil || !strings.Contains(out, "with version "+running+", and this program is 0.0.1") {
		t.Errorf("another version: %v\n%s", err, out)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err != nil || !strings.Contains(out, "1 members") || strings.Contains(out, "fail") {
		t.Errorf("stopped: %v\n%s", err, out)
	}
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(data, "segments"), filepath.Join(data, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	out, err = run("--memory", "4TiB", "--join", dead.Addr().String())
	for _, what := range []string{"modes", "segments", "memory", "member"} {
		if err == nil || !strings.Contains(out, "fail  "+what) {
			t.Errorf("hurt, no failure of %q: %v\n%s", what, err, out)
		}
	}
}

// TestCompletion: every command and flag is in the scripts, which the shells that are there accept, and has its manual page.
func TestCompletion(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	man := t.TempDir()
	if out, err := exec.Command(path, "man", "--dir", man).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := exec.Command(path, "completion", shell).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if !strings.Contains(string(script), c.name) {
				t.Errorf("%s: no %s", shell, c.name)
			}
			page, err := os.ReadFile(filepath.Join(man, "tributary-"+c.name+".1"))
			if err != nil && c.hasFlags() {
				t.Error(err)
			}
			for _, f := range flagsOf(c) {
				if !strings.Contains(string(script), f.Name) || !strings.Contains(string(page), troff(dashed(f))) {
					t.Errorf("%s: %s has no --%s in its script or page", shell, c.name, f.Name)
				}
			}
		}
		if has, err := exec.LookPath(shell); err == nil {
			check := exec.Command(has, "-n")
			check.Stdin = strings.NewReader(string(script))
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", shell, err, out)
			}
		}
	}
}

// TestNotify: a service manager hears when the server is ready and when it stops.
func TestNotify(t *testing.T) {
	dir, err := os.MkdirTemp("", "notify") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	p := startProcess(t, t.TempDir(), "")
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		buf := make([]byte, 100)
		n, err := l.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("%q instead of %q: %v", buf[:n], want, err)
		}
	}
}

// TestCgroupLimits: the limits of a unit and of all that is around it hold, as does a container's, which sees its own as the root.
func TestCgroupLimits(t *testing.T) {
	const root = "/sys/fs/cgroup/"
	unit := []string{root + "system.slice/tributary.service/memory.max", root + "system.slice/memory.max", root + "memory.max"}
	for proc, want := range map[string][]string{"0::/system.slice/tributary.service\n": unit, "1:name=systemd:/x\n0::/\n": unit[2:], "": unit[2:]} {
		if got := cgroupLimits(proc); !slices.Equal(got, want) {
			t.Errorf("%q: %q", proc, got)
		}
	}
}
