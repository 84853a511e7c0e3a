package catalog

import "github.com/tributarydb/tributary/sql/types"

// SettingArchive is the cluster's setting that names the place of its archive, "" for none; SettingArchiveTimeout is
// within how many seconds commits are to be there.
const (
	SettingArchive        = "archive"
	SettingArchiveTimeout = "archive_timeout"
)

// Archive is how far an archive has the commits of its cluster.
type Archive struct {
	Place   string // the value of SettingArchive
	Version uint64 // of the last commit that is there, or after which those begin that will be
	Micros  int64  // State.Time of that version, in Unix µs
	Based   bool   // there is a backup from which the commits lead to Version
	// Logs is how many files of commits were written, with the last one's name and time (Unix µs); Failures how often it
	// failed, with the last time. Error is that of the last attempt; "" if it succeeded.
	Logs     int64
	Log      string
	At       int64
	Failures int64
	FailedAt int64
	Error    string
	// TakenOver is the number of the lease with which another cluster has taken over the storage; 0: none has.
	TakenOver uint64
}

// PutArchive records how far the archive is. It conflicts (40001) if somebody has recorded more since After.
type PutArchive struct {
	Archive Archive
	After   Archive // the zero value: there was none
}

func (c *PutArchive) apply(e *edit) error {
	var was Archive
	if e.s.archive != nil {
		was = *e.s.archive
	}
	if was != c.After {
		return conflict("update")
	}
	now := c.Archive
	e.s.archive = &now
	return nil
}

// stopArchive is called when the archive is to be another, or none: files that it lacks are kept no longer, so if it is to be this one again,
// that begins with a backup.
func (e *edit) stopArchive() {
	if e.s.archive != nil {
		now := *e.s.archive
		now.Based, now.Error = false, ""
		e.s.archive = &now
	}
}

// Archived is what is recorded of the archive, whether commits go there now or not; nil for nothing.
func Archived(s *State) *Archive { return s.archive }

// Archiving is how far the archive is to which commits go; nil if they go to none, or nothing was recorded of it yet.
func Archiving(s *State) *Archive {
	if s.archive == nil || s.archive.Place == "" || s.settings[SettingArchive] != s.archive.Place {
		return nil
	}
	return s.archive
}

// KeptFor is the archive for which files and commits are kept until it has them; nil for none. One that cannot be reached and
// has no backup yet begins with one when it can be.
func KeptFor(s *State) *Archive {
	if a := Archiving(s); a != nil && (a.Based || a.Error == "") {
		return a
	}
	return nil
}

// ArchivedFiles lists the files that an archive needs of commits: those that they add to the catalog, except checkpoints
// of trainings, which are removed as soon as there are newer ones.
func ArchivedFiles(changes []Change) []*Segment {
	out := Files(changes)
	add := func(list []*Segment) {
		for _, g := range list {
			if g.Inline == nil {
				out = append(out, g)
			}
		}
	}
	for _, c := range changes {
		switch c := c.(type) {
		case *ReplaceSegments:
			add(c.New)
		case *PutJob: // tables of the past, whose files may have left the catalog before the archive began
			for _, m := range c.Job.Reads {
				for _, p := range m.Partitions {
					add(p)
				}
			}
		}
	}
	return out
}

// DropCheckpoints makes trainings begin again whose checkpoints are gone, in a state that was just decoded.
func DropCheckpoints(s *State, gone func(SegmentID) bool) {
	jobs := make(map[types.OID]*Job, len(s.jobs))
	for oid, j := range s.jobs {
		if !j.CheckpointFile.IsZero() && j.State != JobDone && gone(j.CheckpointFile) {
			n := *j
			n.CheckpointFile, n.CheckpointNodes, n.CheckpointSHA, n.CheckpointBytes = SegmentID{}, nil, [32]byte{}, 0
			n.Iteration, n.History = 0, nil
			j = &n
		}
		jobs[oid] = j
	}
	s.jobs = jobs
}
