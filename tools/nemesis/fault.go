package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// afflict carries out a plan and returns when all faults are over. cluster.heal undoes
// what a fault leaves behind.
func (c *cluster) afflict(ctx context.Context, p plan) {
	var wg sync.WaitGroup
	for _, f := range p {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(f.seed, 0))
			wait(ctx, f.after)
			switch f.kind {
			case "kill":
				c.killFault(ctx, f)
			case "pause":
				c.pauseFault(ctx, f)
			case "restart":
				c.restartFault(ctx, f)
			case "partition":
				c.partitionFault(ctx, f, r)
			case "cancel":
				c.cancelFault(ctx, f, r)
			case "slow":
				c.slowFault(ctx, f)
			case "flip":
				c.flipFault(ctx, f, r)
			case "alone":
				c.aloneFault(ctx, f)
			case "lose":
				c.loseFault(ctx, f)
			case "journal":
				c.journalFault(ctx, f, r)
			case "older":
				c.olderFault(ctx, f)
			case "spill":
				c.spillFault(ctx, f, r)
			case "clock":
				c.clockFault(ctx, f, r)
			case "sync":
				c.syncFault(ctx, f, r)
			case "member":
				c.memberFault(ctx, f)
			case "disk":
				c.diskFault(ctx, f)
			case "backup":
				c.backupFault(ctx, f, r)
			case "restore":
				c.restoreFault(ctx, f, r)
			case "store":
				c.storeFault(ctx, f)
			case "version":
				c.versionFault(ctx, f)
			}
		})
	}
	wg.Wait()
}

// wait waits for the duration of a fault, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// victims returns the nodes that a variant affects.
func (c *cluster) victims(ctx context.Context, f fault) []int {
	switch f.variant {
	case "leader":
		if l := c.leader(ctx); l >= 0 {
			return []int{l}
		}
	case "two":
		return f.nodes[:min(2, len(f.nodes))]
	case "all", "rolling":
		return f.nodes
	}
	return f.nodes[:1]
}
