package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDirectory removes parts of a member's directory: the node refuses to
// start, with a hint, and never starts with empty data.
func TestDirectory(t *testing.T) {
	data := t.TempDir()
	c := newCluster(t, 0)
	m := c.start(data, "", "n0")
	c.ready(m)
	m.stop(t)
	open := func(join bool) error {
		d, err := raftnode.OpenDir(data, join, "segments")
		if err == nil {
			d.Close()
		}
		return err
	}
	segments, file := filepath.Join(data, "segments"), filepath.Join(data, "identity")
	if err := os.Mkdir(segments, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := open(false); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	for _, part := range []string{"raft", "raft/log.db", "segments", "identity"} {
		p := filepath.Join(data, part)
		if err := os.Rename(p, aside); err != nil {
			t.Fatal(err)
		}
		for _, join := range []bool{false, true} {
			err := open(join)
			if !pgerr.Is(err, pgerr.DataCorrupted) || pgerr.From(err).Hint == "" {
				t.Errorf("without %s (join %v): %v", part, join, err)
			}
		}
		if err := os.Rename(aside, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "x", "tributary 1\nnode 0\n", strings.Replace(string(whole), "member", "king", 1), strings.Replace(string(whole), "cluster ", "cluster 00", 1)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(false); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("identity %q: %v", text, err)
		}
	}
	// Another node's log.
	other := regexp.MustCompile("node .*").ReplaceAllString(string(whole), "node 1234")
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := raftnode.OpenDir(data, false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := rpc.Listen(ln, trust, d.Identity, nil)
	defer srv.Close()
	_, err = raftnode.Start(raftnode.Options{Dir: d, Self: catalog.Node{Name: "n0", Addr: ln.Addr().String()}, Server: srv, Dialer: &rpc.Dialer{Trust: trust, Self: d.Identity}})
	if !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
}

// TestUnfinishedSnapshot: what a crash has left of a snapshot is gone when the node has started again.
func TestUnfinishedSnapshot(t *testing.T) {
	c := newCluster(t, 1)
	c.kill(0)
	left := filepath.Join(c.m[0].data, "raft", "snapshots", "2-100-1000.tmp")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "state.bin"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	c.restart(0)
	c.ready(c.m[0])
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestNoTakeover starts a node on an empty directory at a member's address, without --join: it founds
// a cluster of its own, and the cluster of the other members does not change.
func TestNoTakeover(t *testing.T) {
	c := newCluster(t, 3)
	c.must(0, set("a", "1"))
	lost := c.m[0]
	c.kill(0)
	members := c.m
	c.m = nil
	alien := c.start(t.TempDir(), lost.addr, "n0")
	c.m = members
	c.m[0] = alien
	c.ready(alien)
	for i := 1; i < 3; i++ {
		c.must(i, set("b", "2"))
		if c.reads(i, "a") != "1" || len(c.m[i].Current().Nodes()) != 3 {
			t.Fatal("the members have lost something")
		}
		if _, err := c.m[i].Peers().Action(context.Background(), lost.ID(), "raft.ping", nil); !strings.Contains(err.Error(), "not node") {
			t.Fatal("the reason does not arrive", err)
		}
		if _, err := c.m[i].Peers().ActionAt(context.Background(), 0, lost.addr, "raft.ping", nil); !strings.Contains(err.Error(), "belongs to cluster") {
			t.Fatal("the reason does not arrive", err)
		}
	}
	if n := alien.Current().Nodes(); len(n) != 1 || alien.Current().Cluster() == c.m[1].Current().Cluster() {
		t.Fatal("the new cluster has members of the old", n)
	}
	if _, ok := alien.Current().Setting("a"); ok {
		t.Fatal("how?")
	}
	eventually(t, "death is seen", func() bool { alive, _ := c.m[1].Liveness(lost.ID()); return !alive })
}

// TestBadJoiners lets nodes join a cluster of one with every kind of mistake. Whatever happens to a
// joining node, the cluster must keep its majority and so be able to commit.
func TestBadJoiners(t *testing.T) {
	c := newCluster(t, 1)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for _, bad := range []struct {
		addr string
		code pgerr.Code
	}{
		{"0.0.0.0:7400", pgerr.InvalidParameterValue},
		{"127.0.0.1:0", pgerr.InvalidParameterValue},
		{nobody.Addr().String(), pgerr.CannotConnectNow},
		{silent.Addr().String(), pgerr.CannotConnectNow},
		{c.m[0].addr, pgerr.CannotConnectNow}, // the address of another node
	} {
		d := &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{}, 4711)}
		p := rpc.NewPeers(d, nil)
		body := rpc.Encode(struct{ Node catalog.Node }{catalog.Node{ID: 4711, Name: "bad", Addr: bad.addr}})
		_, err := p.ActionAt(ctx, 0, c.m[0].addr, "raft.join", body)
		if !pgerr.Is(err, bad.code) || pgerr.From(err).Hint == "" {
			t.Errorf("%s: %v", bad.addr, err)
		}
		// A node that is not a member yet may call nothing but join.
		if _, err := p.ActionAt(ctx, 0, c.m[0].addr, "raft.ping", nil); !pgerr.Is(err, pgerr.ConnectionRejected) {
			t.Errorf("a guest pings: %v", err)
		}
		p.Close()
		if n := len(c.m[0].Current().Nodes()); n != 1 {
			t.Fatal("it was admitted", n)
		}
		c.must(0, set("a", bad.addr))
	}
	// Several nodes are admitted and die before they start.
	for _, name := range []string{"x", "y"} {
		m := c.start(t.TempDir(), "", name)
		c.ready(m)
		m.stop(t)
		c.must(0, set("a", name))
	}
	// A node whose name is in use gets an error and ends.
	dup := c.start(t.TempDir(), "", "x")
	defer dup.stop(t)
	if err := dup.WaitReady(ctx); !pgerr.Is(err, pgerr.DuplicateObject) {
		t.Fatal(err)
	}
}

func TestRemove(t *testing.T) {
	c := newCluster(t, 3)
	l := c.leader(0, 1, 2)
	id := c.m[l].ID()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[l].Remove(ctx, id); err != nil { // the leader removes itself
		t.Fatal(err)
	}
	other := (l + 1) % 3
	eventually(t, "two members", func() bool { return len(c.m[other].Current().Nodes()) == 2 })
	c.must(other, set("after", "1"))
	// A name in use cannot be taken by another node.
	c.m[0], c.m[other] = c.m[other], c.m[0]
	dup := c.start(t.TempDir(), "", c.m[0].Current().Nodes()[0].Name)
	defer dup.stop(t)
	short, stop := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer stop()
	if dup.WaitReady(short) == nil {
		t.Fatal("two nodes of one name")
	}
}

// TestRemovedIsGone: a node that has another removed sees at once that it is gone, though raft tells followers nothing unasked.
func TestRemovedIsGone(t *testing.T) {
	c := newCluster(t, 3, func(c *cluster) { c.tell, c.without = time.Hour, c.without&^raftnode.Learning })
	lead := c.leader(0, 1, 2)
	asks, goes := (lead+1)%3, (lead+2)%3
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	id := c.m[goes].ID()
	if err := c.m[asks].Remove(ctx, id); err != nil {
		t.Fatal(err)
	}
	if c.m[asks].Current().Node(id) != nil {
		t.Error("it is a member still")
	}
}

// TestRemovedNodeIsTold removes a live member: it is notified and stops, and does not start from its
// directory any more.
func TestRemovedNodeIsTold(t *testing.T) {
	c := newCluster(t, 3)
	lead := c.leader(0, 1, 2)
	gone, rest := (lead+1)%3, (lead+2)%3
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[rest].Remove(ctx, c.m[gone].ID()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.m[gone].Gone():
	case <-ctx.Done():
		t.Fatal("it was not told")
	}
	c.kill(gone)
	if _, err := raftnode.OpenDir(c.m[gone].data, true); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Fatal(err)
	}
	c.must(lead, set("a", "1"))
	// Its name is free for another node.
	c.m[gone] = c.start(t.TempDir(), "", []string{"n0", "n1", "n2"}[gone])
	c.ready(c.m[gone])
	if c.reads(gone, "a") != "1" {
		t.Fatal("not caught up")
	}
}

// TestDeadVoterIsReplaced loses two of four nodes, one long after the other.
func TestDeadVoterIsReplaced(t *testing.T) {
	c := newCluster(t, 4)
	first := c.leader(0, 1, 2)
	c.kill(first)
	var rest []int
	for i := range 4 {
		if i != first {
			rest = append(rest, i)
		}
	}
	c.must(rest[0], set("a", "1"))
	eventually(t, "the fourth votes in its stead", func() bool {
		for _, i := range rest {
			if v := c.m[i].Voters(); len(v) != 3 || slices.Contains(v, c.m[first].ID()) {
				return false
			}
		}
		return true
	})
	second := c.leader(rest...)
	c.kill(second)
	for _, i := range rest {
		if i != second {
			c.must(i, set("b", "2"))
			if c.reads(i, "a") != "1" {
				t.Fatal("lost")
			}
		}
	}
	c.m[first], c.m[second] = nil, nil
}

// TestDrainingLeader drains and removes the only voter of two nodes.
func TestDrainingLeader(t *testing.T) {
	c := newCluster(t, 2)
	lead := c.leader(0, 1)
	other := 1 - lead
	c.must(lead, set("a", "1"))
	c.must(lead, []catalog.Change{&catalog.DrainNode{ID: c.m[lead].ID(), Draining: true}})
	eventually(t, "the other leads and votes alone", func() bool {
		return c.m[other].Leads() && slices.Equal(c.m[other].Voters(), []uint64{c.m[other].ID()})
	})
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[other].Remove(ctx, c.m[lead].ID()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.m[lead].Gone():
	case <-ctx.Done():
		t.Fatal("it was not told")
	}
	c.kill(lead)
	c.m[lead] = nil
	c.must(other, set("a", "2"))
}

// TestLateSnapshot: a snapshot that comes after newer entries takes no voter its vote (Retaining).
func TestLateSnapshot(t *testing.T) {
	c := newCluster(t, 1)
	if c.without.Has(raftnode.Retaining) {
		t.Skip("raft as it is installs it")
	}
	if err := c.propose(0, set("a", "1")); err != nil {
		t.Fatal(err)
	}
	deliver, err := c.m[0].Delayed()
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 3; i++ {
		c.m = append(c.m, c.start(t.TempDir(), "", fmt.Sprint("n", i)))
		c.ready(c.m[i])
	}
	for end := time.Now().Add(longest); len(c.m[0].Voters()) < 3 || len(c.m[1].Voters()) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not all vote:", c.m[0].Voters(), c.m[1].Voters())
		}
	}
	if err := deliver(c.m[1].Node); err != nil {
		t.Fatal(err)
	}
	if v := c.m[1].Voters(); len(v) != 3 {
		t.Error("voters after a late snapshot:", v)
	}
	if err := c.propose(1, set("a", "2")); err != nil {
		t.Error(err)
	}
}
