package repl

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// ScrubState is what a node reports of its scrubbing.
type ScrubState struct {
	Done, Total int       // files of the pass that runs; both 0 between passes
	Completed   time.Time // when the last pass ended; zero for never
}

// scrubber is a node's loop that looks for damage before a statement meets it: often by
// file size, which finds missing files, and from time to time, slowly, by reading every
// file that the catalog says this node holds.
type scrubber struct {
	r    *Repl
	mark store.ScrubMark

	mu    sync.Mutex
	state ScrubState
}

// ScrubState returns the progress of scrubbing.
func (r *Repl) ScrubState() ScrubState {
	r.scrub.mu.Lock()
	defer r.scrub.mu.Unlock()
	return r.scrub.state
}

func (s *scrubber) set(f func(*ScrubState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

// run scrubs until the node ends.
func (s *scrubber) run() {
	ctx := s.r.ctx
	s.mark = s.r.o.Store.ScrubMark()
	if s.mark.Completed > 0 {
		s.set(func(st *ScrubState) { st.Completed = time.Unix(s.mark.Completed, 0) })
	}
	tick := time.NewTicker(s.r.o.Audit)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.audit(ctx)
		if s.r.o.ScrubRate > 0 && due(s.mark, time.Now(), s.r.o.ScrubEvery) {
			s.pass(ctx, tick.C)
		}
	}
}

// due reports whether a pass should run: one is under way, or the last is long ago. One
// that ended later than now ran before the clock was set back.
func due(m store.ScrubMark, now time.Time, every time.Duration) bool {
	last := time.Unix(m.Completed, 0)
	return m.Started > m.Completed || !now.Before(last.Add(every)) || now.Before(last.Add(-time.Second))
}

// held lists the files that the catalog says this node holds, by id, as a majority has
// it now: an older state may name files that have been removed since.
func (s *scrubber) held(ctx context.Context) (out []*catalog.Segment, ok bool) {
	one, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.r.c.ReadIndex(one) != nil {
		return nil, false // retry later
	}
	for _, h := range catalog.HeldFiles(s.r.c.Current()) {
		if slices.Contains(h.File.Nodes, s.r.c.ID()) {
			out = append(out, h.File)
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Segment) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out, true
}

// audit looks at all files by name and size.
func (s *scrubber) audit(ctx context.Context) {
	all, _ := s.held(ctx)
	for _, ref := range all {
		if err := s.r.o.Store.Look(ref); err != nil && ctx.Err() == nil && !(ref.InBucket() && dropped(err)) {
			s.repair(ctx, err)
		}
	}
}

// repair replaces a damaged file by a good copy. The store counts the damage and
// Repair logs it.
func (s *scrubber) repair(ctx context.Context, err error) {
	var bad *store.CorruptError
	if !errors.As(err, &bad) {
		return
	}
	// It may have left the catalog, or this node, since it was listed.
	all, _ := s.held(ctx)
	i := slices.IndexFunc(all, func(ref *catalog.Segment) bool { return ref.ID == bad.Segment })
	if i < 0 || bad.Missing && all[i].InBucket() {
		return
	}
	s.r.o.Log.Warn("a segment on this node is damaged", "segment", bad.Segment, "missing", bad.Missing, "what", bad.What)
	_ = s.r.o.Store.Repair(ctx, err)
}

// pass reads the files after the mark, and audits when that is due meanwhile.
func (s *scrubber) pass(ctx context.Context, audit <-chan time.Time) {
	all, ok := s.held(ctx)
	if !ok {
		return
	}
	if s.mark.Started <= s.mark.Completed {
		// Keep times increasing even where the clock was set back.
		now := time.Now().Unix()
		s.mark = store.ScrubMark{Started: now, Completed: min(s.mark.Completed, now-1)}
	}
	done, _ := slices.BinarySearchFunc(all, s.mark.At, func(ref *catalog.Segment, at catalog.SegmentID) int {
		if bytes.Compare(ref.ID[:], at[:]) <= 0 && !at.IsZero() {
			return -1
		}
		return 1
	})
	last := time.Now()
	for i, ref := range all[done:] {
		s.set(func(st *ScrubState) { st.Done, st.Total = done+i, len(all) })
		err := s.r.o.Store.Scrub(ctx, ref, s.pace)
		if ctx.Err() != nil {
			break
		}
		if err != nil && !(ref.InBucket() && dropped(err)) {
			s.repair(ctx, err)
		}
		s.mark.At = ref.ID
		if time.Since(last) > time.Minute {
			s.save()
			last = time.Now()
		}
		select {
		case <-audit:
			s.audit(ctx)
		default:
		}
	}
	if ctx.Err() == nil {
		s.mark = store.ScrubMark{Started: s.mark.Started, Completed: max(time.Now().Unix(), s.mark.Started)}
		s.set(func(st *ScrubState) { *st = ScrubState{Completed: time.Unix(s.mark.Completed, 0)} })
	}
	s.save()
}

func (s *scrubber) save() {
	if err := s.r.o.Store.SetScrubMark(s.mark); err != nil {
		s.r.o.Log.Warn("noting how far scrubbing is", "err", err)
	}
}

// pace waits so that reading n bytes takes as long as the rate allows.
func (s *scrubber) pace(ctx context.Context, n int) error {
	select {
	case <-time.After(time.Duration(float64(n) / float64(s.r.o.ScrubRate) * float64(time.Second))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
