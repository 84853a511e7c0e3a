package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
)

// serveUntilEnd runs a node that is expected to end by itself; it returns what the
// node wrote to standard error.
func serveUntilEnd(t *testing.T, env string, args ...string) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"serve", "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
		"--memory", "1GiB", "--threads", "1"}, args...)...)
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err == nil || ctx.Err() != nil || strings.Contains(string(out), "ready") {
		t.Errorf("%v with %q: %v %s", args, env, err, out)
	}
	return log.String()
}

// TestJoinSecret joins a cluster without a secret, with wrong ones, and with the right one from a file
// and from the environment.
func TestJoinSecret(t *testing.T) {
	first := startProcess(t, t.TempDir(), "")
	file := filepath.Join(first.data, "cluster-secret")
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatal(st, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(other, []byte(rpc.NewSecret().Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, bytes.Repeat(text, 100000), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "joiner")
	for _, x := range []struct{ env, file, says, hint string }{
		{"", "", "needs the cluster's secret", "--join-secret"},
		{"", other, "has not the secret of the cluster", "cluster-secret"},
		{"TRIBUTARY_JOIN_SECRET=" + rpc.NewSecret().Text(), "", "has not the secret of the cluster", "cluster-secret"},
		{"TRIBUTARY_JOIN_SECRET=x", "", "is not a cluster's secret", "64 hexadecimal digits"},
		{"", bad, "does not hold a cluster's secret", "64 hexadecimal digits"},
	} {
		args := []string{"--data", data, "--join", first.Cluster}
		if x.file != "" {
			args = append(args, "--join-secret", x.file)
		}
		if log := serveUntilEnd(t, x.env, args...); !strings.Contains(log, x.says) || !strings.Contains(log, x.hint) {
			t.Errorf("%v %q says\n%s", args, x.env, log)
		}
	}
	if log := first.Log(); strings.Count(log, "has not the secret") != 1 || strings.Contains(log, strings.TrimSpace(string(text))) {
		t.Errorf("the member says\n%s", log)
	}
	// The directory of a node that was refused can join with the right secret later.
	t.Setenv("TRIBUTARY_JOIN_SECRET", string(text))
	second, err := launch(t, data, "serve", "--data", data, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
		"--memory", "1GiB", "--threads", "1", "--join", first.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	os.Unsetenv("TRIBUTARY_JOIN_SECRET")
	do(t, second.connect(), "CREATE TABLE t AS SELECT 1 AS i")
	// Once a node has joined, later starts need no secret, and one of another cluster is refused.
	cluster := second.Cluster
	second.Kill()
	second = startProcess(t, data, cluster)
	if n := value[int64](t, second.connect(), "SELECT count(*) FROM t"); n != 1 {
		t.Error(n)
	}
	second.Kill()
	if log := serveUntilEnd(t, "", "--data", data, "--join-secret", other); !strings.Contains(log, "is not that of data directory") {
		t.Error(log)
	}
	if err := os.Remove(filepath.Join(data, "cluster-secret")); err != nil {
		t.Fatal(err)
	}
	if log := serveUntilEnd(t, "", "--data", data); !strings.Contains(log, "has no file \"cluster-secret\"") || !strings.Contains(log, "--join-secret") {
		t.Error(log)
	}
	if third := startProcess(t, data, cluster, first); value[int64](t, third.connect(), "SELECT count(*) FROM t") != 1 {
		t.Error("not the member it was")
	}
}

// TestCertificatesReload replaces the certificates of two running nodes by those of another authority,
// step by step: they stay connected, and a third node with the new ones can join.
func TestCertificatesReload(t *testing.T) {
	before, after := certsFor(t), certsFor(t)
	var nodes []*process
	for _, name := range []string{"n1", "n2"} {
		join := ""
		if len(nodes) > 0 {
			join = nodes[0].Cluster
		}
		p, err := launchSecure(t, filepath.Join(before, name), join)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, p)
	}
	reload := func(p *process) {
		t.Helper()
		const line = "read again"
		n := strings.Count(p.Log(), line)
		p.signal(syscall.SIGHUP)
		for end := time.Now().Add(longest); strings.Count(p.Log(), line) == n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("not reloaded\n", p.Log())
			}
		}
	}
	read := func(path ...string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put := func(b []byte, path ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(path...), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	both := append(read(before, "ca.crt"), read(after, "ca.crt")...)
	for _, step := range []func(name string){
		func(name string) { put(both, before, name, "ca.crt") },
		func(name string) {
			put(read(after, name, "node.crt"), before, name, "node.crt")
			put(read(after, name, "node.key"), before, name, "node.key")
		},
		func(name string) { put(read(after, "ca.crt"), before, name, "ca.crt") },
	} {
		for i, name := range []string{"n1", "n2"} {
			step(name)
			reload(nodes[i])
		}
	}
	// A file that is no certificate is not loaded: the current one stays.
	crt := read(before, "n1", "node.crt")
	put([]byte("x"), before, "n1", "node.crt")
	nodes[0].signal(syscall.SIGHUP)
	for end := time.Now().Add(longest); !strings.Contains(nodes[0].Log(), "stay as they were"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is said\n", nodes[0].Log())
		}
	}
	put(crt, before, "n1", "node.crt")
	third, err := launchSecure(t, filepath.Join(after, "n3"), nodes[1].Cluster)
	if err != nil {
		t.Fatal(err)
	}
	c := third.connect()
	do(t, c, "CREATE TABLE t AS SELECT g AS i FROM generate_series(1, 1000) g")
	if n := value[int64](t, c, "SELECT count(*) FROM cluster.nodes WHERE state = 'ready'"); n != 3 {
		t.Errorf("%d nodes are ready", n)
	}
}

// TestStartedAtOnce starts a joining node before the node that it joins, with the same secret.
func TestStartedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "later")
	type given struct {
		rpc.Secret
		error
	}
	got := make(chan given)
	go func() {
		s, err := secretGiven(t.Context(), file)
		got <- given{s, err}
	}()
	want := rpc.NewSecret()
	select {
	case g := <-got:
		t.Fatal("it does not wait", g.error)
	case <-time.After(100 * time.Millisecond):
	}
	if err := os.WriteFile(file+".tmp", []byte(want.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		t.Fatal(err)
	}
	if g := <-got; g.error != nil || g.Secret != want {
		t.Error(g.error)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := secretGiven(ctx, file+".no"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
