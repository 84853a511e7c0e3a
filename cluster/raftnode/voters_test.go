package raftnode

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// enact applies a step to the configuration as raft would.
func enact(conf []server, s step) []server {
	conf = slices.Clone(conf)
	i := slices.IndexFunc(conf, func(x server) bool { return x.ID == s.ID })
	switch s.Kind {
	case stepAdd:
		if i < 0 {
			return append(conf, server{ID: s.ID, Addr: s.Addr})
		}
		conf[i].Addr = s.Addr
	case stepPromote:
		conf[i].Voter = true
	case stepDemote:
		conf[i].Voter = false
	case stepRemove:
		return slices.Delete(conf, i, i+1)
	}
	return conf
}

func count(conf []server, is func(server) bool) (n int) {
	for _, s := range conf {
		if is(s) {
			n++
		}
	}
	return n
}

func voter(s server) bool { return s.Voter }

const patience = 5 * time.Minute

func up(ids ...uint64) (out []memberState) {
	for _, id := range ids {
		out = append(out, memberState{ID: id, Addr: "a", Alive: true, CaughtUp: true})
	}
	return out
}

func run(t *testing.T, conf []server, members []memberState, ask int) ([]server, []step) {
	t.Helper()
	var steps []step
	for {
		s := nextStep(1, conf, members, ask, patience)
		if s.Kind == stepNone {
			return conf, steps
		}
		steps = append(steps, s)
		conf = enact(conf, s)
		if len(steps) > 50 {
			t.Fatal("it does not come to an end", steps)
		}
	}
}

func TestHowManyVote(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 5: 5, 6: 5, 9: 5} {
		if got := wantVoters(members, 0); got != want {
			t.Errorf("%d of %d vote, not %d", got, members, want)
		}
	}
	if wantVoters(2, 3) != 1 || wantVoters(3, 5) != 3 || wantVoters(9, 7) != 7 || wantVoters(5, 1) != 1 {
		t.Error("the user's number does not hold")
	}
}

func TestNextStep(t *testing.T) {
	founder := []server{{1, "a", true}}
	// The first node is not in the catalog yet: no step.
	if s := nextStep(1, founder, nil, 0, patience); s.Kind != stepNone {
		t.Fatal(s)
	}
	// A second member is a non-voter; with a third both become voters.
	two, steps := run(t, founder, up(1, 2), 0)
	if len(steps) != 1 || steps[0].Kind != stepAdd || count(two, voter) != 1 {
		t.Fatal(steps)
	}
	three, _ := run(t, two, up(1, 2, 3), 0)
	if count(three, voter) != 3 {
		t.Fatal(three)
	}
	// A member that has not caught up, or does not answer, does not become a voter.
	slow := up(1, 2, 3)
	slow[2].CaughtUp = false
	if conf, _ := run(t, two, slow, 0); count(conf, voter) != 1 {
		t.Fatal(conf)
	}
	slow[2].Alive = false // two vote, and the third died before it became a voter
	if conf, _ := run(t, []server{{1, "a", true}, {2, "a", true}, {3, "a", false}}, slow, 0); count(conf, voter) != 1 {
		t.Fatal(conf)
	}
	// A dead voter remains one for a while; then the fourth member replaces it.
	dead := up(1, 2, 3, 4)
	dead[2].Alive, dead[2].DeadFor = false, time.Minute
	four, _ := run(t, three, dead, 0)
	if count(four, func(s server) bool { return s.ID == 3 && s.Voter }) != 1 {
		t.Fatal(four)
	}
	dead[2].DeadFor = patience
	four, steps = run(t, four, dead, 0)
	if len(steps) != 2 || steps[0] != (step{Kind: stepPromote, ID: 4, Addr: "a"}) || steps[1].Kind != stepDemote || steps[1].ID != 3 {
		t.Fatal(four, steps)
	}
	// Without a replacement it stays a voter.
	if _, steps := run(t, three, dead[:3], 0); len(steps) != 0 {
		t.Fatal(steps)
	}
	// A draining member's vote is transferred before the member leaves.
	going := up(1, 2, 3, 4)
	going[1].Draining = true
	if conf, _ := run(t, three, going, 0); count(conf, func(s server) bool { return s.ID == 2 && s.Voter }) != 0 || count(conf, voter) != 3 {
		t.Fatal(conf)
	}
	// Votes are spread over zones.
	zones := up(1, 2, 3, 4)
	zones[0].Zone, zones[1].Zone, zones[2].Zone, zones[3].Zone = "x", "y", "y", "z"
	conf, _ := run(t, founder, zones, 0)
	if count(conf, func(s server) bool { return s.ID == 3 && s.Voter }) != 0 {
		t.Fatal(conf)
	}
	// One member has another address, and one was removed.
	moved := up(1, 2)
	moved[1].Addr = "b"
	if conf, _ := run(t, three, moved, 0); len(conf) != 2 || conf[1] != (server{2, "b", false}) {
		t.Fatal(conf)
	}
}

// TestStepsKeepAMajority joins, kills, drains and removes nodes at random: no step leaves fewer live
// voters than a majority, and at the end the right members vote.
func TestStepsKeepAMajority(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		members := up(1)
		conf := []server{{1, "a", true}}
		for id := uint64(2); id < 40; id++ {
			switch i := rnd.IntN(len(members)); {
			case rnd.IntN(2) == 0:
				members = append(members, up(id)...)
				members[len(members)-1].CaughtUp = rnd.IntN(3) > 0
			case i == 0: // the leader is not killed
			case rnd.IntN(3) == 0:
				members[i].Alive, members[i].DeadFor = !members[i].Alive, time.Duration(rnd.IntN(10))*time.Minute
			case rnd.IntN(2) == 0:
				members[i].Draining = !members[i].Draining
			case !members[i].Alive || members[i].Draining:
				members = slices.Delete(members, i, i+1)
			}
			alive := func(s server) bool {
				m := slices.IndexFunc(members, func(m memberState) bool { return m.ID == s.ID })
				return s.Voter && m >= 0 && members[m].Alive
			}
			if count(conf, alive) <= count(conf, voter)/2 {
				break // no majority is alive: no step can be committed
			}
			for n := 0; ; n++ {
				s := nextStep(1, conf, members, 0, patience)
				if s.Kind == stepNone {
					break
				}
				conf = enact(conf, s)
				if count(conf, alive) <= count(conf, voter)/2 {
					t.Fatalf("%v leaves no majority: %v of %v", s, conf, members)
				}
				if n > 100 {
					t.Fatal("it does not come to an end")
				}
			}
			if v, want := count(conf, voter), wantVoters(len(members), 0); v > want && count(conf, alive) == v {
				t.Fatalf("%d vote where %d should: %v", v, want, conf)
			}
		}
	}
}

func TestCheckAddr(t *testing.T) {
	for addr, ok := range map[string]bool{"0.0.0.0:7400": false, "[::]:7400": false, ":7400": false, "10.0.0.1:0": false, "10.0.0.1": false,
		"10.0.0.1:7400": true, "127.0.0.1:1": true, "db1.example.com:7400": true} {
		if (checkAddr(addr) == nil) != ok {
			t.Errorf("%s: %v", addr, checkAddr(addr))
		}
	}
}
