package session

import (
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/sysview"
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
}

// liveActivity is what a session is at, which any goroutine may ask.
type liveActivity struct {
	activity atomic.Pointer[Activity]
	pool     atomic.Pointer[mem.Pool]        // of the running statement
	queued   atomic.Pointer[query.Admission] // the running statement's
	appName  atomic.Value                    // string
}

// set notes a change, of a transaction that began then. No query leaves the last one.
func (d *liveActivity) set(state, query string, xact time.Time) {
	old := d.activity.Load()
	a := &Activity{State: state, Query: old.Query, Since: time.Now(), QueryStart: old.QueryStart, XactStart: xact}
	if query != "" {
		a.Query, a.QueryStart = query, a.Since
	}
	d.activity.Store(a)
}

// report fills in what the session is at.
func (d *liveActivity) report(i *SessionInfo) {
	i.Application, i.Activity = d.appName.Load().(string), *d.activity.Load()
	if p := d.pool.Load(); p != nil {
		i.Memory, i.Spilled = p.Used(), p.Spilled()
	}
	if a := d.queued.Load(); a != nil {
		i.QueueNode, i.QueuePlace = (*a).Place()
	}
}
