package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// journalFault kills a node and hurts the journal before its log. The node must not start
// from what is left; then it gets the journal back.
func (c *cluster) journalFault(ctx context.Context, f fault) {
	r := f.random()
	i := f.nodes[0]
	n := c.nodes[i]
	c.kill(i)
	path := filepath.Join(n.data(), "raft", "journal")
	good, err := os.ReadFile(path)
	if err == nil {
		switch f.variant {
		case "cut":
			err = os.Truncate(path, r.Int64N(int64(len(good))))
		case "longer":
			err = os.Truncate(path, int64(len(good))+1+r.Int64N(8192))
		case "zero":
			err = os.WriteFile(path, make([]byte, len(good)), 0o600)
		case "remove":
			err = os.Remove(path)
		}
	}
	if err != nil {
		c.report("%v", err)
		return
	}
	fmt.Fprintf(n.log, "--- journal: %s\n", f.variant)
	c.refused(ctx, i, "a damaged journal")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		c.report("%v", err)
	}
	c.startAll(ctx, []int{i})
}

// refused starts a node that must not become ready.
func (c *cluster) refused(ctx context.Context, i int, from string) {
	n := c.nodes[i]
	n.hide(true)
	if err := c.start(ctx, i); err == nil {
		c.report("%s started from %s", n.name, from)
	}
	c.kill(i)
	n.hide(false)
}

// olderFault starts a node from an older copy of its directory, or of its log alone, after
// it has confirmed a commit since: it must not start. Then it gets the newest back.
func (c *cluster) olderFault(ctx context.Context, f fault) {
	i := f.nodes[0]
	n := c.nodes[i]
	path := n.data()
	if f.variant == "log" {
		path = filepath.Join(path, "raft")
	}
	old, newest := n.data()+".old", n.data()+".newest"
	c.kill(i)
	err := os.CopyFS(old, os.DirFS(path))
	defer func() { _ = os.RemoveAll(old) }()
	c.startAll(ctx, []int{i})
	if err == nil {
		err = c.confirm(ctx, i)
	}
	if err != nil {
		c.note("%s has confirmed nothing: %v", n.name, err)
		return
	}
	wait(ctx, f.hold+marksAge)
	c.kill(i)
	if err = errors.Join(os.Rename(path, newest), os.Rename(old, path)); err != nil {
		c.report("%v", err)
		return
	}
	fmt.Fprintf(n.log, "--- an older %s\n", filepath.Base(path))
	c.refused(ctx, i, "an older copy")
	if err := errors.Join(os.RemoveAll(path), os.Rename(newest, path)); err != nil {
		c.report("%v", err)
	}
	c.startAll(ctx, []int{i})
}

// marksAge is how old a node's marks may be.
const marksAge = 1500 * time.Millisecond

// confirm makes a commit through a node.
func (c *cluster) confirm(ctx context.Context, i int) error {
	return c.exec(ctx, i, "CREATE TEMP TABLE confirmed (i int); INSERT INTO confirmed VALUES (1)")
}

// exec runs statements on a node.
func (c *cluster) exec(ctx context.Context, i int, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := c.dial(ctx, i, "nemesis", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}
