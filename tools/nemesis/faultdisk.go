package main

import (
	"context"
	"os"
	"path/filepath"
)

// disk is a node's own in-memory file system, which can be filled.
type disk struct{ dir string }

const diskBytes = 160 << 20

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill uses up all free space.
func (d *disk) fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 1<<20)
	for size := len(b); size > 0; {
		if _, err := f.Write(b[:size]); err != nil {
			size /= 2 // less than this is free
		}
	}
	return nil
}

// free releases the space.
func (d *disk) free() { _ = os.Remove(d.ballast()) }

// diskFault fills a node's disk, and frees it.
func (c *cluster) diskFault(ctx context.Context, f fault) {
	d := c.nodes[c.victims(ctx, f)[0]].disk
	if d == nil {
		return
	}
	if err := d.fill(); err != nil {
		c.report("filling a disk: %v", err)
	}
	wait(ctx, f.hold)
	d.free()
}
