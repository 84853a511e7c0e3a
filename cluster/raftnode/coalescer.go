package raftnode

import (
	"context"
	"sync"
)

// coalescer coalesces calls. The result of a call is valid only for those who asked before
// it began; while one is under way, later callers wait together for the next. So there
// is one call at a time, however many ask, and nobody waits for more than two.
type coalescer[T any] struct {
	// spawn runs a function in a goroutine of the owner's.
	spawn func(func())
	call  func() (T, error)

	mu      sync.Mutex
	running bool
	next    *round[T] // not begun; nil if nobody waits
}

type round[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// do returns the result of a call that begins after do was called.
func (s *coalescer[T]) do(ctx context.Context) (T, error) {
	s.mu.Lock()
	r := s.next
	if r == nil {
		r = &round[T]{done: make(chan struct{})}
		s.next = r
		if !s.running {
			s.begin()
		}
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// begin starts the next call, if anybody waits for it. mu is held.
func (s *coalescer[T]) begin() {
	r := s.next
	s.next, s.running = nil, r != nil
	if r == nil {
		return
	}
	s.spawn(func() {
		r.value, r.err = s.call()
		close(r.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begin()
	})
}
