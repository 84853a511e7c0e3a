package store

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// damagedSuffix ends the name of a damaged file that was replaced. The newest maxDamaged are kept,
// to examine what the disk did.
const (
	damagedSuffix = ".damaged"
	maxDamaged    = 8
)

// Damage counts what was found wrong with this node's files since the process
// began.
type Damage struct {
	Found    int64 // files that were damaged, or missing where the catalog has them
	Repaired int64 // of those, replaced from another replica
}

type damage struct{ found, repaired atomic.Int64 }

// Damage returns the counts.
func (s *Store) Damage() Damage { return Damage{s.damage.found.Load(), s.damage.repaired.Load()} }

// Condemn records, once, that the file of a segment is damaged or missing here, until a good one
// takes its place.
func (s *Store) Condemn(ref *catalog.Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.bad[ref.ID]; !known {
		s.bad[ref.ID] = struct{}{}
		s.damage.found.Add(1)
	}
}

// intact returns a *CorruptError if a file was written to since it was mapped: what was read of it
// may be wrong, though its checksums were right when they were compared. A file that is gone is whole
// in memory.
func (s *Store) intact(g *segment) error {
	if g.data == nil || !g.spoilt.Load() && g.dead.Load() {
		return nil // inline, or known from the moment before it was replaced
	}
	if !g.spoilt.Load() {
		now, err := s.stampNow(g)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return ioError(err, "stat", g.path)
		case now == g.stamp:
			return nil
		}
		g.spoilt.Store(true)
	}
	return g.corrupt("the file was written to while it was read")
}

func (s *Store) stampNow(g *segment) (stamp, error) {
	if g.stat != nil {
		size, modified, err := g.stat()
		return stamp{size, modified}, err
	}
	st, err := s.fs.Stat(g.path)
	if err != nil {
		return stamp{}, err
	}
	return stampOf(st), nil
}

// Intact implements op.Tables: it returns a *CorruptError if a file that the statement opened was
// written to meanwhile. Whoever has read rows asks before it takes them for right.
func (p *Pin) Intact() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.held {
		if err := p.store.intact(g); err != nil {
			return err
		}
	}
	for _, g := range p.stale {
		if err := p.store.intact(g); err != nil {
			return err
		}
	}
	return nil
}

// BeforeRerun is called before a plan is run again because of damage, and lets Intact forget the files that were
// written to. only says that nothing else has read them: else it returns an error if there are any.
func (p *Pin) BeforeRerun(only bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, g := range p.held {
		if g.spoilt.Load() {
			delete(p.held, id)
			p.stale = append(p.stale, g)
		}
	}
	for _, g := range p.stale {
		if g.spoilt.Load() && !only {
			return &RepairedError{g.id}
		}
	}
	p.void = append(p.void, p.stale...)
	p.stale = nil
	return nil
}

// replaced reports whether another file has taken the place of the damaged one.
func (s *Store) replaced(bad *CorruptError) bool {
	switch {
	case bad.Missing:
		return s.Has(bad.Segment)
	case bad.bad == nil:
		return false
	case bad.bad.foot != nil: // it was open
		return bad.bad.dead.Load()
	}
	st, err := s.fs.Stat(s.path(bad.Segment))
	return err == nil && stampOf(st) != bad.bad.stamp
}

// mend has a damaged file replaced by a replica's, unless that has happened: one at a time for a
// file, while others that found the same damage wait.
func (s *Store) mend(ctx context.Context, ref *catalog.Segment, bad *CorruptError) error {
	done := make(chan struct{})
	for {
		s.mu.Lock()
		other := s.mends[ref.ID]
		if other == nil {
			s.mends[ref.ID] = done
		}
		s.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		s.mu.Lock()
		delete(s.mends, ref.ID)
		s.mu.Unlock()
		close(done)
	}()
	if s.replaced(bad) { // asked only now that no other can be about to end
		return nil
	}
	s.Condemn(ref)
	err := s.remote.Repair(ctx, ref)
	var e *pgerr.Error
	if errors.As(err, &e) && e.Detail == "" && bad.What != "" {
		e.Detail = "The copy on this node: " + bad.What + "."
	}
	return err
}

// fetch gets a file that is not here: one that this node only reads, that went because it is in the storage, or that it lost.
func (s *Store) fetch(ctx context.Context, ref *catalog.Segment) error {
	if slices.Contains(ref.Nodes, s.node) && !ref.InBucket() {
		return s.mend(ctx, ref, &CorruptError{Segment: ref.ID, Missing: true})
	}
	return s.remote.Fetch(ctx, ref)
}

// Repair repairs the damage that a statement's error reports, and returns a *RepairedError then.
// It returns err itself where that is about something else or no replica can be asked, and an error
// of its own where none could help.
func (s *Store) Repair(ctx context.Context, err error) error {
	var bad *CorruptError
	if !errors.As(err, &bad) || bad.ref == nil {
		return err
	}
	if g := bad.bad; g != nil && g.spoilt.Load() {
		// It is mapped and verified anew, which shows what is damaged, if anything is.
		s.mu.Lock()
		if s.open[g.id] == g {
			s.retire(g.id)
		}
		s.mu.Unlock()
	} else if s.remote == nil {
		return err
	} else if err := s.mend(ctx, bad.ref, bad); err != nil {
		return err
	}
	return &RepairedError{bad.Segment}
}

// quarantine puts a damaged file aside, just before another takes its name.
func (s *Store) quarantine(id catalog.SegmentID) {
	if s.fs.Rename(s.path(id), s.path(id)+damagedSuffix) != nil {
		return // it is not there: nothing to keep
	}
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return
	}
	type kept struct {
		name string
		at   int64
	}
	var all []kept
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), damagedSuffix) {
			continue
		}
		if st, err := e.Info(); err == nil {
			all = append(all, kept{e.Name(), st.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return int(min(max(b.at-a.at, -1), 1)) })
	for _, k := range all[min(len(all), maxDamaged):] {
		_ = s.fs.Remove(s.dir + "/" + k.name)
	}
}
