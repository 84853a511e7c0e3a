package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cmd/shell"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestAbout: --version prints the version and the build; errors at the start are printed with their
// hint but without the SQLSTATE, which is for clients.
func TestAbout(t *testing.T) {
	if s := about(); !strings.Contains(s, version) || !strings.Contains(s, "go1.") {
		t.Errorf("%q", s)
	}
	defer func(c, d string) { commit, date = c, d }(commit, date)
	commit, date = "0123abc", "2026-05-04T03:02:01Z"
	if s := about(); !strings.Contains(s, "\ncommit 0123abc\n") || !strings.Contains(s, "\ndate   2026-05-04T03:02:01Z\n") {
		t.Errorf("%q", s)
	}
	for _, name := range []string{"--help", "-h", "--version"} {
		if asFlag[name] == "" {
			t.Errorf("%s is no command", name)
		}
	}
	for _, c := range []struct{ memory, says string }{{"10", "10GiB"}, {"0.5", "0.5GiB"}, {"64MiB", "128MiB"}, {"127MiB", "128MiB"}} {
		if _, err := readServe([]string{"--memory", c.memory}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("--memory %s: %v", c.memory, err)
		}
		if _, _, err := testNode(t.Context(), shell.EngineOptions{Memory: c.memory}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("an engine in the process, --memory %s: %v", c.memory, err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"--listen-pg", "--listen-http", "--listen-cluster"} {
		args := []string{"--data", t.TempDir(), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", flag, taken.Addr().String()}
		if err := serve(t.Context(), args); err == nil || !strings.Contains(err.Error(), "another address with --listen-pg") {
			t.Errorf("a %s that is taken: %v", flag, err)
		}
	}
	err = fmt.Errorf("starting: %w", pgerr.New(pgerr.IOError, "could not use data directory %q", "x").WithHint("Make it."))
	if got := plain(err); strings.Contains(got, string(pgerr.IOError)) || !strings.Contains(got, "could not use data directory") || !strings.HasSuffix(got, "Make it.") {
		t.Errorf("%q", got)
	}
}
