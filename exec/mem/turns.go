package mem

import "sync"

// Turns lets goroutines that add rows concurrently share memory that is enough for one of them: one
// that is refused makes room, and where others hold memory it waits until one of them has finished
// its batch. Only when all of them wait is there too little.
type Turns struct {
	making sync.Mutex // one makes room at a time: what it frees is there for the next

	mu      sync.Mutex
	change  sync.Cond
	left    uint64 // how often one of them was done
	inside  int    // goroutines that hold memory
	waiting int    // those of them that wait
}

// Enter is called by a goroutine that begins to hold memory, under the lock under which it is taken.
func (t *Turns) Enter() {
	t.mu.Lock()
	t.inside++
	t.mu.Unlock()
}

// Leave is called by a goroutine that holds none any more.
func (t *Turns) Leave() {
	t.mu.Lock()
	t.inside--
	t.left++
	t.waiting = 0 // all of them go on
	t.change.L = &t.mu
	t.change.Broadcast()
	t.mu.Unlock()
}

// Try calls take, and where it is refused makes room and takes the least that suffices. inside is
// whether the caller holds some already. The error is take's or make's.
func (t *Turns) Try(inside bool, make func() error, take func(least bool) error) error {
	err := take(false)
	for err != nil {
		t.mu.Lock()
		left := t.left
		t.mu.Unlock()
		if failed := t.Make(make); failed != nil {
			return failed
		}
		if err = take(true); err != nil && !t.wait(left, inside) {
			return err
		}
	}
	return nil
}

// Make calls make, to make room, when nobody else does.
func (t *Turns) Make(make func() error) error {
	t.making.Lock()
	defer t.making.Unlock()
	return make()
}

// wait waits until another goroutine has left since left was read; it returns false where there is
// none to wait for.
func (t *Turns) wait(left uint64, inside bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left != left {
		return true
	}
	one := 0
	if inside {
		one = 1
	}
	if t.waiting+one >= t.inside {
		return false
	}
	t.waiting += one
	t.change.L = &t.mu
	for t.left == left {
		t.change.Wait()
	}
	return true
}
