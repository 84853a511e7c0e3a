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

// askFor is how long another node may take to answer a question about files.
const askFor = 5 * time.Second

// holds are what this node does outside of sessions that ends in a commit of
// files, by the version at which it began.
type holds struct {
	mu   sync.Mutex
	next int
	at   map[int]uint64
}

// Hold keeps files that are written from now on, here and on their replicas,
// until the commit that names them is settled and the function it gives is
// called.
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

// began is the version at which the oldest transaction of this node began that
// may yet commit files; 0 for not known, the greatest number for none.
func (r *Repl) began() uint64 {
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
	// After the transactions: one that ends in doubt is in doubt before it has
	// ended.
	if r.c.InDoubt() {
		return 0
	}
	return oldest
}

func (r *Repl) handleBegan(ctx context.Context, _ struct{}) (uint64, error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	return r.began(), nil
}

// beganAt asks members when their oldest transactions began.
func (r *Repl) beganAt(ctx context.Context, nodes []*catalog.Node) map[uint64]uint64 {
	out := map[uint64]uint64{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			var v uint64
			if n.ID == r.c.ID() {
				v = r.began()
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

// sweepShare is the part of a node's time that looking takes at most: a catalog of very
// many files is looked at less often.
const sweepShare = 50

// sweep removes files that nothing needs any more, look by look, and soon: the space of a
// table that was dropped is wanted by the one that takes its place, on the disk and in the
// kernel's cache.
func (r *Repl) sweep() {
	wait := time.NewTimer(r.o.Soon)
	defer wait.Stop()
	var last time.Time // look
	var known strays
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-wait.C:
		}
		now := time.Now()
		if known.update(r) || now.Sub(last) >= r.o.Sweep {
			last = now
			if n, err := r.look(r.ctx); err != nil {
				r.o.Log.Debug("no sweep of segment files", "err", err)
			} else if n > 0 {
				r.o.Log.Debug("segment files removed", "files", n)
			}
		}
		wait.Reset(r.nextLook(time.Since(now)))
	}
}

// nextLook returns how long after a look that took so long the next one is. One may take
// long because a node was slow to answer: the next is no later than looks are without a
// reason.
func (r *Repl) nextLook(took time.Duration) time.Duration {
	return min(max(r.o.Soon, sweepShare*took), max(r.o.Soon, r.o.Sweep))
}

// strays is whether a node had files at some version that its catalog does not name: of
// tables that were dropped, or that are being written.
type strays struct {
	version uint64
	some    bool
}

// update asks nobody, and does nothing while the catalog stays as it was and named all.
func (s *strays) update(r *Repl) bool {
	state := r.c.Current()
	if !s.some && s.version == state.Version() {
		return false
	}
	present, err := r.o.Store.List()
	if err != nil {
		return true // the look says so
	}
	here := store.References(state, r.c.ID())
	s.version = state.Version()
	s.some = slices.ContainsFunc(present, func(id catalog.SegmentID) bool {
		_, named := here[id]
		return !named
	})
	return s.some
}

// look sweeps once; see store.Look for the order of things. It removes nothing
// unless a majority confirms what this node knows of the catalog.
func (r *Repl) look(ctx context.Context) (int, error) {
	present, err := r.o.Store.List()
	if err != nil {
		return 0, err
	}
	began := r.beganAt(ctx, r.c.Current().Nodes())
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

// Discard removes files of a transaction that was rolled back before it was
// proposed, or refused: here and on their replicas. It does what it can;
// sweeping does the rest.
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

// handleDiscard removes files unless the catalog names them, whatever the
// caller believes; where it cannot be asked they are the sweep's.
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

// Prove makes sure that a majority of the holders of each of these files still
// have it, and keep it, before a commit names them. It waits for no more of
// them.
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
			if s.Inline == nil && have[s.ID] <= len(s.Nodes)/2 {
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

// handleHave returns those of the files that are here, and claims them.
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
		for _, n := range s.Nodes {
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
