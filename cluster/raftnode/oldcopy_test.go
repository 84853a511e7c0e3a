package raftnode_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// keep copies a stopped node's directory.
func keep(t *testing.T, data string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	return to
}

// putBack replaces a directory, or a part of it, by a copy.
func putBack(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// refuses waits until a node ends because something that it or its cluster had is missing.
func refuses(t *testing.T, m *member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	select {
	case err := <-m.Failed():
		if !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Error(err)
		}
		if err := m.WaitReady(ctx); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("it goes on")
	}
}

// TestOlderCopyBesideItsPeers: a voter that starts from an older copy of its directory is told by the
// others, and stops before it votes; from its newest it starts.
func TestOlderCopyBesideItsPeers(t *testing.T) {
	c := newCluster(t, 3)
	for _, at := range []string{"a follower", "the leader"} {
		i := c.leader(0, 1, 2)
		if at == "a follower" {
			i = (i + 1) % 3
		}
		c.kill(i)
		old := keep(t, c.m[i].data)
		c.restart(i)
		c.ready(c.m[i])
		for k := range 20 {
			c.must(k%3, set("a", fmt.Sprint(at, k)))
		}
		c.reads(i, "a")
		c.kill(i)
		newest := keep(t, c.m[i].data)
		putBack(t, old, c.m[i].data)
		c.restart(i)
		refuses(t, c.m[i])
		c.must((i+1)%3, set("b", at))
		c.kill(i)
		putBack(t, newest, c.m[i].data)
		c.restart(i)
		c.ready(c.m[i])
		if c.reads(i, "b") != at {
			t.Error("not caught up")
		}
	}
}

// TestOlderCopiesMakeAMajority: two voters without an acknowledged commit make a leader while the third,
// which has applied it, is down. When that one comes back it does not take the commit back but
// stops, at each start.
func TestOlderCopiesMakeAMajority(t *testing.T) {
	c := newCluster(t, 3)
	a := c.leader(0, 1, 2)
	b, late := (a+1)%3, (a+2)%3
	c.must(a, set("a", "old"))
	c.kill(late)
	c.kill(b)
	old := keep(t, c.m[b].data)
	c.restart(b)
	c.leader(a, b)
	for k := range 20 {
		c.must(a, set("a", fmt.Sprint(k)))
	}
	c.reads(b, "a")
	c.kill(b)
	c.kill(a)
	putBack(t, old, c.m[b].data)
	c.restart(b)
	c.restart(late)
	c.leader(b, late)
	for { // the two may elect another leader while it is on its way
		err := c.propose(b, set("b", "new"))
		if err == nil {
			break
		}
		if !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			t.Fatal(err)
		}
	}
	if got := c.reads(b, "a"); got != "old" {
		t.Fatal("nobody could know:", got)
	}
	for range 2 {
		c.restart(a)
		refuses(t, c.m[a])
		c.kill(a)
	}
	c.m[a] = nil
}

// TestOlderPart: an older raft folder in a directory that is newer is refused without anybody else.
func TestOlderPart(t *testing.T) {
	c := newCluster(t, 1)
	c.must(0, set("a", "1"))
	c.kill(0)
	data := c.m[0].data
	old := keep(t, data)
	c.restart(0)
	c.ready(c.m[0])
	c.must(0, set("a", "2"))
	c.kill(0)
	newest := keep(t, data)
	putBack(t, old+"/raft", data+"/raft")
	c.m[0] = nil
	if err := c.starts(data); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
	// A new log is none of this directory's.
	putBack(t, newest, data)
	if err := os.Remove(data + "/raft/log.db"); err != nil {
		t.Fatal(err)
	}
	if err := c.starts(data); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
	// Marks that are cut off.
	putBack(t, newest, data)
	if err := os.Truncate(data+"/marks", 20); err != nil {
		t.Fatal(err)
	}
	if err := c.starts(data); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
	// A directory of an earlier version has none.
	if err := os.Remove(data + "/marks"); err != nil {
		t.Fatal(err)
	}
	c.m[0] = c.start(data, "", "n0")
	c.ready(c.m[0])
	if c.reads(0, "a") != "2" {
		t.Error("lost")
	}
}
