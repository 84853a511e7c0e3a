package raftnode_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestFullDisk fills the disk under a node's log: commits that add rows fail with 53100, while reads
// and commits that can free space succeed; once there is space, all succeed.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	var r *disk.Reserve
	c := newCluster(t, 0, func(c *cluster) { c.reserve = func(data string) *disk.Reserve { r = reserve(t, data); return r } })
	m := c.start(filepath.Join(dir, "data"), "", "n0")
	defer m.stop(t)
	c.ready(m)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	rows := func() error {
		_, err := m.Propose(ctx, []catalog.Change{&catalog.AppendSegments{Table: 1, Segments: []*catalog.Segment{{ID: catalog.SegmentID{1}, Rows: 1, Inline: make([]byte, 1000)}}}})
		return err
	}
	small := func() error {
		_, err := m.Propose(ctx, []catalog.Change{&catalog.PutSetting{Name: "x", Value: "y"}})
		return err
	}
	if err := rows(); pgerr.Is(err, pgerr.DiskFull) {
		t.Fatal(err) // an error, since there is no such table, but not 53100
	}
	filler := fill(t, dir)
	r.Check()
	if err := rows(); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatal(err)
	}
	for range 3 {
		if err := small(); err != nil && !pgerr.Is(err, pgerr.DiskFull) {
			t.Fatal(err)
		}
		if err := m.ReadIndex(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r.Check()
	if err := small(); err != nil {
		t.Fatal(err)
	}
	if err := rows(); pgerr.Is(err, pgerr.DiskFull) {
		t.Fatal(err)
	}
}

// TestFullLeader fills the disk of the leader of three: another leads, and no node refuses commits
// that add rows.
func TestFullLeader(t *testing.T) {
	dir := smallDisk(t)
	var r *disk.Reserve
	c := newCluster(t, 0, func(c *cluster) {
		c.reserve = func(data string) *disk.Reserve { r = reserve(t, data); return r }
		c.beat = longest / 4 // for want of a full disk, none of the others becomes the leader
	})
	c.m = append(c.m, c.start(filepath.Join(dir, "data"), "", "n0"))
	c.reserve = nil
	c.ready(c.m[0])
	for i := 1; i < 3; i++ {
		c.m = append(c.m, c.start(t.TempDir(), "", fmt.Sprint("n", i)))
		c.ready(c.m[i])
	}
	eventually(t, "three vote", func() bool { return len(c.m[0].Voters()) == 3 })
	if !c.m[0].Leads() {
		t.Fatal("the first node does not lead")
	}
	fill(t, dir)
	r.Check()
	eventually(t, "another leads", func() bool { return c.m[1].Leads() || c.m[2].Leads() })
	for i := range c.m {
		err := c.propose(i, []catalog.Change{&catalog.AppendSegments{Table: 1, Segments: []*catalog.Segment{{ID: catalog.SegmentID{1}, Rows: 1, Inline: make([]byte, 1000)}}}})
		if err == nil || pgerr.Is(err, pgerr.DiskFull) {
			t.Errorf("node %d: %v, want that there is no such table", i, err)
		}
	}
}

// TestFullFollower fills the disk of one of three until its log has no room: a read there fails with 53100,
// and not for want of a leader; once there is space it has all that was committed meanwhile.
func TestFullFollower(t *testing.T) {
	dir := smallDisk(t)
	c := newCluster(t, 2)
	c.reserve = func(data string) *disk.Reserve { return reserve(t, data) }
	c.m = append(c.m, c.start(filepath.Join(dir, "data"), "", "n2"))
	c.ready(c.m[2])
	filler := fill(t, dir)
	for i := range 20 {
		c.must(0, set(fmt.Sprint("k", i), strings.Repeat("x", 500_000)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[2].ReadIndex(ctx); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatal(err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has all", func() bool { _, ok := c.m[2].Current().Setting("k19"); return ok })
}

// smallDisk returns the directory of a file system of 24 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	})
	return dir
}

func reserve(t *testing.T, data string) *disk.Reserve {
	t.Helper()
	r, err := disk.NewReserve(data, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fill uses up the space of a file system with one file, which it returns.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !disk.Full(err) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}
