package repl

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// askFor is how long another node may take to answer a request about files.
const askFor = 5 * time.Second

// holds are the operations of this node outside of sessions that will commit files, by
// the catalog version at which each began.
type holds struct {
	mu   sync.Mutex
	next int
	at   map[int]uint64
}

// Hold protects files that are written from now on, here and on their replicas, from
// being swept until release is called: when the outcome of the commit that names them
// is known.
func (r *Repl) Hold() (release func()) {
	h := &r.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil {
		h.at = map[int]uint64{}
	}
	k := h.next
	h.next++
	h.at[k] = r.c.Current().Version()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.at, k)
	}
}

// oldestOpen returns the catalog version at which the oldest transaction of this node that
// may still commit files began; 0 when it is not known, the greatest number for none.
func (r *Repl) oldestOpen() uint64 {
	oldest := uint64(math.MaxUint64)
	r.holds.mu.Lock()
	for _, v := range r.holds.at {
		oldest = min(oldest, v)
	}
	r.holds.mu.Unlock()
	if r.o.OldestOpen != nil {
		if v := r.o.OldestOpen(); v != 0 {
			oldest = min(oldest, v)
		}
	}
	// This check comes after the transactions: one whose outcome is unknown is marked in
	// doubt before it ends.
	if r.c.InDoubt() {
		return 0
	}
	return oldest
}

func (r *Repl) handleOldestOpen(ctx context.Context, _ struct{}) (uint64, error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	return r.oldestOpen(), nil
}

// oldestOpenAt asks members when their oldest transactions began.
func (r *Repl) oldestOpenAt(ctx context.Context, nodes []*catalog.Node) map[uint64]uint64 {
	out := map[uint64]uint64{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			var v uint64
			if n.ID == r.c.ID() {
				v = r.oldestOpen()
			} else {
				one, cancel := context.WithTimeout(ctx, askFor)
				defer cancel()
				var err error
				if v, err = rpc.Call[uint64](one, r.c.Peers(), n.ID, callBegan, struct{}{}); err != nil {
					v = 0
				}
			}
			mu.Lock()
			out[n.ID] = v
			mu.Unlock()
		})
	}
	wg.Wait()
	return out
}

// sweepShare bounds the share of a node's time that sweeping takes, as 1/n: a very
// large catalog is swept less often.
const sweepShare = 50

// sweep removes files that nothing needs any more, in repeated passes. It does so soon,
// because the space of a dropped table, on disk and in the page cache, is needed by the
// table that replaces it.
func (r *Repl) sweep() {
	wait := time.NewTimer(r.o.Soon)
	defer wait.Stop()
	var last time.Time // of the last pass
	var known orphans
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-wait.C:
		}
		now := time.Now()
		if known.update(r) || now.Sub(last) >= r.o.Sweep {
			last = now
			if n, err := r.sweepOnce(r.ctx); err != nil {
				r.o.Log.Debug("no sweep of segment files", "err", err)
			} else if n > 0 {
				r.o.Log.Debug("segment files removed", "files", n)
			}
		}
		wait.Reset(r.nextSweep(time.Since(now)))
	}
}

// nextSweep returns the delay before the next pass, after one that took the given time.
// A pass may have taken long because a node was slow to answer, so the delay is never
// more than the regular interval.
func (r *Repl) nextSweep(took time.Duration) time.Duration {
	return min(max(r.o.Soon, sweepShare*took), max(r.o.Soon, r.o.Sweep))
}

// orphans records whether, at some catalog version, the node had files that the catalog
// does not name: of dropped tables, or files being written.
type orphans struct {
	version uint64
	some    bool
}

// update checks again, without asking other nodes. It does nothing while the catalog is
// unchanged and named all files.
func (s *orphans) update(r *Repl) bool {
	state := r.c.Current()
	if !s.some && s.version == state.Version() {
		return false
	}
	present, err := r.o.Store.List()
	if err != nil {
		return true // the next pass finds out
	}
	here := store.References(state, r.c.ID())
	s.version = state.Version()
	s.some = slices.ContainsFunc(present, func(id catalog.SegmentID) bool {
		_, named := here[id]
		return !named
	})
	return s.some
}

// sweepOnce sweeps once; see store.Look for the order of things. It removes nothing
// unless a majority confirms what this node knows of the catalog.
func (r *Repl) sweepOnce(ctx context.Context) (int, error) {
	present, err := r.o.Store.List()
	if err != nil {
		return 0, err
	}
	began := r.oldestOpenAt(ctx, r.c.Current().Nodes())
	one, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if err := r.c.ReadIndex(one); err != nil {
		return 0, err
	}
	state := r.c.Current()
	if state.Node(r.c.ID()) == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node is not a member")
	}
	l := store.Look{Present: present, Here: store.References(state, r.c.ID()), Anywhere: store.References(state, 0),
		Version: state.Version(), Read: min(state.Version(), r.c.Horizon()), Began: math.MaxUint64}
	for _, n := range state.Nodes() {
		l.Began = min(l.Began, began[n.ID]) // 0 for one that was not asked
	}
	return r.o.Store.Sweep(l), nil
}

// Discard removes files of a transaction that was rolled back before it was proposed,
// or refused: here and on their replicas. It is best effort; what remains is swept
// later.
func (r *Repl) Discard(ctx context.Context, segs []*catalog.Segment) {
	if r.ready(ctx) != nil {
		return
	}
	r.eachHolder(ctx, segs, time.Second, func(ctx context.Context, node uint64, ids []catalog.SegmentID) error {
		if node == r.c.ID() {
			_, err := r.handleDiscard(ctx, ids)
			return err
		}
		_, err := rpc.Call[bool](ctx, r.c.Peers(), node, callDiscard, ids)
		return err
	})
}

// handleDiscard removes files unless the catalog names them, whatever the caller
// believes. Where the catalog cannot be confirmed they are left to the sweep.
func (r *Repl) handleDiscard(ctx context.Context, ids []catalog.SegmentID) (bool, error) {
	if err := r.ready(ctx); err != nil {
		return false, err
	}
	if err := r.c.ReadIndex(ctx); err != nil {
		return false, err
	}
	refs := store.References(r.c.Current(), 0)
	for _, id := range ids {
		if _, used := refs[id]; !used {
			r.o.Store.Discard(id)
		}
	}
	return true, nil
}

// Prove checks that a majority of the holders of each of these files still have it, and
// will keep it, before a commit names them. It does not wait for the other holders.
func (r *Repl) Prove(ctx context.Context, segs []*catalog.Segment) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	asking, enough := context.WithCancel(ctx)
	defer enough()
	var mu sync.Mutex
	have := map[catalog.SegmentID]int{}
	lacking := func() *catalog.Segment {
		for _, s := range segs {
			if s.Inline == nil && !s.InBucket() && have[s.ID] <= len(s.Nodes)/2 {
				return s
			}
		}
		return nil
	}
	r.eachHolder(asking, segs, askFor, func(ctx context.Context, node uint64, ids []catalog.SegmentID) (err error) {
		var got []catalog.SegmentID
		if node == r.c.ID() {
			got, err = r.handleHave(ctx, ids)
		} else {
			got, err = rpc.Call[[]catalog.SegmentID](ctx, r.c.Peers(), node, callHave, ids)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range got {
			have[id]++
		}
		if lacking() == nil {
			enough()
		}
		return err
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if s := lacking(); s != nil {
		return pgerr.New(pgerr.IOError, "could not commit rows of which a majority of the replicas has no file any more").
			WithDetail("%d of %d nodes have segment %s.", have[s.ID], len(s.Nodes), s.ID)
	}
	return nil
}

// handleHave returns those of the files that this node has, and protects them from
// being swept.
func (r *Repl) handleHave(_ context.Context, ids []catalog.SegmentID) (have []catalog.SegmentID, _ error) {
	for _, id := range ids {
		if r.o.Store.Claim(id) {
			have = append(have, id)
		}
	}
	return have, nil
}

// eachHolder calls f for each node with those of the files that it holds, all
// at once.
func (r *Repl) eachHolder(ctx context.Context, segs []*catalog.Segment, limit time.Duration, f func(ctx context.Context, node uint64, ids []catalog.SegmentID) error) {
	at := map[uint64][]catalog.SegmentID{}
	for _, s := range segs {
		if s.Inline != nil {
			continue
		}
		for _, n := range s.Holders() {
			at[n] = append(at[n], s.ID)
		}
	}
	var wg sync.WaitGroup
	for node, ids := range at {
		wg.Go(func() {
			one, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			if err := f(one, node, ids); err != nil && ctx.Err() == nil {
				r.o.Log.Debug("asking a holder of segments", "node", node, "err", err)
			}
		})
	}
	wg.Wait()
}
