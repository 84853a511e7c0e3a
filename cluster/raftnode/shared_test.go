package raftnode

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestShared: a call serves those who came before it began, and nobody else.
func TestShared(t *testing.T) {
	var wg sync.WaitGroup
	began, end := make(chan int64), make(chan error)
	var calls atomic.Int64
	s := &shared[int64]{spawn: func(f func()) { wg.Add(1); go func() { defer wg.Done(); f() }() }, call: func() (int64, error) {
		n := calls.Add(1)
		began <- n
		return n, <-end
	}}
	type outcome struct {
		n   int64
		err error
	}
	ask := func(ctx context.Context) <-chan outcome {
		out := make(chan outcome, 1)
		wg.Add(1)
		go func() {
			defer wg.Done()
			n, err := s.do(ctx)
			out <- outcome{n, err}
		}()
		return out
	}
	first := ask(context.Background())
	<-began
	var later []<-chan outcome
	gone, cancel := context.WithCancel(context.Background())
	for range 20 {
		later = append(later, ask(context.Background()))
	}
	left := ask(gone)
	for s.waiting() == nil { // until one of them waits for the next call
	}
	cancel()
	if o := <-left; !errors.Is(o.err, context.Canceled) {
		t.Error(o)
	}
	end <- nil
	if o := <-first; o.n != 1 || o.err != nil {
		t.Error(o)
	}
	bad := errors.New("bad")
	<-began
	end <- bad
	for len(later) > 0 { // those that came too late for the second have the third
		select {
		case o := <-later[0]:
			if o.n == 2 && o.err != bad || o.n < 2 || o.n > 3 {
				t.Error(o)
			}
			later = later[1:]
		case <-began:
			end <- nil
		}
	}
	wg.Wait()
	if n := calls.Load(); n > 3 {
		t.Error(n, "calls")
	}
}

func (s *shared[T]) waiting() *round[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// TestSharedIsFresh: a value that was set before the question is in the answer,
// with many that ask at once.
func TestSharedIsFresh(t *testing.T) {
	var wg sync.WaitGroup
	var now atomic.Int64
	s := &shared[int64]{spawn: func(f func()) { wg.Add(1); go func() { defer wg.Done(); f() }() }, call: func() (int64, error) { return now.Load(), nil }}
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 2000 {
				mine := now.Add(1)
				if got, err := s.do(context.Background()); err != nil || got < mine {
					t.Errorf("%d, %v: not as new as %d", got, err, mine)
					return
				}
			}
		}()
	}
	wg.Wait()
}
