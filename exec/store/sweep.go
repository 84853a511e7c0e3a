package store

import (
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// How long a file that no state ever mentioned is kept: it may belong to a load
// that goes on, here or (for a file that was pushed to this node) elsewhere, or
// be a copy that was fetched to be read.
const (
	FreshGrace = 24 * time.Hour
	StrayGrace = time.Hour
)

// References gives the files that a state needs on a node (0: on any): those of
// segments, of models and of running jobs.
func References(s *catalog.State, node uint64) map[catalog.SegmentID]struct{} {
	refs := map[catalog.SegmentID]struct{}{}
	here := func(nodes []uint64) bool { return node == 0 || slices.Contains(nodes, node) }
	for _, r := range s.Relations() {
		m := s.Manifest(r.OID)
		if m == nil {
			continue
		}
		for _, p := range m.Partitions {
			for _, g := range p {
				if g.Inline == nil && here(g.Nodes) {
					refs[g.ID] = struct{}{}
				}
			}
		}
	}
	for _, m := range s.Models() {
		for _, v := range m.Versions {
			if !v.File.IsZero() && here(v.FileNodes) {
				refs[v.File] = struct{}{}
			}
		}
	}
	for _, j := range s.Jobs() {
		// A job that failed may be resumed.
		if j.State == catalog.JobDone {
			continue
		}
		for _, m := range j.Reads {
			for _, p := range m.Partitions {
				for _, g := range p {
					if g.Inline == nil && here(g.Nodes) {
						refs[g.ID] = struct{}{}
					}
				}
			}
		}
		if !j.CheckpointFile.IsZero() && here(j.CheckpointNodes) {
			refs[j.CheckpointFile] = struct{}{}
		}
	}
	return refs
}

// Sweep removes files that nothing needs: those that left the catalog before
// every statement in the cluster that still runs began, and strays. refs are
// the References of the state with this version; horizon is the version of the
// oldest state that a running statement of any node reads (version, if none
// does). It gives the number of files removed.
func (s *Store) Sweep(refs map[catalog.SegmentID]struct{}, version, horizon uint64) (int, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return 0, ioError(err, "read", s.dir)
	}
	now, removed := s.now(), 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		id, ok := catalog.ParseSegmentID(strings.TrimSuffix(e.Name(), fileSuffix))
		if !ok || !strings.HasSuffix(e.Name(), fileSuffix) {
			continue
		}
		if _, ok := refs[id]; ok {
			delete(s.fresh, id)
			delete(s.gone, id)
			s.seen[id] = struct{}{}
			continue
		}
		if g := s.open[id]; g != nil && g.pins > 0 {
			continue
		}
		if _, ok := s.seen[id]; ok {
			if _, noted := s.gone[id]; !noted {
				s.gone[id] = version
			}
			if horizon < s.gone[id] {
				continue
			}
		} else if t, ok := s.fresh[id]; ok {
			if now.Sub(t) < FreshGrace {
				continue
			}
		} else if st, err := e.Info(); err != nil || now.Sub(st.ModTime()) < StrayGrace {
			continue
		}
		s.remove(id)
		removed++
	}
	return removed, nil
}

// Usage is the number and bytes of the files there are.
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
