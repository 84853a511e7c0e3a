package repl

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
)

// files returns all files of a state, in a fixed order.
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

// Replicas returns how many files name a node as a holder. A node that holds none can be
// removed without loss.
func (r *Repl) Replicas(node uint64) (n int) {
	for _, h := range files(r.c.Current()) {
		if slices.Contains(h.File.Nodes, node) {
			n++
		}
	}
	return n
}
