package observe

import (
	"fmt"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// How much a node keeps. The bytes are the most; a small node keeps less (share).
const (
	keptStatements = 2000
	keptLogs       = 2000
	keptEvents     = 1000
	keptTasks      = 4000
	keptTransfers  = 2000
	share          = 128 // of the node's memory, for each of them
)

// Node is what a node keeps. Its methods may be called from any goroutine.
type Node struct {
	memory
	History   *Ring[Statement]
	Logs      *Ring[Log]
	Events    *Ring[Event]
	Tasks     *Ring[Task]
	Transfers *Ring[Transfer]
	Calls     *Calls

	mu       sync.Mutex
	refused  time.Time // when the last refusal became an event
	more     int       // refusals since
	sessions map[*Session]struct{}
	load     *Load // since it was last taken
	total    *Load // before that
}

// Log is a record of the node's log.
type Log struct {
	At             time.Time
	Level, Message string
	Fields         string // JSON
}

// Event is something that happened to the node or the cluster, as this node saw it.
type Event struct {
	At       time.Time
	Kind     string // "join", "lost", "leader", …
	Severity string // "info", "warning", "error"
	Subject  string
	Message  string
}

// Task is what a thread did of a statement's stage.
type Task struct {
	Statement   string
	Stage       int
	Kind        string
	User        types.OID
	Start, End  time.Time
	Rows, Bytes int64
}

// Transfer is what a statement's exchange sent to another node.
type Transfer struct {
	Statement      string
	To             uint64
	At             time.Time
	Bytes, Batches int64
}

// New makes what a node keeps, charged to its pool, which may be nil.
func New(pool *mem.Pool) *Node {
	n := &Node{sessions: map[*Session]struct{}{}, load: &Load{}, total: &Load{}}
	most := func(bytes int64) int64 {
		if pool == nil {
			return bytes
		}
		return min(bytes, pool.Limit()/share)
	}
	if pool != nil {
		n.charge(pool)
	}
	n.History = newRing(&n.memory, keptStatements, most(6<<20), (*Statement).size)
	n.Logs = newRing(&n.memory, keptLogs, most(2<<20), func(l *Log) int64 { return 100 + int64(len(l.Message)+len(l.Fields)) })
	n.Events = newRing(&n.memory, keptEvents, most(1<<20), func(e *Event) int64 { return 120 + int64(len(e.Subject)+len(e.Message)) })
	n.Tasks = newRing(&n.memory, keptTasks, most(1<<20), func(t *Task) int64 { return 160 })
	n.Transfers = newRing(&n.memory, keptTransfers, most(1<<20), func(t *Transfer) int64 { return 120 })
	n.Calls = newCalls(&n.memory, most(2<<20))
	return n
}

// Event adds an event of now.
func (n *Node) Event(kind, severity, subject, message string) {
	n.Events.Add(&Event{At: time.Now(), Kind: kind, Severity: severity, Subject: subject, Message: message})
}

// Refused notes a client that was refused. Anyone can make many of these, so that one a second is an event,
// which counts the others.
func (n *Node) Refused(user, address, reason string) {
	now := time.Now()
	n.mu.Lock()
	if now.Sub(n.refused) < time.Second {
		n.more++
		n.mu.Unlock()
		return
	}
	more := n.more
	n.refused, n.more = now, 0
	n.mu.Unlock()
	text := reason
	if address != "" {
		text += " (from " + address + ")"
	}
	if more > 0 {
		text += fmt.Sprintf(", and %d others before", more)
	}
	n.Event("login", "warning", parse.CutText(user, 100), parse.CutText(text, 500))
}
