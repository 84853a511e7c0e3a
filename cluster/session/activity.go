package session

import (
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// Activity is what a session is doing, for pg_stat_activity and the dashboard.
// A new value is stored at each change; readers see whole ones.
type Activity struct {
	State      string // "active", "idle", "idle in transaction", "idle in transaction (aborted)"
	Query      string
	Since      time.Time // of the state
	QueryStart time.Time
	XactStart  time.Time
	Progress   Progress
}

// Progress reports a running statement; nil where nothing is known.
type Progress interface {
	// Rows is what was read and produced so far, Total an estimate of what will be read (0 unknown).
	Rows() (read, total, produced int64)
}

// SessionInfo is a session as others see it.
type SessionInfo struct {
	PID         uint32
	User        types.OID
	UserName    string
	Database    string
	Application string
	Remote      string
	Started     time.Time
	Activity    Activity
	Memory      int64
	Spilled     int64
	// QueuePlace is the statement's place in the queue of a node, 0 if it does not
	// wait; QueueNode is the node's name, "" for this one.
	QueueNode  string
	QueuePlace int
}

// Info describes a session; it may be called from any goroutine.
func (s *Session) Info() SessionInfo {
	i := SessionInfo{
		PID: s.start.PID, User: s.user, UserName: s.start.User, Database: "tributary",
		Application: s.appName.Load().(string), Remote: s.start.Remote, Started: s.started, Activity: *s.activity.Load(),
	}
	if p := s.pool.Load(); p != nil {
		i.Memory, i.Spilled = (*mem.Pool)(p).Used(), (*mem.Pool)(p).Spilled()
	}
	if a := s.queued.Load(); a != nil {
		i.QueueNode, i.QueuePlace = (*a).Place()
	}
	return i
}

func (s *Session) setActivity(state, query string) {
	old := s.activity.Load()
	a := &Activity{State: state, Query: old.Query, Since: time.Now(), QueryStart: old.QueryStart}
	if query != "" {
		a.Query, a.QueryStart = query, a.Since
	}
	if s.tx != nil {
		a.XactStart = s.tx.Start
	}
	s.activity.Store(a)
}
