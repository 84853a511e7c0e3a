package main

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// clockFault moves the clocks of nodes by up to a day and a quarter, and back, which is
// a jump too.
func (c *cluster) clockFault(ctx context.Context, f fault) {
	r := f.random()
	far := func() time.Duration { return time.Duration(1+r.IntN(30*60)) * time.Minute }
	either := func() time.Duration {
		if r.IntN(2) == 0 {
			return -far()
		}
		return far()
	}
	who := f.nodes[:1]
	switch f.variant {
	case "ahead":
		c.shift(ctx, who[0], far(), true)
	case "back":
		c.shift(ctx, who[0], -far(), true)
	case "apart":
		who = f.nodes
		for _, i := range who {
			c.shift(ctx, i, either(), false)
		}
	case "jumps":
		for end := time.Now().Add(f.hold); time.Now().Before(end) && ctx.Err() == nil; {
			c.shift(ctx, who[0], either(), false)
			wait(ctx, time.Duration(5+r.IntN(150))*time.Millisecond)
		}
	}
	if f.variant != "jumps" {
		wait(ctx, f.hold)
	}
	for _, i := range who {
		c.shift(ctx, i, 0, false)
	}
}

// shift moves a node's clock; with look it asks the node, if it answers, whether
// it has moved.
func (c *cluster) shift(ctx context.Context, i int, d time.Duration, look bool) {
	n := c.nodes[i]
	if c.backups != nil {
		c.backups.skewed.Store(true)
	}
	if err := n.control.Shift(d); err != nil {
		c.report("moving a clock: %v", err)
	}
	if !look {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := c.dial(ctx, i, "nemesis", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	var at time.Time
	if conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at) != nil {
		return
	}
	if off := time.Until(at) - d; off.Abs() > 30*time.Second {
		c.report("%s has a clock that is off by %v, not %v: its program is not of this Go", n.name, off+d, d)
	}
}

// syncFault delays the syncs of nodes.
func (c *cluster) syncFault(ctx context.Context, f fault) {
	r := f.random()
	who := slices.Clone(c.victims(ctx, f))
	each := time.Duration(20+r.IntN(200)) * time.Millisecond
	set := func(d time.Duration) {
		for _, i := range who {
			if err := c.nodes[i].control.Slow(d); err != nil {
				c.report("slowing a disk: %v", err)
			}
		}
	}
	set(each)
	wait(ctx, f.hold)
	set(0)
}
