package repl

import (
	"sync"
	"time"
)

// failures remembers which nodes failed to store a file, so that the next file goes
// elsewhere. Its methods may be called from any goroutine.
type failures struct {
	mu sync.Mutex
	at map[uint64]time.Time
}

// shun is how long a failed node is given no files, as long as there are others.
const shun = 30 * time.Second

func (f *failures) note(node uint64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == nil {
		f.at = map[uint64]time.Time{}
	}
	f.at[node] = now
}

func (f *failures) lately(node uint64, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.at[node]
	if ok && now.Sub(at) >= shun {
		delete(f.at, node)
		ok = false
	}
	return ok
}

// stall is how long a file's stream may be silent before it is abandoned.
const stall = 15 * time.Second

// copyTime returns the time limit of a copy, on the slowest network that is still
// usable.
func copyTime(bytes int64) time.Duration {
	return time.Minute + time.Duration(bytes>>20)*time.Second/2
}
