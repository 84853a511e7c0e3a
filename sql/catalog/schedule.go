package catalog

import (
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Schedule is a statement that runs again and again, as its owner.
type Schedule struct {
	OID       types.OID
	Version   uint64 // grows with each change
	Name      string // unique
	Owner     types.OID
	Statement string
	Recurring string // when, as was written: five fields of cron, @daily and the like, @every 1h
	TimeZone  string // that the fields are of
	// Settings are those of the session that made it, by which the statement runs.
	Settings  []NamedText
	CreatedAt time.Time
	Paused    bool
	Next      time.Time // when it is due

	// Of the last run, or the one under way; zero before the first.
	Runs           int64 // so far
	Running        bool
	Node           uint64 // that runs it
	Started, Ended time.Time
	Code, Error    string // "" where it succeeded
}

type (
	// PutSchedule makes a schedule, or replaces the one of this version: the fence, so that a run begins
	// once, whichever nodes believe that they lead.
	PutSchedule struct {
		Schedule      *Schedule
		ExpectVersion uint64 // 0: there is none yet
	}
	// DropSchedule removes a schedule.
	DropSchedule struct{ OID types.OID }
)

func (c *PutSchedule) apply(e *edit) error {
	x := c.Schedule
	old := e.s.schedules[x.OID]
	switch {
	case e.s.roles[x.Owner] == nil:
		return conflict("delete")
	case old == nil && c.ExpectVersion > 0:
		return conflict("delete")
	case old != nil && old.Version != c.ExpectVersion:
		return conflict("update")
	}
	for _, o := range e.s.schedules {
		if o.Name == x.Name && o.OID != x.OID {
			return pgerr.New(pgerr.DuplicateObject, "schedule %q already exists", x.Name)
		}
	}
	n := *x
	n.Version = c.ExpectVersion + 1
	writable(e, mapSchedules, &e.s.schedules)[x.OID] = &n
	e.noteOID(x.OID)
	return nil
}

func (c *DropSchedule) apply(e *edit) error {
	if e.s.schedules[c.OID] == nil {
		return conflict("delete")
	}
	delete(writable(e, mapSchedules, &e.s.schedules), c.OID)
	return nil
}

// Schedules lists all, by OID.
func Schedules(s *State) []*Schedule { return sorted(s.schedules) }
