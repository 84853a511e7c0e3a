package observe

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/types"
)

// MaxText is how much of a statement's text is kept, in bytes; Slow is how long a statement takes
// of which the operators are kept.
const (
	MaxText = 4 << 10
	Slow    = 100 * time.Millisecond
)

// Statement is one that has ended. Nobody changes it then.
type Statement struct {
	ID                         string
	PID                        uint32
	User                       types.OID
	UserName, Application      string
	Start                      time.Time
	Took, Planning             time.Duration
	Text                       string // without secrets
	Fingerprint                int64
	Tag                        string
	Rows                       int64
	Code, Error                string
	Memory, Spilled, Exchanged int64 // bytes
	Operators                  []Operator
	Kind                       Kind
	// Brief says that it is for the counts alone: the history is for what does something.
	Brief bool
}

// Operator is what an operator of a statement's plan did on a node.
type Operator struct {
	Node                  uint64 // 0: it ran on none yet
	Stage, Number, Parent int    // the numbers are unique in the statement; Parent is -1 for a root
	Kind, Name            string
	Detail                []string
	Estimated             float64
	Rows                  int64
	Took                  time.Duration
	Memory, Spilled, Sent int64
}

func (s *Statement) size() int64 {
	n := 320 + len(s.ID) + len(s.UserName) + len(s.Application) + len(s.Text) + len(s.Tag) + len(s.Error)
	for i := range s.Operators {
		o := &s.Operators[i]
		n += 200 + len(o.Name)
		for _, d := range o.Detail {
			n += 16 + len(d)
		}
	}
	return int64(n)
}

// Session is where the statements of one session are counted.
type Session struct {
	of *Node

	mu    sync.Mutex
	ended []*Statement
	bytes int64
	calls map[callKey]*Call
	load  *Load // nil: nothing since it was collected
}

// What a session may keep before it is collected.
const (
	mostEnded = 16
	mostBytes = 8 << 10
	mostCalls = 32
)

// Session opens a session's counts; Close them.
func (n *Node) Session() *Session {
	s := &Session{of: n, calls: map[callKey]*Call{}}
	n.mu.Lock()
	n.sessions[s] = struct{}{}
	n.mu.Unlock()
	return s
}

// Close collects what the session has counted and ends it.
func (s *Session) Close() {
	s.of.mu.Lock()
	delete(s.of.sessions, s)
	s.of.mu.Unlock()
	s.collect()
}

// Ended counts a statement. normal is its text with parameters for its constants, which is asked for
// where it is not known.
func (s *Session) Ended(st *Statement, normal func(most int) string) {
	s.mu.Lock()
	if s.load == nil {
		s.load = &Load{}
	}
	s.load.count(st)
	if st.Code == "" {
		k := callKey{st.User, st.Fingerprint}
		c := s.calls[k]
		if c == nil {
			c = &Call{callKey: k, Text: normal(maxCallText)}
			s.calls[k] = c
		}
		c.add(st)
	}
	if !st.Brief {
		s.ended = append(s.ended, st)
		s.bytes += st.size()
	}
	full := len(s.ended) >= mostEnded || s.bytes > mostBytes || len(s.calls) >= mostCalls
	s.mu.Unlock()
	if full {
		s.collect()
	}
}

// collect moves what the session has counted to the node.
func (s *Session) collect() {
	s.mu.Lock()
	ended, load := s.ended, s.load
	calls := slices.Collect(maps.Values(s.calls))
	clear(s.calls)
	s.ended, s.bytes, s.load = nil, 0, nil
	s.mu.Unlock()
	s.of.History.Add(ended...)
	s.of.Calls.merge(calls)
	if load == nil {
		return
	}
	s.of.mu.Lock()
	s.of.load.add(load)
	s.of.mu.Unlock()
}

// Gather moves what all sessions have counted to the node.
func (n *Node) Gather() {
	n.mu.Lock()
	list := slices.Collect(maps.Keys(n.sessions))
	n.mu.Unlock()
	for _, s := range list {
		s.collect()
	}
}

// TakeLoad returns the load since it was last taken.
func (n *Node) TakeLoad() *Load {
	n.Gather()
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.load
	n.total.add(l)
	n.load = &Load{}
	return l
}

// Forget forgets the counts of a role's statements of a fingerprint; 0 stands for all of them.
func (n *Node) Forget(user types.OID, fingerprint int64) {
	n.Gather()
	n.Calls.forget(user, fingerprint)
}
