package planner

import "testing"

// TestIdle: what was put twice is given once each, to one at a time, and not more than a few are kept.
func TestIdle(t *testing.T) {
	var none *Idle
	none.Put("a", 1)
	if none.Take("a") != nil {
		t.Error("a plan that is run once keeps things")
	}
	var i Idle
	i.Put("a", 1)
	if i.Take("a") != nil {
		t.Error("a statement that came once keeps things")
	}
	for n := range idleEach + 3 {
		i.Put("a", n)
	}
	if i.Take("b") != nil {
		t.Error("what was made of another is given")
	}
	seen := map[any]bool{}
	for x := i.Take("a"); x != nil; x = i.Take("a") {
		if seen[x] {
			t.Errorf("%v is given twice", x)
		}
		seen[x] = true
	}
	if len(seen) != idleEach {
		t.Errorf("%d are kept", len(seen))
	}
}
