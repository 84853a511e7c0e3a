package raftnode

import (
	"testing"
	"time"
)

// TestLeaderless feeds the clock: when a call need not wait for a leader.
func TestLeaderless(t *testing.T) {
	l := newLiveness(Options{DeadAfter: 3 * time.Second})
	now := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	check := func(d time.Duration, want bool) {
		t.Helper()
		if got := l.leaderless(at(d)); got != want {
			t.Errorf("after %v: %v", d, got)
		}
	}
	l.led(true, now)
	check(time.Hour, false)
	l.led(false, at(0))
	l.led(false, at(2*time.Second)) // it is still the same loss
	check(2*time.Second, false)
	check(leaderTime, true)
	l.led(true, at(5*time.Second))
	check(time.Hour, false)
	l.led(false, at(6*time.Second)) // what was given up before says nothing
	l.gaveUp(at(5 * time.Second))
	check(7*time.Second, false)
	l.gaveUp(at(7 * time.Second))
	check(8*time.Second, true)
}
