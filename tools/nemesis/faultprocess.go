package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// killFault kills nodes at once, and starts them again.
func (c *cluster) killFault(ctx context.Context, f fault) {
	who := c.victims(ctx, f)
	var wg sync.WaitGroup
	for _, i := range who {
		wg.Go(func() { c.kill(i) })
	}
	wg.Wait()
	wait(ctx, f.hold)
	c.startAll(ctx, who)
}

// startAll starts nodes side by side: each may need another to be ready.
func (c *cluster) startAll(ctx context.Context, who []int) {
	var wg sync.WaitGroup
	for _, i := range who {
		wg.Go(func() {
			if err := c.start(ctx, i); err != nil && ctx.Err() == nil && !errors.Is(err, errEnded) {
				c.report("starting a node again: %v", err)
			}
		})
	}
	wg.Wait()
}

// pauseFault stops processes, which keep their connections, and continues them.
func (c *cluster) pauseFault(ctx context.Context, f fault) {
	who := c.victims(ctx, f)
	for _, i := range who {
		c.pause(i, true)
	}
	wait(ctx, f.hold)
	for _, i := range who {
		c.pause(i, false)
	}
}

// restartFault shuts nodes down, one after the other, and starts them again.
func (c *cluster) restartFault(ctx context.Context, f fault) {
	for _, i := range c.victims(ctx, f) {
		c.leave(ctx, i)
		c.startAll(ctx, []int{i})
	}
}

// slowFault lets a node run for a fraction of the time only.
func (c *cluster) slowFault(ctx context.Context, f fault) {
	i := c.victims(ctx, f)[0]
	for end := time.Now().Add(f.hold); time.Now().Before(end) && ctx.Err() == nil; {
		c.pause(i, true)
		wait(ctx, 40*time.Millisecond)
		c.pause(i, false)
		wait(ctx, 8*time.Millisecond)
	}
}
