package raftnode

import "time"

// maxVoters is the default maximum number of voters. More make every commit slower and
// the cluster no safer in practice.
const maxVoters = 5

// server is a node in raft's configuration.
type server struct {
	ID    uint64
	Addr  string
	Voter bool
}

// memberState is a member of the catalog with its state as the leader sees it.
type memberState struct {
	ID       uint64
	Addr     string
	Zone     string
	Alive    bool
	DeadFor  time.Duration // while not Alive
	CaughtUp bool          // its log is close to the leader's
	Draining bool
}

type stepKind uint8

const (
	stepNone stepKind = iota
	stepAdd           // as a learner; or under another address, its vote kept
	stepPromote
	stepDemote
	stepRemove
)

// step is a change of raft's configuration.
type step struct {
	Kind stepKind
	ID   uint64
	Addr string
}

// wantVoters returns how many of so many members should vote: an odd number, since an
// even one needs one more to agree and tolerates no more losses; at most ask, where
// that is not 0.
func wantVoters(members, ask int) int {
	if ask == 0 {
		ask = maxVoters
	}
	return max(greatestOdd(min(members, ask)), 1)
}

// greatestOdd returns the greatest odd number up to n, -1 for 0.
func greatestOdd(n int) int { return (n - 1) | 1 }

// nextStep returns the next change that brings raft's configuration closer to the
// catalog's members, as decided by the leader self, which is alive. A member enters as
// a learner, which no commit waits for, and votes when it has caught up, and when with
// it an odd number vote: with two voters the death of either would stop the cluster. A
// voter that has been dead for replaceAfter, or is to leave, is replaced by a live
// member; the new one votes before the old one stops. A step that would not leave a
// majority of live voters is not made.
func nextStep(self uint64, conf []server, members []memberState, ask int, replaceAfter time.Duration) step {
	byID := map[uint64]memberState{}
	for _, m := range members {
		byID[m.ID] = m
	}
	if _, ok := byID[self]; !ok {
		return step{} // the founder has not registered itself yet
	}
	seated := map[uint64]bool{}
	for _, s := range conf {
		seated[s.ID] = true
		if m, ok := byID[s.ID]; !ok {
			return step{Kind: stepRemove, ID: s.ID}
		} else if m.Addr != s.Addr {
			return step{Kind: stepAdd, ID: s.ID, Addr: m.Addr}
		}
	}
	for _, m := range members {
		if !seated[m.ID] {
			return step{Kind: stepAdd, ID: m.ID, Addr: m.Addr}
		}
	}
	var voters, good, live, ready int
	zones := map[string]int{}
	for _, s := range conf {
		m := byID[s.ID]
		switch {
		case s.Voter:
			voters++
			zones[m.Zone]++
			if m.Alive {
				live++
			}
			if m.stays(replaceAfter) {
				good++
			}
		case m.ready():
			ready++
		}
	}
	want := wantVoters(len(members), ask)
	reach := greatestOdd(min(want, good+ready))
	spare := voters > want || voters%2 == 0 && good >= reach
	var best, worst *memberState
	for _, s := range conf {
		m := byID[s.ID]
		switch {
		case !s.Voter && m.ready():
			if best == nil || zones[m.Zone] < zones[best.Zone] || zones[m.Zone] == zones[best.Zone] && m.ID < best.ID {
				best = &m
			}
		case s.Voter && m.ID != self && (good > reach || !m.stays(replaceAfter)):
			if worst == nil || m.worse(*worst, replaceAfter) {
				worst = &m
			}
		}
	}
	if good < reach && best != nil && live+1 > (voters+1)/2 {
		return step{Kind: stepPromote, ID: best.ID, Addr: best.Addr}
	}
	if spare && worst != nil {
		if worst.Alive {
			live--
		}
		if live > (voters-1)/2 {
			return step{Kind: stepDemote, ID: worst.ID}
		}
	}
	return step{}
}

// ready reports whether a learner may vote.
func (m memberState) ready() bool { return m.Alive && m.CaughtUp && !m.Draining }

// stays reports whether a voter keeps its vote.
func (m memberState) stays(replaceAfter time.Duration) bool {
	return !m.Draining && (m.Alive || m.DeadFor < replaceAfter)
}

// worse reports whether voter m is removed before o.
func (m memberState) worse(o memberState, replaceAfter time.Duration) bool {
	for _, f := range []func(memberState) bool{
		func(s memberState) bool { return s.Alive },
		func(s memberState) bool { return s.stays(replaceAfter) },
	} {
		if f(m) != f(o) {
			return !f(m)
		}
	}
	return m.ID > o.ID
}

// allVote reports whether as many members vote as should.
func allVote(conf []server, members, ask int) bool {
	voters := 0
	for _, s := range conf {
		if s.Voter {
			voters++
		}
	}
	return voters >= wantVoters(members, ask)
}
