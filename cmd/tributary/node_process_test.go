package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestNodeCommand takes a node out by the command: it is listed before and not
// after, and its process ends by itself, as one that did what was asked.
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
	if out, err := run("explode", nodes[2].Name); err == nil || !strings.Contains(out, "usage") {
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
	case <-time.After(time.Minute):
		t.Fatal("the process goes on")
	}
	if list, err = run("list"); err != nil || strings.Contains(list, nodes[2].Name) {
		t.Fatal(list, err)
	}
	if n := value[int64](t, c, "SELECT count(DISTINCT s) FROM t"); n != 20000 {
		t.Fatal(n)
	}
}
