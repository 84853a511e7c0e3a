package raftnode_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestRecover loses two of three voters for good, goes on with the third, takes
// a survivor back with its data, and refuses one that did not hear of it.
func TestRecover(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	c := newCluster(t, 3)
	for i := range 3 {
		c.must(i, set("a", "1"))
	}
	old := c.m[0].Current().Cluster()
	if _, err := raftnode.Survey(c.m[0].data, log); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatal("of a running node", err)
	}
	for i := range 3 {
		c.kill(i)
	}
	if _, err := raftnode.Survey(t.TempDir(), log); err == nil {
		t.Fatal("of an empty directory")
	}
	s, err := raftnode.Survey(c.m[0].data, log)
	if err != nil {
		t.Fatal(err)
	}
	if s.Node != c.m[0].ID() || s.Cluster != old || s.Index == 0 || len(s.Members) != 3 || !s.Members[1].Voter {
		t.Fatal(s)
	}
	if err := raftnode.Recover(c.m[0].data, log); err != nil {
		t.Fatal(err)
	}
	c.restart(0)
	c.ready(c.m[0])
	c.must(0, set("b", "2"))
	if c.reads(0, "a") != "1" || c.m[0].Current().Cluster() == old {
		t.Fatal("not recovered")
	}
	// The second comes back under its id.
	if err := raftnode.Rejoin(c.m[1].data, log); err != nil {
		t.Fatal(err)
	}
	id := c.m[1].ID()
	c.restart(1)
	c.ready(c.m[1])
	if c.reads(1, "b") != "2" || c.m[1].ID() != id {
		t.Fatal("not caught up")
	}
	// The third does not know of it, and changes nothing.
	c.restart(2)
	short, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.m[2].WaitReady(short); err == nil {
		t.Fatal("a member of the old cluster is one of the new")
	}
	c.must(1, set("c", "3"))
	if _, ok := c.m[2].Current().Setting("c"); ok {
		t.Fatal("how?")
	}
	c.kill(1)
	c.must(0, set("d", "4")) // it learned, and does not vote
	c.m[1] = nil
}

// TestForgottenVotes has a voter come back without its log: refused.
func TestForgottenVotes(t *testing.T) {
	c := newCluster(t, 3)
	lead := c.leader(0, 1, 2)
	i := (lead + 1) % 3
	c.kill(i)
	if err := raftnode.Rejoin(c.m[i].data, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	c.m[0], c.m[lead] = c.m[lead], c.m[0] // whom start asks
	if i == 0 {
		i = lead
	}
	c.restart(i)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.m[i].WaitReady(ctx); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Fatal(err)
	}
}
