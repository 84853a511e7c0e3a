package turn

import "time"

// Processors says how many processors the runtime should have. Its zero value with Cores and Spare is ready; it is for one
// goroutine.
type Processors struct {
	Cores, Spare int

	now   int
	since time.Time // since when fewer would do; zero: they would not
}

const (
	most = 12          // threads a core that get a processor each
	lull = time.Second // for how long fewer must do before there are fewer: each change stops all threads for a moment
)

// For returns the number for that many threads that work, and when to ask again if it stays; 0: when it changes. With more
// threads than cores there is a processor for each.
func (p *Processors) For(threads int, at time.Time) (n int, again time.Duration) {
	want := p.Cores + p.Spare
	if threads > p.Cores {
		want = min(threads, most*p.Cores) + p.Spare
	}
	switch {
	case want >= p.now:
		p.now, p.since = want, time.Time{}
		return want, 0
	case p.since.IsZero():
		p.since = at
	}
	if again = lull - at.Sub(p.since); again > 0 {
		return p.now, again
	}
	p.now, p.since = want, time.Time{}
	return want, 0
}
