package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// aloneFault ends all nodes and runs one, or all, isolated from each other for long
// enough that a node would sweep files by a stale catalog. Its files look as if they
// were days old.
func (c *cluster) aloneFault(ctx context.Context, f fault) {
	for i := range c.nodes {
		c.kill(i)
	}
	who := f.nodes[:1]
	if f.variant == "each" {
		who = f.nodes
	}
	c.mesh.cut()
	hold, cancel := context.WithTimeout(ctx, aloneFor)
	defer cancel()
	var wg sync.WaitGroup
	for _, i := range who {
		wg.Go(func() {
			n := c.nodes[i]
			if err := age(filepath.Join(n.data(), "segments")); err != nil {
				c.report("%v", err)
			}
			if err := c.start(hold, i); err == nil && len(c.nodes) > 1 {
				c.report("%s is ready without the others", n.name)
			}
			c.kill(i)
		})
	}
	wg.Wait()
	c.mesh.heal()
	c.startAll(ctx, f.nodes)
}

// aloneFor is several sweeps.
const aloneFor = 2 * time.Second

func age(dir string) error {
	files, err := os.ReadDir(dir)
	for _, e := range files {
		old := time.Now().Add(-48 * time.Hour)
		err = errors.Join(err, os.Chtimes(filepath.Join(dir, e.Name()), old, old))
	}
	return err
}

// loseFault ends all nodes and starts one of them first without its log, or without its
// directory, as after an operator replaced its disk: it must not form a cluster by
// itself. Then the others run, with a majority; in the end the directory is restored.
func (c *cluster) loseFault(ctx context.Context, f fault) {
	i := f.nodes[0]
	n := c.nodes[i]
	for k := range c.nodes {
		c.kill(k)
	}
	path := n.data()
	if f.variant == "log" {
		path = filepath.Join(path, "raft")
	}
	aside := path + ".aside"
	n.hide(true) // clients must not use it in this state
	if err := os.Rename(path, aside); err != nil {
		c.report("%v", err)
		return
	}
	first, cancel := context.WithTimeout(ctx, patience)
	err := c.start(first, i)
	cancel()
	if err == nil && f.variant == "log" {
		c.report("%s started without its log", n.name)
	}
	if len(f.nodes) > 2 { // the rest are a majority
		c.startAll(ctx, f.nodes[1:])
	}
	wait(ctx, f.hold)
	c.kill(i)
	if err := os.RemoveAll(path); err != nil {
		c.report("%v", err)
	}
	n.hide(false)
	if err := os.Rename(aside, path); err != nil {
		c.report("%v", err)
	}
	c.startAll(ctx, f.nodes)
}
