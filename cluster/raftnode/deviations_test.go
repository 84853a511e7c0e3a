package raftnode_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tributarydb/tributary/cluster/raftnode"
)

func TestParseDeviations(t *testing.T) {
	d, err := raftnode.ParseDeviations("journal+learning")
	if err != nil || d != raftnode.Journal|raftnode.Learning {
		t.Errorf("%b %v", d, err)
	}
	if d, err = raftnode.ParseDeviations("all"); err != nil || d&raftnode.Beating == 0 || d&raftnode.Learning == 0 {
		t.Errorf("%b %v", d, err)
	}
	for _, list := range []string{"", "journal,learning", "speed"} {
		if _, err := raftnode.ParseDeviations(list); err == nil {
			t.Errorf("%q is a list of deviations", list)
		}
	}
}

// TestWithout commits and reads with each deviation from raft turned off, also after a restart, and with
// all that were on before turned off, and on again.
func TestWithout(t *testing.T) {
	for _, list := range []string{"learning", "applying", "writing", "journal", "campaigning", "bounding", "ending", "beating", "all"} {
		t.Run(list, func(t *testing.T) {
			d, err := raftnode.ParseDeviations(list)
			if err != nil {
				t.Fatal(err)
			}
			c := newCluster(t, 1, func(c *cluster) { c.without = d })
			for i, now := range []raftnode.Deviation{d, 0, d} {
				c.without = now
				if i > 0 {
					c.kill(0)
					c.restart(0)
					c.ready(c.m[0])
				}
				for k := range i {
					if v := c.reads(0, fmt.Sprint("s", k)); v != "1" {
						t.Fatalf("start %d: setting %d is %q", i, k, v)
					}
				}
				before := journal(t, c.m[0])
				c.must(0, set(fmt.Sprint("s", i), "1"))
				if v := c.reads(0, fmt.Sprint("s", i)); v != "1" {
					t.Fatalf("start %d: %q is read", i, v)
				}
				if used := !bytes.Equal(journal(t, c.m[0]), before); used != (now&raftnode.Journal == 0) {
					t.Errorf("start %d: the journal is used: %v", i, used)
				}
			}
		})
	}
}

// TestSeveralWithout is a cluster of three without any deviation, whose leader is lost.
func TestSeveralWithout(t *testing.T) {
	all, err := raftnode.ParseDeviations("all")
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, 3, func(c *cluster) { c.without = all })
	for i := range 3 {
		c.must(i, set(fmt.Sprint("s", i), "1"))
	}
	lost := c.leader(0, 1, 2)
	c.kill(lost)
	left := []int{(lost + 1) % 3, (lost + 2) % 3}
	lead := c.leader(left...)
	c.must(lead, set("s3", "1"))
	c.restart(lost)
	c.ready(c.m[lost])
	for i := range 3 {
		for k := range 4 {
			if v := c.reads(i, fmt.Sprint("s", k)); v != "1" {
				t.Errorf("node %d: setting %d is %q", i, k, v)
			}
		}
	}
}

func journal(t *testing.T, m *member) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.data, "raft", "journal"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
