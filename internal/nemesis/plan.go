package nemesis

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Faults are the kinds there are, in the order of the manual.
var Faults = []string{"kill", "pause", "restart", "partition", "cancel", "slow", "flip", "alone", "lose", "disk"}

// variants of each kind.
var variants = map[string][]string{
	"kill":      {"one", "leader", "two", "all"},
	"pause":     {"one", "leader", "all"},
	"restart":   {"one", "leader", "rolling"},
	"partition": {"isolate", "leader", "deaf", "mute", "pair", "flap", "delay"},
	"cancel":    {"cancel", "terminate"},
	"slow":      {"one", "leader"},
	"flip":      {"bit", "zero", "truncate", "remove"},
	"disk":      {"one", "leader"},
	"alone":     {"one", "each"},
	"lose":      {"log", "all"},
}

// fault is one entry of a plan.
type fault struct {
	kind, variant string
	nodes         []int         // all, in the order in which they are chosen
	after, hold   time.Duration // since the round began; between hurt and heal
	seed          uint64        // of what the fault chooses itself
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s n%d +%dms %dms", f.kind, f.variant, f.nodes[0]+1, f.after.Milliseconds(), f.hold.Milliseconds())
}

// plan is what is done to a cluster in a round.
type plan []fault

func (p plan) String() string {
	if len(p) == 0 {
		return "nothing"
	}
	var s []string
	for _, f := range p {
		s = append(s, f.String())
	}
	return strings.Join(s, ", ")
}

// source gives the random numbers of one use in one round.
func source(seed uint64, round int, use string) *rand.Rand {
	h := uint64(round) + 1
	for _, c := range []byte(use) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(seed, h))
}

// makePlan chooses the faults of a round among kinds.
func makePlan(seed uint64, round, nodes int, kinds []string) plan {
	r := source(seed, round, "plan")
	n := 1
	switch r.IntN(10) {
	case 0:
		n = 0 // nothing at all is a case too
	case 1, 2, 3:
		n = 2
	}
	var p plan
	for range n {
		kind := kinds[r.IntN(len(kinds))]
		if len(p) > 0 && !together(p[0].kind, kind) {
			continue
		}
		v := variants[kind]
		p = append(p, fault{kind: kind, variant: v[r.IntN(len(v))], nodes: r.Perm(nodes), after: time.Duration(100+r.IntN(400)) * time.Millisecond,
			hold: time.Duration(200+r.IntN(1300)) * time.Millisecond, seed: r.Uint64()})
	}
	return p
}

// together tells whether two kinds may meet. Damage stays alone: with one copy
// damaged and the others out of reach, no system could answer; a node need not
// start on a full disk; and what ends all nodes is enough by itself.
func together(a, b string) bool {
	pair := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case a == b, a == "alone", b == "alone", a == "lose", b == "lose", pair("disk", "kill"), pair("disk", "restart"):
		return false
	case a == "flip" || b == "flip":
		return pair("flip", "cancel") || pair("flip", "slow")
	}
	return true
}

// Possible are the faults that can be done here.
func Possible() []string {
	return slices.DeleteFunc(slices.Clone(Faults), func(kind string) bool {
		switch kind {
		case "disk":
			return os.Geteuid() != 0 || runtime.GOOS != "linux"
		case "partition":
			return runtime.GOOS != "linux" // the mesh looks into /proc
		}
		return false
	})
}
