package repl

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Lead is the leader's loop: it runs until ctx ends.
func (r *Repl) Lead(ctx context.Context) {
	if r.ready(ctx) != nil {
		return
	}
	var wg sync.WaitGroup
	if !r.o.NoCompaction {
		c := compactor{r: r, seen: map[types.OID]uint64{}, tables: map[types.OID]*postponed{}}
		wg.Go(func() { every(ctx, r.o.Tick/compactionsPerTick, func() { c.pass(ctx) }) })
	}
	defer wg.Wait()
	every(ctx, r.o.Tick, func() { r.place(ctx) })
}

// place carries out one plan.
func (r *Repl) place(ctx context.Context) {
	var own, stored []catalog.HeldFile
	for _, h := range catalog.HeldFiles(r.c.Current()) {
		if h.File.InBucket() {
			stored = append(stored, h)
		} else {
			own = append(own, h)
		}
	}
	share(ctx, r, stored)
	// Two copies at a time: repair must not starve statements of the network.
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for _, a := range plan(r, own, 0) {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := r.act(ctx, a, own[a.File]); err != nil && ctx.Err() == nil {
				r.o.Log.Warn("placing a segment", "segment", own[a.File].File.ID, "to", a.To, "err", err)
			}
		})
	}
	wg.Wait()
}

func plan(r *Repl, files []catalog.HeldFile, limit int) []place.Action {
	fs := make([]place.File, len(files))
	for i, h := range files {
		fs[i] = place.File{ID: h.File.ID, Bytes: h.File.Bytes, Nodes: h.File.Holders(), Stored: h.File.InBucket(), Part: h.File.Part, Of: h.File.Of}
	}
	return place.Plan(r.members(), fs, place.Options{Grace: r.o.Grace, Limit: limit})
}

// shared is how many files of the storage are given to other nodes at once.
const shared = 256

// share spreads the reading of files of the storage over the nodes. It copies nothing.
func share(ctx context.Context, r *Repl, files []catalog.HeldFile) {
	var changes []catalog.Change
	for _, a := range plan(r, files, shared) {
		changes = append(changes, files[a.File].Held(append(slices.Clone(a.Nodes), catalog.Bucket)))
	}
	if len(changes) == 0 {
		return
	}
	if _, err := r.c.Propose(ctx, changes); err != nil && ctx.Err() == nil {
		r.o.Log.Warn("giving files of the storage to other nodes", "err", err)
	}
}

func (r *Repl) act(ctx context.Context, a place.Action, h catalog.HeldFile) error {
	defer r.Hold()()
	if a.To != 0 {
		ref := refOf(h.File)
		ref.From = a.From
		one, cancel := context.WithTimeout(ctx, copyTime(max(h.File.Bytes, 1<<30)))
		defer cancel()
		var err error
		if a.To == r.c.ID() {
			_, err = r.handleCopy(one, ref)
		} else {
			_, err = rpc.Call[bool](one, r.c.Peers(), a.To, callCopy, ref)
		}
		if err != nil {
			if ctx.Err() == nil {
				r.failed.note(a.To, time.Now())
			}
			return err
		}
	}
	_, err := r.c.Propose(ctx, []catalog.Change{h.Held(a.Nodes)})
	return err
}

// Replicas returns how many files that are not in the storage name a node as a holder. A node that
// holds none can be removed without loss.
func (r *Repl) Replicas(node uint64) (n int) {
	for _, h := range catalog.HeldFiles(r.c.Current()) {
		if slices.Contains(h.File.Nodes, node) && !h.File.InBucket() {
			n++
		}
	}
	return n
}
