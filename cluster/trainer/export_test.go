package trainer

import "time"

// Keep replaces the node's clock and the function that returns its free disk space.
func (t *Trainer) Keep(now func() time.Time, room func() (int64, error)) {
	t.kept.mu.Lock()
	defer t.kept.mu.Unlock()
	t.kept.now, t.kept.room = now, room
}
