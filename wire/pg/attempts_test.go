package pg

import (
	"fmt"
	"testing"
	"time"
)

func TestAttempts(t *testing.T) {
	now := time.Unix(1000, 0)
	a := attempts{now: func() time.Time { return now }}
	var last time.Duration
	for i := range 20 {
		wait := a.failed("ann", "10.0.0.1")
		if wait < last || wait > longWait || i == 0 && wait != firstWait {
			t.Fatalf("failure %d waits %v after %v", i+1, wait, last)
		}
		last = wait
	}
	if last != longWait {
		t.Errorf("after 20 failures: %v", last)
	}
	if w := a.failed("ann", "10.0.0.2"); w != firstWait {
		t.Errorf("another address waits %v", w)
	}
	if w := a.failed("ben", "10.0.0.1"); w != firstWait {
		t.Errorf("another role waits %v", w)
	}
	if !a.suspect("10.0.0.1") || a.suspect("10.0.0.2") {
		t.Error("who failed often is suspect, and nobody else")
	}
	a.passed("ann", "10.0.0.1")
	if w := a.failed("ann", "10.0.0.1"); w != firstWait || a.suspect("10.0.0.1") {
		t.Errorf("after a login: %v", w)
	}
	now = now.Add(forgetting + time.Second)
	if w := a.failed("ben", "10.0.0.1"); w != firstWait {
		t.Errorf("much later: %v", w)
	}
	for i := range 3 * maxGuesses {
		a.failed(fmt.Sprint(i), "10.0.0.3")
	}
	if len(a.by) > maxGuesses {
		t.Errorf("%d keys are kept", len(a.by))
	}
}
