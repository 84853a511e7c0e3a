package resource

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Groups are the resource groups of a node. Their methods may be called from any goroutine; those of nil know no group.
type Groups struct {
	pool    *mem.Pool
	state   func() *catalog.State
	running atomic.Int64 // plans at work

	mu     sync.Mutex
	groups map[types.OID]*Group
}

// New makes the groups of a node with this pool; state is the catalog, now.
func New(pool *mem.Pool, state func() *catalog.State) *Groups {
	return &Groups{pool: pool, state: state, groups: map[types.OID]*Group{}}
}

// Of returns the group of a role, with its limits of now; nil for none.
func (g *Groups) Of(role types.OID) *Group {
	if g == nil {
		return nil
	}
	x := catalog.ResourceGroupOf(g.state(), role)
	if x == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heed(x)
}

// heed returns a group that heeds its limits. g.mu is held.
func (g *Groups) heed(x *catalog.ResourceGroup) *Group {
	of := g.groups[x.OID]
	if of == nil {
		of = newGroup(g.pool, x)
		g.groups[x.OID] = of
	}
	of.set(x)
	return of
}

// Update makes all groups heed the catalog, those too whose statements wait. Those that were dropped are forgotten.
func (g *Groups) Update() {
	st := g.state()
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := map[types.OID]bool{}
	for _, x := range catalog.ResourceGroups(st) {
		kept[x.OID] = true
		if g.groups[x.OID] != nil {
			g.heed(x)
		}
	}
	for oid, of := range g.groups {
		if !kept[oid] && mem.Empty(of.pool) {
			of.pool.Close()
			delete(g.groups, oid)
		}
	}
}

// Usage lists what the groups of the catalog use here, by name.
func (g *Groups) Usage() (out []Usage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range catalog.ResourceGroups(g.state()) {
		out = append(out, g.heed(x).usage())
	}
	slices.SortFunc(out, func(a, b Usage) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Work counts plans that begin (1) or end (-1) to be at work here.
func (g *Groups) Work(n int64) {
	if g != nil {
		g.running.Add(n)
	}
}

// A training that gives way rests so many times as long as it worked, but not longer at a time than most.
const (
	restShare = 3
	mostRest  = 200 * time.Millisecond
)

// GiveWay returns what makes, for a thread of a role's training, the function that it calls between two leaves: in a
// group with training_priority low, it rests there while plans are at work on this node.
func (g *Groups) GiveWay(role types.OID) func() func(ctx context.Context) {
	return func() func(ctx context.Context) {
		began := time.Now()
		return func(ctx context.Context) {
			if g == nil || g.running.Load() == 0 || !g.Of(role).Limits().LowTraining {
				began = time.Now()
				return
			}
			t := time.NewTimer(min(restShare*time.Since(began), mostRest))
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
			}
			began = time.Now()
		}
	}
}
