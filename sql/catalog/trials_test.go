package catalog

import (
	"fmt"
	"testing"
)

// TestJobTrials: a progress of a job replaces the trials that have changed, adds new ones by their
// numbers, and changes no state before it.
func TestJobTrials(t *testing.T) {
	st, err := New().Apply([]Change{&PutJob{Job: &Job{OID: 9, Model: "m", State: JobRunning, Epoch: 1, Attached: true}}})
	if err != nil {
		t.Fatal(err)
	}
	show := func(s *State) (out string) {
		for _, x := range s.Job(9).Trials {
			out += fmt.Sprintf("%d %s; ", x.Number, x.State)
		}
		return out
	}
	states := []*State{st}
	for _, list := range [][]ModelTrial{{{Number: 2, State: "running"}}, {{Number: 1, State: "running"}, {Number: 2, State: "failed"}}, nil, {{Number: 1, State: "succeeded"}, {Number: 3, State: "running"}, {Number: 3, State: "stopped"}}} {
		next, err := states[len(states)-1].Apply([]Change{&JobProgress{OID: 9, ExpectEpoch: 1, Trials: list}})
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, next)
	}
	for i, want := range []string{"", "2 running; ", "1 running; 2 failed; ", "1 running; 2 failed; ", "1 succeeded; 2 failed; 3 stopped; "} {
		if got := show(states[i]); got != want {
			t.Errorf("after %d changes: %q, not %q", i, got, want)
		}
	}
}
