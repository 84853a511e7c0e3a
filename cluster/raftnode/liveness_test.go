package raftnode

import (
	"testing"
	"time"
)

// TestLeaderless: calls fail at once, without waiting for a leader, when there has been none for
// leaderTime or a wait for one has ended in vain. The clock is fake.
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
	l.led(false, at(2*time.Second)) // the last leader is lost, and raft has not elected another
	check(2*time.Second, false)
	check(leaderTime, true)
	l.led(true, at(5*time.Second))
	check(time.Hour, false)
	l.led(false, at(6*time.Second)) // a wait that ended before the last leader was lost does not count
	l.gaveUp(at(5 * time.Second))
	check(7*time.Second, false)
	l.gaveUp(at(7 * time.Second))
	check(8*time.Second, true)
}

// TestStalledJudge: a node that is silent counts as dead after a while, but not for a node that was
// itself suspended meanwhile and could not hear it. The clock is fake.
func TestStalledJudge(t *testing.T) {
	l := newLiveness(Options{DeadAfter: 3 * time.Second, Ping: 500 * time.Millisecond})
	now := time.Unix(1000, 0)
	tick := func(d time.Duration) []uint64 {
		now = now.Add(d)
		return l.look(now)
	}
	l.heard(ping{ID: 7})
	if d := tick(time.Hour); d != nil {
		t.Fatal("dead at the first look", d)
	}
	for range 3 { // each check is ten seconds late
		if d := tick(10 * time.Second); d != nil {
			t.Fatal("a stalled judge", d)
		}
	}
	if d := tick(500 * time.Millisecond); len(d) != 1 || d[0] != 7 {
		t.Fatal("it was silent for more than three seconds of four looks", d)
	}
	l.heard(ping{ID: 7})
	for range 6 {
		if d := tick(500 * time.Millisecond); d != nil {
			t.Fatal("too soon", d)
		}
	}
	if d := tick(500 * time.Millisecond); len(d) != 1 {
		t.Fatal("too late")
	}
	if d := tick(500 * time.Millisecond); d != nil {
		t.Fatal("it dies once", d)
	}
}
