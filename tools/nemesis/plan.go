package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// kind is a kind of fault.
type kind struct {
	name     string
	do       func(*cluster, context.Context, fault) // returns when it is over
	variants []string                               // one that is there twice is chosen twice as often
}

// kinds are those there are, in the order in which they came.
var kinds = []kind{
	{"kill", (*cluster).killFault, []string{"one", "leader", "two", "all"}},
	{"pause", (*cluster).pauseFault, []string{"one", "leader", "all"}},
	{"restart", (*cluster).restartFault, []string{"one", "leader", "rolling"}},
	{"partition", (*cluster).partitionFault, []string{"isolate", "leader", "deaf", "mute", "pair", "flap", "delay"}},
	{"cancel", (*cluster).cancelFault, []string{"cancel", "terminate"}},
	{"slow", (*cluster).slowFault, []string{"one", "leader"}},
	{"flip", (*cluster).flipFault, []string{"bit", "zero", "truncate", "remove"}},
	{"spill", (*cluster).spillFault, []string{"bit", "zero", "truncate"}},
	{"clock", (*cluster).clockFault, []string{"ahead", "back", "apart", "jumps"}},
	{"sync", (*cluster).syncFault, []string{"one", "leader", "all"}},
	{"member", (*cluster).memberFault, []string{"leave", "lost"}},
	{"alone", (*cluster).aloneFault, []string{"one", "each"}},
	{"lose", (*cluster).loseFault, []string{"log", "all"}},
	{"journal", (*cluster).journalFault, []string{"cut", "longer", "zero", "remove"}},
	{"older", (*cluster).olderFault, []string{"all", "log"}},
	{"disk", (*cluster).diskFault, []string{"one", "leader"}},
	{"backup", (*cluster).backupFault, []string{"all", "all", "archive", "schema"}},
	{"restore", (*cluster).restoreFault, []string{"all", "joined", "moment", "latest", "schema", "schema-moment", "past"}},
	{"store", (*cluster).storeFault, []string{"busy", "slow", "torn", "lost", "listings"}},
	{"version", (*cluster).versionFault, []string{"one", "one", "leader", "leader", "rolling", "rolling", "kill", "kill", "finalize"}},
}

// Faults are their names.
var Faults = func() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}()

func kindOf(name string) kind { return kinds[slices.Index(Faults, name)] }

// fault is one entry of a plan.
type fault struct {
	kind, variant string
	nodes         []int         // all, in the order in which they are chosen
	after, hold   time.Duration // since the round began; between hurt and heal
	seed          uint64        // of the fault's own choices
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s n%d +%dms %dms", f.kind, f.variant, f.nodes[0]+1, f.after.Milliseconds(), f.hold.Milliseconds())
}

// random returns the source of the fault's own choices.
func (f fault) random() *rand.Rand { return rand.New(rand.NewPCG(f.seed, 0)) }

// plan is the faults of a round.
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

// source returns the random source for one use in one round.
func source(seed uint64, round int, use string) *rand.Rand {
	h := uint64(round) + 1
	for _, c := range []byte(use) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(seed, h))
}

// makePlan chooses the faults of a round: each of the kinds always, and others among kinds.
func makePlan(seed uint64, round, nodes int, kinds []string, always ...string) plan {
	r := source(seed, round, "plan")
	n := 1
	switch r.IntN(20) {
	case 0:
		n = 0 // nothing at all is a case too
	case 1, 2, 3, 4, 5, 6, 7, 8:
		n = 2
	case 9, 10, 11:
		n = 3
	}
	var p plan
	for i := range n + len(always) {
		kind := kinds[r.IntN(len(kinds))]
		if i < len(always) {
			kind = always[i]
		}
		v := kindOf(kind).variants
		f := fault{kind: kind, variant: v[r.IntN(len(v))], nodes: r.Perm(nodes), after: time.Duration(r.IntN(300)) * time.Millisecond,
			hold: time.Duration(100+r.IntN(900)) * time.Millisecond, seed: r.Uint64()}
		if r.IntN(20) == 0 {
			f.hold += deadAfter
		}
		if bearable(kind, nodes) && !slices.ContainsFunc(p, func(o fault) bool { return !together(o.kind, kind) }) {
			p = append(p, f)
		}
	}
	return p
}

// deadAfter is how long a node is silent before it counts as dead.
const deadAfter = 3 * time.Second

// damages reports whether a plan needs every file to be intact before it, and damages
// some.
func (p plan) damages() bool {
	return slices.ContainsFunc(p, func(f fault) bool { return f.kind == "flip" })
}

// bearable reports whether so many nodes survive a fault: damaged files have another
// replica, and without a node that leaves two remain as a majority.
func bearable(kind string, nodes int) bool {
	return nodes >= map[string]int{"flip": 2, "member": 3, "older": 3}[kind]
}

// together reports whether two kinds may overlap. Damage is exclusive: with one copy
// damaged and the others unreachable, no system could answer; a node need not start on
// a full disk; a fault that ends all nodes is enough by itself; and a node that is to
// leave must not be started again by another fault.
func together(a, b string) bool {
	pair := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case a == b, a == "alone", b == "alone", a == "lose", b == "lose", refuses(a), refuses(b), pair("disk", "kill"), pair("disk", "restart"), pair("disk", "version"):
		return false
	case a == "flip" || b == "flip":
		return gentle(a) || gentle(b)
	case a == "member" || b == "member":
		return gentle(a) || gentle(b) || pair("member", "partition") || pair("member", "pause")
	}
	return true
}

// refuses reports whether a node must refuse to start during a fault: it needs the others
// to say so, or nobody else to start it.
func refuses(kind string) bool { return kind == "journal" || kind == "older" }

// gentle reports whether all nodes and files stay reachable during a fault.
func gentle(kind string) bool {
	return slices.Contains([]string{"cancel", "slow", "spill", "clock", "sync", "backup", "restore", "store"}, kind)
}

// Possible returns the faults that are possible on this machine, without another version of the program.
func Possible() []string {
	return slices.DeleteFunc(slices.Clone(Faults), func(kind string) bool {
		switch kind {
		case "version":
			return true
		case "disk":
			return os.Geteuid() != 0 || runtime.GOOS != "linux"
		case "partition", "clock", "sync":
			return runtime.GOOS != "linux" // the mesh looks into /proc, the patch is of Linux
		}
		return false
	})
}
