package store

import (
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// StrayGrace is how long a node keeps a copy that it fetched only to read it.
const StrayGrace = time.Hour

// References returns the files that a state needs on a node (0: on any): those of
// segments, of models and of running jobs, and those that are kept for the past. Copies of
// files in the storage may be on any node.
func References(s *catalog.State, node uint64) map[catalog.SegmentID]struct{} {
	refs := map[catalog.SegmentID]struct{}{}
	add := func(g *catalog.Segment) {
		if node == 0 || slices.Contains(g.Nodes, node) || g.InBucket() {
			refs[g.ID] = struct{}{}
		}
	}
	for g := range catalog.FilesOf(s) {
		add(g)
	}
	for _, g := range s.Graves() {
		if g.File != nil {
			add(g.File)
		}
	}
	return refs
}

// miss is the first Look that found a file not needed.
type miss struct {
	version uint64
	at      time.Time
}

// Look is the input of a sweep. The caller lists the files first, then determines Began, and then
// takes the state with all that was committed by that time. So of a file that two looks missed, the
// transaction that wrote it had begun by the version of the first; and if Began of the second is
// later, it has ended, and the state of the second would name the file had it committed.
type Look struct {
	Present []catalog.SegmentID
	// Here are the state's References for the node, Anywhere those for any.
	Here, Anywhere map[catalog.SegmentID]struct{}
	Version        uint64 // of the state
	// Read is the version of the oldest state that a statement of any node
	// reads (Version, if none does).
	Read uint64
	// Began is the version that was the newest when the oldest transaction
	// began that may yet commit files: 0 where that is not known of every node,
	// the greatest number where there is none.
	Began uint64
}

// List returns the files there are.
func (s *Store) List() ([]catalog.SegmentID, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, ioError(err, "read", s.dir)
	}
	var out []catalog.SegmentID
	for _, e := range entries {
		if id, ok := catalog.ParseSegmentID(strings.TrimSuffix(e.Name(), fileSuffix)); ok && strings.HasSuffix(e.Name(), fileSuffix) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Sweep removes files that two looks, this one and an earlier one, found not needed, and that
// nobody has claimed in between. It returns the number of files removed.
func (s *Store) Sweep(l Look) (removed int) {
	for _, id := range s.unneeded(l) {
		// One by one: removing a large file takes time, in which no statement can begin.
		if s.sweepAway(id) {
			removed++
		}
	}
	return removed
}

// sweepAway removes a file unless it was claimed or opened since it was found.
func (s *Store) sweepAway(id catalog.SegmentID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, missed := s.missed[id]; !missed {
		return false
	}
	if g := s.open[id]; g != nil && g.pins > 0 {
		return false
	}
	s.remove(id)
	return true
}

// unneeded returns the files that a sweep may remove.
func (s *Store) unneeded(l Look) (out []catalog.SegmentID) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range l.Present {
		if _, ok := l.Here[id]; ok {
			s.seen[id] = struct{}{}
			delete(s.missed, id)
			continue
		}
		first, again := s.missed[id]
		if !again {
			s.missed[id] = miss{l.Version, now}
			continue
		}
		if g := s.open[id]; g != nil && g.pins > 0 {
			continue
		}
		if _, ok := s.seen[id]; ok {
			// It left the catalog: statements may still read an earlier state.
			if l.Read < first.version {
				continue
			}
		} else if l.Began <= first.version {
			continue
		} else if _, ok := l.Anywhere[id]; ok && now.Sub(first.at) < StrayGrace {
			continue
		}
		out = append(out, id)
	}
	return out
}

// Usage returns the number and bytes of the files there are.
func (s *Store) Usage() (files int, bytes int64) {
	entries, _ := s.fs.ReadDir(s.dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), fileSuffix) {
			files++
			bytes += st.Size()
		}
	}
	return files, bytes
}
