package mem

import (
	"errors"
	"sync"
	"testing"
)

// TestTurns runs many goroutines that each take memory in two requests, with enough for only one
// goroutine at a time: none deadlocks, and one that needs more than the limit gets an error.
func TestTurns(t *testing.T) {
	var (
		turns Turns
		mu    sync.Mutex
		free  = 3
		none  = errors.New("no memory")
		wg    sync.WaitGroup
	)
	take := func(n int, taken func()) func(bool) error {
		return func(bool) error {
			mu.Lock()
			defer mu.Unlock()
			if free < n {
				return none
			}
			free -= n
			taken()
			return nil
		}
	}
	work := func(second int) error {
		held := 1
		if err := turns.Try(false, func() error { return nil }, take(1, turns.Enter)); err != nil {
			return err
		}
		defer func() {
			mu.Lock()
			free += held
			mu.Unlock()
			turns.Leave()
		}()
		spill := func() error { // as a store does: its rows are written to disk
			mu.Lock()
			free += held
			mu.Unlock()
			held = 0
			return nil
		}
		if err := turns.Try(true, spill, take(second, func() {})); err != nil {
			return err
		}
		held += second
		return nil
	}
	for range 16 {
		wg.Go(func() {
			for range 200 {
				if err := work(2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := work(4); !errors.Is(err, none) {
		t.Errorf("more than there is: %v", err)
	}
	if free != 3 {
		t.Errorf("%d of 3 are free", free)
	}
}
