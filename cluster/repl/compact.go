package repl

import (
	"context"
	"slices"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// compactRequest asks a node to merge segments.
type compactRequest struct {
	Table types.OID
	Part  int
	Segs  []catalog.SegmentID
}

// compactionsPerTick is how many times compaction looks at the tables for each pass of
// placement. It is frequent because a statement visits every segment of a partition,
// and single-row INSERTs make one segment each.
const compactionsPerTick = 8

// largeRun is the number of rows from which a compaction takes so long that statements
// notice it, and that a concurrent DELETE is likely to invalidate its result. Where one was
// invalidated, its number of rows is large for that table, but not less than hotRun: a table
// of 100,000 rows of which 4,000 are updated each second invalidates every merge, which took
// a fifth of the processor's time to make.
const (
	largeRun = 128 << 10
	hotRun   = 16 << 10
)

// A large run whose table is being changed is compacted once calm ticks have passed
// without a change, or after patience ticks at the latest.
const (
	calm     = 1
	patience = 30
)

// postponed is a table whose large runs wait to be merged.
type postponed struct {
	version        uint64 // of its manifest
	changed, since time.Time
	invalidated    int64 // rows of the smallest run that a statement invalidated lately; 0 for none
}

// large is the number of rows from which a run of the table is large.
func (w *postponed) large() int64 {
	if w.invalidated > 0 {
		return min(largeRun, max(hotRun, w.invalidated))
	}
	return largeRun
}

// merged is called when a run of so many live rows was merged, or was not because a
// statement invalidated that.
func (w *postponed) merged(live int64, ok bool) {
	switch {
	case !ok && (w.invalidated == 0 || live < w.invalidated):
		w.invalidated = live
	case ok && live >= w.large():
		w.invalidated = 0
	}
}

// due reports whether the large runs of a table are to be merged now.
func (w *postponed) due(version uint64, now time.Time, tick time.Duration) bool {
	if w.since.IsZero() {
		w.since = now
	}
	if w.changed.IsZero() || w.version != version {
		w.version, w.changed = version, now
	}
	return now.Sub(w.changed) >= calm*tick || now.Sub(w.since) >= patience*tick
}

// rowsOf returns how many rows a run has, and how many of its rows are deleted.
func rowsOf(run []*catalog.Segment) (live, deleted int64) {
	for _, s := range run {
		live, deleted = live+s.Live(), deleted+s.DeletedRows
	}
	return live, deleted
}

// waits reports whether a run is better merged once its table is no longer being changed.
func (w *postponed) waits(live, deleted int64) bool { return deleted > 0 && live >= w.large() }

// compactor looks for runs worth merging in tables that changed, while its node leads.
type compactor struct {
	r      *Repl
	seen   map[types.OID]uint64 // manifest version at which there was nothing to do
	tables map[types.OID]*postponed
}

// pass looks at all tables once.
func (c *compactor) pass(ctx context.Context) {
	r, state := c.r, c.r.c.Current()
	for _, rel := range state.Relations() {
		m := state.Manifest(rel.OID)
		if m == nil || c.seen[rel.OID] == m.Version {
			continue
		}
		wait := c.tables[rel.OID]
		if wait == nil {
			wait = &postponed{}
			c.tables[rel.OID] = wait
		}
		did, waits, due := false, false, false
		for p, segs := range m.Partitions {
			for _, at := range store.PlanCompaction(segs, r.o.SegmentRows) {
				if ctx.Err() != nil {
					return
				}
				did = true
				run := segs[at.From:at.To]
				live, deleted := rowsOf(run)
				if wait.waits(live, deleted) && !due {
					if due = wait.due(m.Version, time.Now(), r.o.Tick); !due {
						waits = true
						continue
					}
				}
				err := r.compactAt(ctx, rel.OID, p, run)
				if err != nil && ctx.Err() == nil {
					// A statement changed the segments meanwhile: retry later.
					r.o.Log.Debug("compaction", "table", rel.OID, "err", err)
				}
				wait.merged(live, err == nil)
			}
		}
		if !waits {
			wait.since, wait.changed = time.Time{}, time.Time{}
		}
		if !did {
			c.seen[rel.OID] = m.Version
			delete(c.tables, rel.OID)
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
			return false, nil // this node's catalog lags, or the merge has been done
		}
		segs = append(segs, at[id])
	}
	var acct *mem.Account
	if r.o.Pool != nil {
		acct = r.o.Pool.Account("compaction", false)
		defer acct.Close()
	}
	defer r.Hold()()
	y := activeCompaction{r: r, req: req, segs: segs}
	change, err := r.o.Store.Compact(ctx, rel, req.Part, segs, acct, r.Push, y.between)
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

// A compaction of a large run gives way to statements: after each workFor of work it rests
// restFor, so that it takes a fifth of one processor from them.
const (
	workFor = 5 * time.Millisecond
	restFor = 20 * time.Millisecond
)

// activeCompaction is a compaction at work.
type activeCompaction struct {
	r    *Repl
	req  compactRequest
	segs []*catalog.Segment
	rows int64
	last time.Time
}

// between is called after each batch of so many rows; it rests when that is due.
func (y *activeCompaction) between(ctx context.Context, rows int) error {
	if y.rows += int64(rows); y.rows < largeRun {
		return nil
	}
	now := time.Now()
	if y.last.IsZero() {
		y.last = now
	}
	if now.Sub(y.last) < workFor {
		return nil
	}
	if y.invalidated() {
		return pgerr.New(pgerr.SerializationFailure, "a statement deleted rows that were being compacted")
	}
	if y.r.o.OldestOpen != nil && y.r.o.OldestOpen() != 0 {
		rest := time.NewTimer(restFor)
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	y.last = time.Now()
	return nil
}

// invalidated reports whether the table's segments have changed meanwhile, so that the
// commit would be refused.
func (y *activeCompaction) invalidated() bool {
	m := y.r.c.Current().Manifest(y.req.Table)
	if m == nil || y.req.Part >= len(m.Partitions) {
		return true
	}
	now := m.Partitions[y.req.Part]
	at := slices.IndexFunc(now, func(s *catalog.Segment) bool { return s.ID == y.segs[0].ID })
	if at < 0 || at+len(y.segs) > len(now) {
		return true
	}
	for i, s := range y.segs {
		if now[at+i].ID != s.ID || now[at+i].DeletedRows != s.DeletedRows {
			return true
		}
	}
	return false
}
