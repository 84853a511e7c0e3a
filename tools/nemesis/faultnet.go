package main

import (
	"context"
	"time"
)

// partitionFault cuts or delays the traffic between nodes. Afterwards connections
// continue with the bytes held back, or, half of the time, are reset.
func (c *cluster) partitionFault(ctx context.Context, f fault) {
	r := f.random()
	one := c.victims(ctx, f)[0]
	open, delay := false, time.Duration(0)
	if f.variant == "delay" {
		open, delay = true, time.Duration(5+r.IntN(60))*time.Millisecond
	}
	set := func(open bool, delay time.Duration) {
		for i := range c.nodes {
			if i == one || f.variant == "pair" && i != f.nodes[1] {
				continue
			}
			if f.variant != "mute" {
				c.mesh.gates[i][one].set(open, delay)
			}
			if f.variant != "deaf" {
				c.mesh.gates[one][i].set(open, delay)
			}
		}
	}
	if f.variant != "flap" {
		set(open, delay)
		wait(ctx, f.hold)
	} else {
		for end := time.Now().Add(f.hold); time.Now().Before(end) && ctx.Err() == nil; {
			set(false, 0)
			wait(ctx, time.Duration(50+r.IntN(250))*time.Millisecond)
			set(true, 0)
			wait(ctx, time.Duration(r.IntN(100))*time.Millisecond)
		}
	}
	if r.IntN(2) == 0 {
		c.mesh.reset()
	}
	set(true, 0)
}
