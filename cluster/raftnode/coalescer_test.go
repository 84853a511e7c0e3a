package raftnode

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestShared: a shared call serves the callers that were waiting before it began. Later callers wait
// for the next call, since this one may have read its value before they came.
func TestShared(t *testing.T) {
	var wg sync.WaitGroup
	began, end := make(chan int64), make(chan error)
	var calls atomic.Int64
	s := &coalescer[int64]{spawn: func(f func()) { wg.Add(1); go func() { defer wg.Done(); f() }() }, call: func() (int64, error) {
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
	joined := make(chan struct{})
	for range 20 {
		later = append(later, ask(waited{context.Background(), joined}))
	}
	left := ask(waited{gone, joined})
	for range len(later) + 1 {
		<-joined
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
	for _, l := range later {
		if o := <-l; o.n != 2 || o.err != bad {
			t.Error(o)
		}
	}
	wg.Wait()
	if n := calls.Load(); n != 2 {
		t.Error(n, "calls")
	}
}

// waited is a context that reports a call of Done, by which its caller has begun to wait for a round.
type waited struct {
	context.Context
	joined chan<- struct{}
}

func (j waited) Done() <-chan struct{} {
	j.joined <- struct{}{}
	return j.Context.Done()
}

// TestSharedIsFresh: with many concurrent callers, each result includes what was written before its
// call.
func TestSharedIsFresh(t *testing.T) {
	var wg sync.WaitGroup
	var now atomic.Int64
	s := &coalescer[int64]{spawn: func(f func()) { wg.Add(1); go func() { defer wg.Done(); f() }() }, call: func() (int64, error) { return now.Load(), nil }}
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
