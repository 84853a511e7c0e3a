package raftnode_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestFullDisk fills the disk under a node's log: commits that add rows fail with 53100, while reads
// and commits that can free space succeed; once there is space, all succeed.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %s", out)
	}
	var r *disk.Reserve
	c := &cluster{t: t, w: &wires{group: map[string]int{}, conns: map[net.Conn][2]string{}}, reserve: func(data string) *disk.Reserve {
		var err error
		if r, err = disk.NewReserve(data, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		return r
	}}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	})
	m := c.start(filepath.Join(dir, "data"), "", "n0")
	defer m.stop(t)
	c.ready(m)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !disk.Full(err) {
		t.Fatal(err)
	}
	f.Close()
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
