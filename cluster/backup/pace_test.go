package backup

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: blocks wait as a rate asks for, or for nineteen times their own time while statements run, however many copy; a
// given rate is kept whatever runs.
func TestPace(t *testing.T) {
	const block, took = 1 << 20, time.Millisecond
	for _, c := range []struct {
		name    string
		rate    int64
		busy    func() bool
		took    time.Duration
		least   time.Duration // of 40 blocks, by one or by four
		longest time.Duration
	}{
		{"nothing runs", 0, func() bool { return false }, took, 0, 40 * took},
		{"nobody asks", 0, nil, took, 0, 40 * took},
		{"statements run", 0, func() bool { return true }, took, 38 * share * took, 40 * (share + 1) * took},
		{"a slow node gives the blocks", 0, func() bool { return true }, time.Second, 38 * share * longest, 40 * (share*longest + time.Second)},
		{"a rate", 100 * block, nil, took, 390 * time.Millisecond, 440 * time.Millisecond},
		{"a rate while statements run", 100 * block, func() bool { return true }, took, 390 * time.Millisecond, 440 * time.Millisecond},
	} {
		for _, writers := range []int{1, 4} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := pace{rate: c.rate, busy: c.busy}
					began := time.Now()
					var all sync.WaitGroup
					for range writers {
						all.Go(func() {
							last := time.Now()
							for range 40 / writers {
								time.Sleep(c.took) // the block's own time, of the test's clock
								if err := p.wait(t.Context(), block, time.Since(last)); err != nil {
									t.Error(err)
								}
								last = time.Now()
							}
						})
					}
					all.Wait()
					if took := time.Since(began); took < c.least || took > c.longest {
						t.Errorf("%d writers took %v, wanted %v to %v", writers, took, c.least, c.longest)
					}
				})
			})
		}
	}
}

// TestPaceEnds: who waits ends with its context.
func TestPaceEnds(t *testing.T) {
	p := pace{busy: func() bool { return true }}
	if err := p.wait(t.Context(), 1, longest); err != nil { // the next waits 19 times as long
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for _, p := range []*pace{&p, {}, {rate: 1}} {
		if err := p.wait(ctx, 1, longest); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}
