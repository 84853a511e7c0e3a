package catalog

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// SettingRetention is the cluster's setting, and Retention the tables' storage parameter, that say how long the past is
// kept.
const (
	SettingRetention = "tributary.retention"
	Retention        = "retention"
	// DefaultRetention is what SettingRetention is unless it is set.
	DefaultRetention = time.Hour
)

// Grave is a file that left the catalog and that reading the past may still need, or a table that was dropped.
type Grave struct {
	Of   types.OID // the table or the model
	File *Segment  // without what says what is in it; nil for a table
	Left int64     // when it left, as State.Time in µs
	// Keep is how long the past of a table that was dropped is kept, in µs; -1 for as long as the cluster keeps it.
	Keep int64
	// Table is a table that was dropped; nil for a file.
	Table *Dropped
}

// Dropped is a table that was dropped.
type Dropped struct {
	Schema, Name string
	Owner        types.OID
	Version      uint64 // of the last state that had it
}

// ParseRetention reads a length of time, of the setting or of a storage parameter.
func ParseRetention(s string) (time.Duration, bool) {
	iv, err := datetime.ParseInterval(strings.TrimSpace(s), -1, nil)
	const day = 24 * time.Hour
	if err != nil || iv.Months < 0 || iv.Days < 0 || iv.Micros < 0 {
		return 0, false
	}
	days := int64(iv.Months)*30 + int64(iv.Days)
	if days > 36500 || iv.Micros > int64(36500*day/time.Microsecond) {
		return 0, false
	}
	return time.Duration(days)*day + time.Duration(iv.Micros)*time.Microsecond, true
}

// kept is what a state keeps of the past.
type kept struct {
	at        int64    // Unix time of the newest commit, in µs; it never goes back
	graves    []*Grave // those that left first first
	graveDue  int64    // when the first of them goes
	forgotten int64    // see Forgotten
	// The versions of the last change of which nodes have which files, and that removed one of the past, since the
	// process began.
	moved, removedAt uint64
	lost             map[types.OID]bool // see Lost
	archive          *Archive           // never changed in place
	wanted           uint64             // see Wanted
}

// Time is the time of the newest commit that the state has: the greatest that a gateway's clock showed. Zero for a state from
// before commits had times.
func (s *kept) Time() time.Time {
	if s.at == 0 {
		return time.Time{}
	}
	return time.UnixMicro(s.at).UTC()
}

// RetentionOf is how long the past is kept of a relation, or of the cluster where r is nil.
func RetentionOf(s *State, r *Relation) time.Duration {
	if r != nil {
		if d, ok := ParseRetention(r.Options[Retention]); ok && r.Options[Retention] != "" {
			return d
		}
	}
	if v, ok := s.Setting(SettingRetention); ok {
		if d, ok := ParseRetention(v); ok {
			return d
		}
	}
	return DefaultRetention
}

// LongestRetention is that of the table with the longest.
func LongestRetention(s *State) time.Duration {
	most := RetentionOf(s, nil)
	for _, r := range s.relations {
		if r.Options[Retention] != "" {
			most = max(most, RetentionOf(s, r))
		}
	}
	return most
}

// Graves lists the files that are kept for the past alone, those that left first first.
func (s *kept) Graves() []*Grave { return s.graves }

// Forgotten is the time up to which files that left the catalog were removed before their time, for their room; zero where none
// were.
func (s *kept) Forgotten() time.Time {
	if s.forgotten == 0 {
		return time.Time{}
	}
	return time.UnixMicro(s.forgotten).UTC()
}

// GraveDue reports whether a commit at a time would remove a file from those that are kept for the past.
func (s *kept) GraveDue(at time.Time) bool { return len(s.graves) > 0 && at.UnixMicro() >= s.graveDue }

// buries reports whether what leaves the catalog is kept for the past: not what leaves a transaction's own view, and not before
// commits have times. Without a time it would be kept forever, and older nodes of an unfinalised cluster keep nothing.
func (e *edit) buries() bool { return e.commit && e.s.at != 0 }

// bury keeps files that leave the catalog. Those of a temporary table and of one that keeps no past need no grave.
func (e *edit) bury(of types.OID, rel *Relation, files ...*Segment) {
	if !e.buries() || rel != nil && rel.Temp {
		return
	}
	keep := keepOf(e.s, rel)
	for _, g := range files {
		if g.Inline == nil && !g.ID.IsZero() {
			e.buried = append(e.buried, &Grave{Of: of, Keep: keep, Left: e.s.at,
				File: &Segment{ID: g.ID, Rows: g.Rows, Bytes: g.Bytes, SHA256: g.SHA256, XXH128: g.XXH128, Nodes: g.Nodes}})
		}
	}
}

// buryTable keeps in mind that a table was dropped, which has been in the state before.
func (e *edit) buryTable(r *Relation) {
	sc := e.base.schemas[r.Schema]
	if !e.buries() || r.Temp || r.Kind != KindTable || sc == nil || e.base.relations[r.OID] == nil {
		return
	}
	e.buried = append(e.buried, &Grave{Of: r.OID, Left: e.s.at, Keep: keepOf(e.s, r), Table: &Dropped{sc.Name, r.Name, r.Owner, e.base.version}})
}

// keepOf is Grave.Keep for what belongs to a relation.
func keepOf(s *State, r *Relation) int64 {
	if r == nil || r.Options[Retention] == "" {
		return -1
	}
	return int64(RetentionOf(s, r) / time.Microsecond)
}

// buryAll buries all files of a manifest.
func (e *edit) buryAll(rel *Relation, m *Manifest) {
	if m == nil {
		return
	}
	for _, p := range m.Partitions {
		e.bury(m.Table, rel, p...)
	}
}

// buryVersions buries the files of a model's versions that now, nil for none, does not have.
func (e *edit) buryVersions(old, now *Model) {
	if old == nil {
		return
	}
	for i := range old.Versions {
		v := &old.Versions[i]
		if now == nil || !slices.ContainsFunc(now.Versions, func(x ModelVersion) bool { return x.File == v.File }) {
			e.bury(old.OID, nil, v.Blob())
		}
	}
}

// until is when a grave's time ends, as State.at: not before what needs the file is in the archive.
func until(s *State, g *Grave) int64 {
	if a := KeptFor(s); a != nil && g.File != nil && g.Left > a.Micros {
		return math.MaxInt64
	}
	keep := g.Keep
	if r := s.relations[g.Of]; r != nil {
		keep = int64(RetentionOf(s, r) / time.Microsecond)
	} else if keep < 0 {
		keep = int64(RetentionOf(s, nil) / time.Microsecond)
	}
	if keep == 0 {
		return math.MinInt64
	}
	return g.Left + keep
}

// keepGraves adds the graves of this commit, and removes those whose time has come. redefined says that retention, or what the
// archive has, may be another since the last commit.
func (e *edit) keepGraves(redefined bool) {
	s := e.s
	if !e.commit || len(s.graves)+len(e.buried) == 0 {
		return
	}
	s.graves = append(slices.Clip(s.graves), e.buried...)
	for _, g := range e.buried {
		if len(s.graves) == len(e.buried) {
			s.graveDue = math.MaxInt64
		}
		s.graveDue = min(s.graveDue, until(s, g))
	}
	if s.at < s.graveDue && !redefined {
		return
	}
	kept := make([]*Grave, 0, len(s.graves))
	s.graveDue = math.MaxInt64
	for _, g := range s.graves {
		if until := until(s, g); until > s.at && g.Left > s.forgotten {
			kept, s.graveDue = append(kept, g), min(s.graveDue, until)
		}
	}
	if len(kept) < len(s.graves) {
		s.removedAt = s.version
	}
	s.graves = kept
}

// forgetGraves drops a node from the files' holders.
func (e *edit) forgetGraves(node uint64) {
	for i, g := range e.s.graves {
		if g.File == nil || !slices.Contains(g.File.Nodes, node) {
			continue
		}
		if !e.ownGraves {
			e.ownGraves, e.s.graves = true, slices.Clone(e.s.graves)
		}
		n, f := *g, *g.File
		f.Nodes = slices.DeleteFunc(slices.Clone(f.Nodes), func(x uint64) bool { return x == node })
		n.File = &f
		e.s.graves[i] = &n
	}
}

func (c *ForgetPast) apply(e *edit) error {
	e.s.forgotten = max(e.s.forgotten, c.Micros)
	return nil
}
