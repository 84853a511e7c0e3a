package op

import (
	"context"
	"sync"
)

// Barrier synchronises the threads of an operator. Every thread that has not left must arrive
// before any goes on; one of them runs the serial work in between.
type Barrier struct {
	mu      sync.Mutex
	parties int
	waiting int
	round   *round
	changed chan struct{} // closed and replaced when parties or the round change
}

type round struct {
	running bool
	done    chan struct{}
	err     error
}

// NewBarrier makes a barrier of the given number of threads.
func NewBarrier(threads int) *Barrier {
	return &Barrier{parties: threads, round: &round{done: make(chan struct{})}, changed: make(chan struct{})}
}

// Wait arrives and waits for the others. The last to arrive runs serial, which
// may be nil, before anybody goes on; its error is everybody's.
func (b *Barrier) Wait(ctx context.Context, serial func() error) error {
	b.mu.Lock()
	r := b.round
	b.waiting++
	for {
		if b.waiting >= b.parties && !r.running {
			r.running = true
			b.waiting = 0
			b.round = &round{done: make(chan struct{})}
			b.mu.Unlock()
			if serial != nil {
				r.err = serial()
			}
			close(r.done)
			return r.err
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			b.mu.Lock()
			if !r.running { // it does not wait any more: else the next to arrive would count as the last
				b.waiting--
			}
			b.mu.Unlock()
			return ctx.Err()
		case <-changed:
		}
		b.mu.Lock()
		if r.running {
			// Another thread runs the serial work of this round meanwhile; wait for it.
			b.mu.Unlock()
			select {
			case <-r.done:
				return r.err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// Leave takes a thread out for good: the others no longer wait for it. A thread
// leaves once, between its Waits.
func (b *Barrier) Leave() {
	b.mu.Lock()
	b.parties--
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
}
