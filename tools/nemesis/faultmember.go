package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// memberFault removes a node from the cluster, drained or after it was lost, and lets
// one with an empty directory join under its name.
func (c *cluster) memberFault(ctx context.Context, f fault) {
	i := f.nodes[0]
	n := c.nodes[i]
	n.take()
	n.hide(true)
	defer n.hide(false)
	sql := "ALTER NODE " + n.name + " DECOMMISSION"
	if f.variant == "lost" {
		c.kill(i)
		sql += " FORCE"
	}
	if !c.removed(ctx, f, sql) {
		c.report("%s was not let go", n.name)
		return
	}
	c.kill(i)
	if err := os.RemoveAll(n.data()); err != nil {
		c.report("%v", err)
	}
	if err := c.start(ctx, i, "--join", c.mesh.addr(f.nodes[1]), "--join-secret", filepath.Join(c.nodes[f.nodes[1]].data(), "cluster-secret")); err != nil && ctx.Err() == nil {
		c.report("joining again: %v", err)
	}
	if c.backups != nil {
		c.backups.replaced()
	}
}

// removed asks the other nodes until one of them reports that the node is no longer a
// member.
func (c *cluster) removed(ctx context.Context, f fault, sql string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for k := 0; ctx.Err() == nil; k++ {
		if c.removes(ctx, f.nodes[1+k%(len(f.nodes)-1)], c.nodes[f.nodes[0]].name, sql) {
			return true
		}
		wait(ctx, 50*time.Millisecond)
	}
	return false
}

func (c *cluster) removes(ctx context.Context, at int, name, sql string) bool {
	conn, err := c.dial(ctx, at, "nemesis", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return false
	}
	defer conn.Close(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, sql); err != nil {
		c.note("%s: %v", sql, err)
	}
	var there int
	err = conn.QueryRow(ctx, "SELECT count(*) FROM cluster.nodes WHERE name = '"+name+"'").Scan(&there)
	return err == nil && there == 0
}
