package raftnode_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestRecover loses two of three voters and recovers with the third as the only one; another survivor
// rejoins with its data, and one that was not started with rejoin is refused.
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
	// The second rejoins under its id.
	if err := raftnode.Rejoin(c.m[1].data, log); err != nil {
		t.Fatal(err)
	}
	id := c.m[1].ID()
	c.restart(1)
	c.ready(c.m[1])
	if c.reads(1, "b") != "2" || c.m[1].ID() != id {
		t.Fatal("not caught up")
	}
	// The third was not told to rejoin; its votes have no effect.
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
	c.must(0, set("d", "4")) // it is a learner, and does not vote
	c.m[1] = nil
}

// heard is a log handler that sends the records that contain a text to a channel.
type heard struct {
	slog.Handler
	text string
	to   chan slog.Record
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }

func (h heard) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		select {
		case h.to <- r:
		default:
		}
	}
	return nil
}

// TestWaitsAloud: a node that cannot reach the others logs the addresses that it tries.
func TestWaitsAloud(t *testing.T) {
	c := newCluster(t, 3)
	there := c.m[1].addr
	for i := range c.m {
		c.kill(i)
	}
	h := heard{slog.DiscardHandler, "waits for its cluster", make(chan slog.Record, 1)}
	c.log = h
	c.restart(0)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.m[0].WaitReady(ctx) }()
	said := <-h.to
	cancel()
	if err := <-ended; err == nil {
		t.Fatal("ready alone")
	}
	at := false
	said.Attrs(func(a slog.Attr) bool {
		at = at || strings.Contains(a.Value.String(), there)
		return true
	})
	if !at {
		t.Fatalf("%v does not name %s", said, there)
	}
	c.m[1], c.m[2] = nil, nil
}

// TestForgottenVotes: a voter that returns without its log is refused: it has lost its record of the
// votes it cast, and could vote a second time in a term.
func TestForgottenVotes(t *testing.T) {
	c := newCluster(t, 3)
	lead := c.leader(0, 1, 2)
	i := (lead + 1) % 3
	c.kill(i)
	if err := raftnode.Rejoin(c.m[i].data, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	c.m[0], c.m[lead] = c.m[lead], c.m[0] // the node that start joins
	if i == 0 {
		i = lead
	}
	c.restart(i)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[i].WaitReady(ctx); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Fatal(err)
	}
}
