package catalog

import (
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ResourceGroup is what the sessions of its roles may use, on each node and together. 0 is no limit, but for Queue.
type ResourceGroup struct {
	OID     types.OID
	Version uint64 // grows with each change
	Name    string // unique

	Memory      int64 // bytes that its statements and trainings hold together
	Threads     int64 // of one statement or training
	Concurrency int64 // long statements at once
	Queue       int64 // statements that may wait; -1 for any number
	Rate        int64 // statements that begin in a second

	StatementTimeout, IdleTimeout, IdleInTransaction int64 // in milliseconds

	// LowTraining says that trainings give way to statements.
	LowTraining bool
	CreatedAt   time.Time
}

type (
	// PutResourceGroup makes a group, or replaces the one of this version.
	PutResourceGroup struct {
		Group         *ResourceGroup
		ExpectVersion uint64 // 0: there is none yet
	}
	// DropResourceGroup removes a group that no role has.
	DropResourceGroup struct{ OID types.OID }
)

func (c *PutResourceGroup) apply(e *edit) error {
	x := c.Group
	old := e.s.groups[x.OID]
	switch {
	case old == nil && c.ExpectVersion > 0:
		return conflict("delete")
	case old != nil && old.Version != c.ExpectVersion:
		return conflict("update")
	}
	for _, o := range e.s.groups {
		if o.Name == x.Name && o.OID != x.OID {
			return pgerr.New(pgerr.DuplicateObject, "resource group %q already exists", x.Name)
		}
	}
	n := *x
	n.Version = c.ExpectVersion + 1
	writable(e, mapResourceGroups, &e.s.groups)[x.OID] = &n
	e.noteOID(x.OID)
	return nil
}

func (c *DropResourceGroup) apply(e *edit) error {
	if e.s.groups[c.OID] == nil {
		return conflict("delete")
	}
	for _, r := range e.s.roles {
		if r.ResourceGroup == c.OID {
			return conflict("update")
		}
	}
	delete(writable(e, mapResourceGroups, &e.s.groups), c.OID)
	return nil
}

// ResourceGroups lists all, by OID.
func ResourceGroups(s *State) []*ResourceGroup { return sorted(s.groups) }

// ResourceGroupNamed finds a group; nil if there is none.
func ResourceGroupNamed(s *State, name string) *ResourceGroup {
	for _, x := range s.groups {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// ResourceGroupOf is the group of a role; nil for none.
func ResourceGroupOf(s *State, role types.OID) *ResourceGroup {
	if r := s.roles[role]; r != nil && r.ResourceGroup != 0 {
		return s.groups[r.ResourceGroup]
	}
	return nil
}
