package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAuditLog: the audit records are in the file of --audit-log, which only its owner can read and to
// which a restart appends; without that flag they are in the server's log.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.log")
	args := []string{"serve", "--data", filepath.Join(dir, "data"), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "1GiB", "--threads", "2"}
	fields := regexp.MustCompile(`audit\.user=(\S+) .*audit\.statement=("[^"]*"|\S+) (?:audit\.objects=(\S+) )?.*audit\.result=(\S+)`)
	shown := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "msg=audit ") {
				continue
			}
			m := fields.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("a record is %s", line)
			}
			out = append(out, strings.Join(m[1:], " "))
		}
		return out
	}
	run := func(more ...string) string {
		p, err := launch(t, dir, append(slices.Clone(args), more...)...)
		if err != nil {
			t.Fatal(err)
		}
		do(t, p.connect(), "DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 'geheim'")
		if got := login(t, p, "ann", "geheimer"); got != "28P01" {
			t.Fatalf("a wrong password gives %s", got)
		}
		if got := login(t, p, "ann", "geheim"); got != "ann" {
			t.Fatalf("the password gives %s", got)
		}
		p.signal(syscall.SIGTERM)
		select {
		case <-p.Done():
		case <-time.After(longest):
			t.Fatal("the node does not leave")
		}
		if strings.Contains(p.Log(), "geheim") {
			t.Errorf("a password is in the log:\n%s", p.Log())
		}
		return p.Log()
	}
	want := []string{"tributary LOGIN  ok", `tributary "DROP ROLE" [ann] ok`, `tributary "CREATE ROLE" [ann] ok`, "ann LOGIN  28P01"}
	if got := shown(run("--audit-log", file)); got != nil {
		t.Errorf("the server's log has records: %q", got)
	}
	read := func() []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "geheim") {
			t.Errorf("a password is in the audit log:\n%s", text)
		}
		return shown(string(text))
	}
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("the audit log has\n %q, not\n %q", got, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	run("--audit-log", file)
	if got := read(); !slices.Equal(got, append(slices.Clone(want), want...)) {
		t.Errorf("after a restart the audit log has %q", got)
	}
	if got := shown(run()); !slices.Equal(got, want) {
		t.Errorf("the server's log has %q", got)
	}
}
