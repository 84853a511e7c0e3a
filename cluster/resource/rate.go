package resource

import "time"

// rate spreads the beginnings of statements: n in a second, of which up to n may come at once.
type rate struct {
	next time.Time // when the next one would begin if none had come late
}

// begin returns how long a statement that comes now must wait, behind those that wait already. It is refused, with no
// effect, if more than most of them do; -1 is any number.
func (r *rate) begin(now time.Time, n, most int64) (wait time.Duration, ok bool) {
	if n <= 0 {
		return 0, true
	}
	step := time.Second / time.Duration(n)
	at := r.next
	if early := now.Add(step - time.Second); at.Before(early) {
		at = early
	}
	wait = max(at.Sub(now), 0)
	if most >= 0 && wait > time.Duration(most)*step {
		return 0, false
	}
	r.next = at.Add(step)
	return wait, true
}

// leave gives back the place of a statement that began at rate n, and waits no more.
func (r *rate) leave(n int64) { r.next = r.next.Add(-time.Second / time.Duration(n)) }
