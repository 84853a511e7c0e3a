package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestArchiveAfterAKill: of three nodes that lead one after the other, as each leader is killed, the archive has every acknowledged row:
// a cluster that is restored to a moment has those of that moment, on one node and on two.
func TestArchiveAfterAKill(t *testing.T) {
	nodes := threeProcesses(t)
	archive := filepath.Join(t.TempDir(), "archive")
	c := nodes[0].connect()
	do(t, c, "CREATE TABLE t (i int)")
	do(t, c, "ALTER SYSTEM SET archive_timeout = '1s'")
	do(t, c, "ALTER SYSTEM SET archive = '"+archive+"'")
	waitFor(t, c, "the archive", "SELECT state = 'archiving' FROM cluster.archive")
	leader := value[string](t, c, "SELECT pg_address FROM cluster.nodes WHERE leader")
	for _, n := range nodes {
		if n.PG != leader {
			c = n.connect()
		}
	}
	type moment struct {
		at   time.Time
		rows int64
	}
	var history []moment
	for i := range 60 {
		if i == 30 {
			for _, n := range nodes {
				if n.PG == leader {
					n.Kill()
				}
			}
		}
		for end := time.Now().Add(longest); ; {
			ctx, cancel := context.WithTimeout(context.Background(), longest)
			_, err := c.Exec(ctx, "INSERT INTO t SELECT $1 FROM generate_series(1, 100)", i)
			cancel()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		history = append(history, moment{value[time.Time](t, c, "SELECT clock_timestamp()"), value[int64](t, c, "SELECT count(*) FROM t")})
	}
	do(t, c, "INSERT INTO t VALUES (-1)")
	waitFor(t, c, "all commits in the archive", "SELECT commits_behind = 0 AND state = 'archiving' FROM cluster.archive")
	if out, err := tributary(t, "verify", archive); err != nil || !strings.Contains(out, "can be restored to any time from") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := tributary(t, "restore", "--from", archive, "--as-of", "2001-01-01T00:00:00Z", "--data", filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(out, "any time from") {
		t.Errorf("before there was an archive: %v\n%s", err, out)
	}
	pick := []moment{history[rand.IntN(30)], history[30+rand.IntN(29)]}
	for i, m := range pick {
		one := restoredNode(t, archive, "--as-of", m.at.UTC().Format(time.RFC3339Nano))
		r := one.connect()
		if got := value[int64](t, r, "SELECT count(*) FROM t"); got != m.rows {
			t.Errorf("at %s: %d rows, not %d", m.at, got, m.rows)
		}
		if i == 0 {
			continue
		}
		second := startProcess(t, t.TempDir(), "", one)
		if got := fmt.Sprint(value[int64](t, second.connect(), "SELECT count(*) FROM t"), value[string](t, r, "SHOW archive")); got != fmt.Sprint(m.rows, "") {
			t.Errorf("on the second node: %s", got)
		}
	}
}
