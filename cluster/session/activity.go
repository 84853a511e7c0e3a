package session

import (
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// Activity is what a session is doing, for pg_stat_activity.
// A new value is stored at each change; readers see whole ones.
type Activity struct {
	State      string // "active", "idle", "idle in transaction", "idle in transaction (aborted)"
	Query      string
	Since      time.Time // of the state
	QueryStart time.Time
	XactStart  time.Time
	// of is the statement that runs, whose tokens have been looked at; nil while a text is parsed.
	of *parse.Statement
}

// Shown is the running statement's text without secrets, at most so many bytes.
func (a *Activity) Shown(most int) string {
	if a.of == nil {
		return "<being parsed>"
	}
	return a.of.Shown(most)
}

// SessionInfo is a session as others see it.
type SessionInfo struct {
	PID         uint32
	User        types.OID
	UserName    string
	Database    string
	Application string
	Remote      string
	TLS         *sysview.TLSRow // nil without
	Started     time.Time
	Activity    Activity
	Memory      int64
	Spilled     int64
	// QueuePlace is the statement's place in the queue of a node, 0 if it does not
	// wait; QueueNode is the node's name, "" for this one.
	QueueNode  string
	QueuePlace int
	LockWait   bool              // it waits for an advisory lock
	Progress   *sysview.Progress // of the running statement; nil for none
	ID         string            // of the running statement, or the last
	Rows       int64             // that it has returned
}

// liveActivity is what a session is at, which any goroutine may ask.
type liveActivity struct {
	activity atomic.Pointer[Activity]
	pool     atomic.Pointer[mem.Pool]        // of the running statement
	queued   atomic.Pointer[query.Admission] // the running statement's
	appName  atomic.Value                    // string
	id       atomic.Pointer[string]          // of the running statement
	rows     atomic.Int64                    // that it has returned
	progress atomic.Pointer[sysview.Progress]
}

// set notes a change, of a transaction that began then. No query leaves the last one. Of one that may have a secret
// nothing secret is kept, whoever may see it.
func (d *liveActivity) set(state, query string, of *parse.Statement, xact time.Time) {
	old := d.activity.Load()
	a := &Activity{State: state, Query: old.Query, Since: time.Now(), QueryStart: old.QueryStart, XactStart: xact, of: of}
	if of != nil {
		_ = of.Fingerprint() // before other goroutines read it
		query = of.Public()
	} else if parse.MentionsSecret(query) {
		query = "<being parsed>"
	}
	if query != "" {
		a.Query, a.QueryStart = query, a.Since
	}
	d.activity.Store(a)
}

// report fills in what the session is at.
func (d *liveActivity) report(i *SessionInfo) {
	i.Application, i.Activity = d.appName.Load().(string), *d.activity.Load()
	if id := d.id.Load(); id != nil {
		i.ID, i.Rows = *id, d.rows.Load()
	}
	i.Progress = d.progress.Load()
	if p := d.pool.Load(); p != nil {
		i.Memory, i.Spilled = p.Used(), p.Spilled()
	}
	if a := d.queued.Load(); a != nil {
		i.QueueNode, i.QueuePlace = (*a).Place()
	}
}
