package raftnode

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
)

// noted is a log that notes the commands that turns give it.
type noted struct {
	mu   sync.Mutex
	cmds []string
}

func (l *noted) apply(cmd []byte) raft.ApplyFuture {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cmds = append(l.cmds, string(cmd))
	return nil
}

func (l *noted) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.cmds)
}

// queued has a command wait for its turn, and gives what comes of it.
func queued(ctx context.Context, q *turns, cmd string) <-chan error {
	q.mu.Lock()
	n := len(q.waiting)
	q.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := q.enter(ctx, []byte(cmd))
		done <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		q.mu.Lock()
		waits = len(q.waiting) > n
		q.mu.Unlock()
	}
	return done
}

// TestTurns holds proposals that come while one is not answered until it is, lets them go
// together and in order, and leaves out one whose caller has gone.
func TestTurns(t *testing.T) {
	l := &noted{}
	q := &turns{apply: l.apply}
	ctx := context.Background()
	if _, err := q.enter(ctx, []byte("a")); err != nil {
		t.Fatal(err)
	}
	b := queued(ctx, q, "b")
	gone, cancel := context.WithCancel(ctx)
	c := queued(gone, q, "c")
	d := queued(ctx, q, "d")
	cancel()
	if err := <-c; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := l.list(); !slices.Equal(got, []string{"a"}) {
		t.Fatal(got)
	}
	q.leave()
	if err := errors.Join(<-b, <-d); err != nil {
		t.Fatal(err)
	}
	if got := l.list(); !slices.Equal(got, []string{"a", "b", "d"}) {
		t.Fatal(got)
	}
	// One of two is answered: who comes waits for the other.
	q.leave()
	e := queued(ctx, q, "e")
	q.leave()
	if err := <-e; err != nil {
		t.Fatal(err)
	}
	q.leave()
	// Nobody is inside: nobody waits.
	if _, err := q.enter(ctx, []byte("f")); err != nil {
		t.Fatal(err)
	}
	q.leave()
	if got := l.list(); !slices.Equal(got, []string{"a", "b", "d", "e", "f"}) || q.inside != 0 || len(q.waiting) != 0 {
		t.Fatal(got, q.inside)
	}
}

// TestTurnsAllGone has all who wait give up while one is inside: the next is alone.
func TestTurnsAllGone(t *testing.T) {
	l := &noted{}
	q := &turns{apply: l.apply}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := q.enter(ctx, []byte("a")); err != nil {
		t.Fatal(err)
	}
	b := queued(ctx, q, "b")
	cancel()
	if err := <-b; err == nil {
		t.Fatal("it was let in")
	}
	q.leave()
	if _, err := q.enter(ctx, []byte("c")); err != nil {
		t.Fatal(err)
	}
	if got := l.list(); !slices.Equal(got, []string{"a", "c"}) {
		t.Fatal(got)
	}
}

// TestTurnsRace has many goroutines go in and out, some of which give up: each command is
// in the log exactly if it was let in.
func TestTurnsRace(t *testing.T) {
	l := &noted{}
	q := &turns{apply: l.apply}
	in := make([][]string, 16)
	var wg sync.WaitGroup
	for k := range in {
		wg.Go(func() {
			for i := range 500 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+k)%3 == 0 {
					go cancel()
				}
				cmd := string([]byte{byte(k), byte(i), byte(i >> 8)})
				if _, err := q.enter(ctx, []byte(cmd)); err == nil {
					in[k] = append(in[k], cmd)
					q.leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	want, got := slices.Sorted(slices.Values(slices.Concat(in...))), slices.Sorted(slices.Values(l.list()))
	if !slices.Equal(want, got) || q.inside != 0 || len(q.waiting) != 0 {
		t.Fatalf("%d commands are in the log, and %d were let in; %d are inside", len(got), len(want), q.inside)
	}
}
