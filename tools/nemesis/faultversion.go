package main

import (
	"context"
	"sync/atomic"
)

// upgrade is how far a cluster is that began with the version before.
type upgrade struct {
	// begun: it may be finalised, so no node goes back. done: it is.
	begun, done atomic.Bool
}

// versionFault has nodes change to the other version of the program, shut down or killed; or finalises the upgrade, on all.
func (c *cluster) versionFault(ctx context.Context, f fault) {
	who := c.victims(ctx, f)
	if f.variant == "finalize" {
		who = f.nodes
	}
	for _, i := range who {
		n := c.nodes[i]
		n.mu.Lock()
		changes := n.older || f.variant != "finalize" && !c.upgrade.begun.Load()
		if changes {
			n.older = !n.older
		}
		n.mu.Unlock()
		switch {
		case f.variant == "finalize" && !changes:
			continue
		case f.variant == "kill":
			c.kill(i)
			wait(ctx, f.hold)
		default:
			c.leave(ctx, i)
		}
		c.startAll(ctx, []int{i})
	}
	if f.variant == "finalize" {
		c.upgrade.begun.Store(true)
		_ = c.finalize(ctx, f.nodes[0]) // which other faults may prevent: the check does it then
	}
}

// finalize finalises an upgrade that no node goes back from.
func (c *cluster) finalize(ctx context.Context, node int) error {
	err := c.exec(ctx, node, "ALTER SYSTEM FINALIZE UPGRADE")
	c.note("finalising the upgrade: %v", err)
	if err == nil {
		c.upgrade.done.Store(true)
	}
	return err
}

// current reports whether a cluster has all that this version has.
func (c *cluster) current() bool { return c.o.Before == "" || c.upgrade.done.Load() }

// settled finalises an upgrade that a fault has begun to finalise, when nothing is wrong any more.
func (c *cluster) settled(ctx context.Context) error {
	if !c.upgrade.begun.Load() || c.upgrade.done.Load() {
		return nil
	}
	return until(ctx, "finalising the upgrade", func(ctx context.Context) error { return c.finalize(ctx, 0) })
}
