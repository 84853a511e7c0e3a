package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	node "github.com/tributarydb/tributary/internal/process"
)

// TestNodeCommand removes a node by `node decommission`: it is listed before and not after, its
// process ends by itself with exit code 0, and no row is lost.
func TestNodeCommand(t *testing.T) {
	nodes := threeProcesses(t)
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(path, append([]string{"node", "--url", "postgres://tributary@" + nodes[0].PG + "/tributary?sslmode=disable"}, args...)...).CombinedOutput()
		return string(out), err
	}
	c := nodes[0].connect()
	do(t, c, "CREATE TABLE t AS SELECT g AS i, md5(g::text) AS s FROM generate_series(1, 20000) g")
	list, err := run("list")
	if err != nil || strings.Count(list, "ready") != 3 || !strings.Contains(list, nodes[2].Name) {
		t.Fatal(list, err)
	}
	if out, err := run("decommission", "nobody"); err == nil || !strings.Contains(out, "does not exist") {
		t.Fatal(out, err)
	}
	if out, err := run("explode", nodes[2].Name); err == nil || !strings.Contains(out, "Usage") {
		t.Fatal(out, err)
	}
	if out, err := run("decommission", nodes[2].Name); err != nil {
		t.Fatal(out, err)
	}
	select {
	case <-nodes[2].Done():
		if err := nodes[2].Err(); err != nil {
			t.Fatal(err)
		}
	case <-time.After(longest):
		t.Fatal("the process goes on")
	}
	if list, err = run("list"); err != nil || strings.Contains(list, nodes[2].Name) {
		t.Fatal(list, err)
	}
	if n := value[int64](t, c, "SELECT count(DISTINCT s) FROM t"); n != 20000 {
		t.Fatal(n)
	}
}

// TestAskedToEndBeforeReady: a node that is terminated while it still waits for its cluster ends
// without an error.
func TestAskedToEndBeforeReady(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	data, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(rpc.NewSecret().Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := node.Launch(nil, path, "serve", "--data", data, "--join-secret", secret, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
		"--memory", "1GiB", "--threads", "2", "--join", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for there := false; !there; {
		_, err := os.Stat(filepath.Join(data, "identity"))
		there = err == nil
		select {
		case <-n.Done():
			t.Fatal(n.Err(), n.Log())
		case <-ctx.Done():
			t.Fatal(n.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := n.Stop(ctx); err != nil {
		t.Error(err, n.Log())
	}
}

// TestAskedAgainToEnd: a node that is asked to end, over and over until it has, ends with exit code 0.
func TestAskedAgainToEnd(t *testing.T) {
	data := t.TempDir()
	for range 3 {
		p := startProcess(t, data, "")
		for ended := false; !ended; {
			_ = p.Signal(syscall.SIGTERM) // fails once it has ended
			select {
			case <-p.Done():
				ended = true
			default:
			}
		}
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
