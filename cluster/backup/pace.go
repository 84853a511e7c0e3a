package backup

import (
	"context"
	"sync"
	"time"
)

// share is the part of one thread's time that a backup takes while statements run: one in so many. longest bounds what counts as
// the time of a block, which may have waited for another node.
const (
	share   = 20
	longest = 20 * time.Millisecond
)

// pace makes all who copy blocks wait as long as a rate asks for, or as statements that run do: a backup as fast as the disk is
// made look-ups beside it take three times as long, and commits, which wait for the same disk, six times.
type pace struct {
	rate int64       // bytes a second, 0 for none: then statements go first
	busy func() bool // reports whether statements run; nil: none do

	mu   sync.Mutex
	free time.Time // when the next may go on
}

// wait is called before each block of n bytes, by one who took that long for the one before.
func (p *pace) wait(ctx context.Context, n int, took time.Duration) error {
	var cost time.Duration
	switch {
	case p.rate > 0:
		cost = time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
	case p.busy != nil && p.busy():
		cost = share * min(took, longest)
	default:
		return ctx.Err()
	}
	t := time.NewTimer(p.reserve(time.Now(), cost))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve returns after how long a block may begin that costs so much time.
func (p *pace) reserve(now time.Time, cost time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	until := p.free.Sub(now)
	p.free = p.free.Add(cost)
	return until
}
