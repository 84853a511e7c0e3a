package main

import (
	"context"
	"sync"
	"time"
)

// afflict carries out a plan and returns when all faults are over. cluster.heal undoes
// what a fault leaves behind.
func (c *cluster) afflict(ctx context.Context, p plan) {
	var wg sync.WaitGroup
	for _, f := range p {
		wg.Go(func() {
			wait(ctx, f.after)
			kindOf(f.kind).do(c, ctx, f)
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
