package repl

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// files lists all files of a state, in a fixed order.
func files(s *catalog.State) (out []catalog.HeldFile) {
	for _, rel := range s.Relations() {
		m := s.Manifest(rel.OID)
		if m == nil {
			continue
		}
		for _, p := range m.Partitions {
			for _, g := range p {
				if g.Inline == nil {
					table, id := rel.OID, g.ID
					out = append(out, catalog.HeldFile{File: g, Held: func(n []uint64) catalog.Change { return &catalog.SetNodes{Table: table, Segment: id, Nodes: n} }})
				}
			}
		}
	}
	return append(out, s.BlobFiles()...)
}

// Lead is the leader's loop: it runs until ctx ends.
func (r *Repl) Lead(ctx context.Context) {
	if r.ready(ctx) != nil {
		return
	}
	var wg sync.WaitGroup
	if !r.o.NoCompaction {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.leadCompaction(ctx)
		}()
	}
	defer wg.Wait()
	tick := time.NewTicker(r.o.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.place(ctx)
		}
	}
}

// place carries out one plan.
func (r *Repl) place(ctx context.Context) {
	all := files(r.c.Current())
	fs := make([]place.File, len(all))
	for i, h := range all {
		fs[i] = place.File{ID: h.File.ID, Bytes: h.File.Bytes, Nodes: h.File.Nodes, Part: h.File.Part, Of: h.File.Of}
	}
	plan := place.Plan(r.members(), fs, place.Options{Grace: r.o.Grace})
	// Two copies at a time: repair must not starve statements of the network.
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for _, a := range plan {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			if err := r.act(ctx, a, all[a.File]); err != nil && ctx.Err() == nil {
				r.o.Log.Warn("placing a segment", "segment", all[a.File].File.ID, "to", a.To, "err", err)
			}
		}()
	}
	wg.Wait()
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

// Held is how many files name a node as a holder; with none it can be removed in
// peace.
func (r *Repl) Held(node uint64) (n int) {
	for _, h := range files(r.c.Current()) {
		if slices.Contains(h.File.Nodes, node) {
			n++
		}
	}
	return n
}

// compactRequest asks a node to merge segments.
type compactRequest struct {
	Table types.OID
	Part  int
	Segs  []catalog.SegmentID
}

// compactionsPerTick is how often compaction looks at the tables while placing does once:
// a statement passes over every segment of a partition, which are as many as rows have
// come one by one since.
const compactionsPerTick = 8

// leadCompaction looks for runs worth merging in tables that changed.
func (r *Repl) leadCompaction(ctx context.Context) {
	seen := map[types.OID]uint64{} // manifest version at which nothing was to do
	tick := time.NewTicker(r.o.Tick / compactionsPerTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		state := r.c.Current()
		for _, rel := range state.Relations() {
			m := state.Manifest(rel.OID)
			if m == nil || seen[rel.OID] == m.Version {
				continue
			}
			did := false
			for p, segs := range m.Partitions {
				for _, run := range store.PlanCompaction(segs, r.o.SegmentRows) {
					if ctx.Err() != nil {
						return
					}
					did = true
					if err := r.compactAt(ctx, rel.OID, p, segs[run.From:run.To]); err != nil && ctx.Err() == nil {
						// A statement changed the segments meanwhile: another
						// time.
						r.o.Log.Debug("compaction", "table", rel.OID, "err", err)
					}
				}
			}
			if !did {
				seen[rel.OID] = m.Version
			}
		}
	}
}

// compactAt has a run merged by a node that holds most of it.
func (r *Repl) compactAt(ctx context.Context, table types.OID, part int, segs []*catalog.Segment) error {
	req := compactRequest{Table: table, Part: part}
	bytes := map[uint64]int64{}
	for _, s := range segs {
		req.Segs = append(req.Segs, s.ID)
		for _, n := range s.Nodes {
			bytes[n] += s.Bytes
		}
	}
	best := r.c.ID()
	for _, n := range r.c.Current().Nodes() {
		if alive, _ := r.c.Liveness(n.ID); alive && !n.Draining && bytes[n.ID] > bytes[best] {
			best = n.ID
		}
	}
	if best == r.c.ID() {
		_, err := r.handleCompact(ctx, req)
		return err
	}
	_, err := rpc.Call[bool](ctx, r.c.Peers(), best, callCompact, req)
	return err
}

// handleCompact merges segments, and commits the result.
func (r *Repl) handleCompact(ctx context.Context, req compactRequest) (bool, error) {
	if err := r.ready(ctx); err != nil {
		return false, err
	}
	state := r.c.Current()
	rel, m := state.RelationByOID(req.Table), state.Manifest(req.Table)
	if rel == nil || m == nil || req.Part < 0 || req.Part >= len(m.Partitions) {
		return false, nil
	}
	at := map[catalog.SegmentID]*catalog.Segment{}
	for _, s := range m.Partitions[req.Part] {
		at[s.ID] = s
	}
	var segs []*catalog.Segment
	for _, id := range req.Segs {
		if at[id] == nil {
			return false, nil // this node lags behind, or it has been done
		}
		segs = append(segs, at[id])
	}
	var acct *mem.Account
	if r.o.Pool != nil {
		acct = r.o.Pool.Account("compaction", false)
		defer acct.Close()
	}
	defer r.Hold()()
	change, err := r.o.Store.Compact(ctx, rel, req.Part, segs, acct, r.Push)
	if err != nil {
		return false, err
	}
	if err = r.Prove(ctx, change.New); err == nil {
		_, err = r.c.Propose(ctx, []catalog.Change{change})
	}
	if err != nil {
		if !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			r.Discard(ctx, change.New)
		}
		return false, err
	}
	return true, nil
}
