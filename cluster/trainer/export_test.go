package trainer

import "time"

// Keep sets what a node thinks of time and of free disk space.
func (t *Trainer) Keep(now func() time.Time, room func() (int64, error)) {
	t.kept.mu.Lock()
	defer t.kept.mu.Unlock()
	t.kept.now, t.kept.room = now, room
}
