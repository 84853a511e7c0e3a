package coord

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// alterNode gives limits to, drains, resumes, replaces and removes members. It commits by itself
// what it does and waits until it is done; a wait that is cancelled leaves the
// node draining.
func (s *Session) alterNode(n *parse.AlterNode) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if s.tx.explicit {
			return "", pgerr.New(pgerr.ActiveSQLTransaction, "ALTER NODE cannot run inside a transaction block")
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		if r := st.Role(s.role); r == nil || !r.Super {
			return "", pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter a node")
		}
		node, err := nodeNamed(st, n.Name)
		if err != nil {
			return "", err
		}
		if n.Action == parse.NodeSet || n.Action == parse.NodeReset {
			return "ALTER NODE", s.askNode(x.ctx, node, n)
		}
		change := &catalog.DrainNode{ID: node.ID, Draining: n.Action != parse.NodeResume}
		if n.Action == parse.NodeReplace {
			heir, err := nodeNamed(st, n.With)
			if err != nil {
				return "", err
			}
			if heir.ID == node.ID || heir.Draining {
				return "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %q cannot take the place of node %q", n.With, n.Name).
					WithHint("It must be another member, which is not draining.")
			}
			change.Heir = heir.ID
		}
		if change.Draining && !othersStay(st, node.ID) {
			return "", pgerr.New(pgerr.ObjectInUse, "node %q is the last one that is not draining", n.Name)
		}
		if err := s.engine.cfg.Meta.Commit(x.ctx, []catalog.Change{change}); err != nil {
			return "", err
		}
		if n.Action == parse.NodeResume {
			return "ALTER NODE", nil
		}
		if !n.Force {
			if err := s.drained(x.ctx, node, n.Action != parse.NodeDrain); err != nil {
				return "", err
			}
		}
		if n.Action != parse.NodeDrain {
			if err := s.engine.cfg.Members.Remove(x.ctx, node.ID); err != nil {
				return "", err
			}
			s.notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s is no member any more", n.Name))
		}
		return "ALTER NODE", nil
	}), nil
}

func nodeNamed(st *catalog.State, name string) (*catalog.Node, error) {
	for _, n := range st.Nodes() {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "node %q does not exist", name)
}

func othersStay(st *catalog.State, id uint64) bool {
	for _, n := range st.Nodes() {
		if n.ID != id && !n.Draining {
			return true
		}
	}
	return false
}

// idleWait bounds the wait for what runs on a node that has no files any more.
const idleWait = time.Minute

// drained waits until a draining node holds nothing, and with idle, until it
// runs nothing or has had a minute to come to an end; it tells the client of
// what is left.
func (s *Session) drained(ctx context.Context, node *catalog.Node, idle bool) error {
	m := s.engine.cfg.Meta
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	told, said := time.Now(), -1
	var empty time.Time
	for {
		left := s.engine.cfg.Members.Load(node.ID)
		st := m.Current()
		if n := st.Node(node.ID); n == nil || !n.Draining {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %q is not draining any more", node.Name)
		}
		for _, j := range st.Jobs() {
			if j.State == catalog.JobRunning && j.Coordinator == node.ID && !j.Attached {
				left.Tasks++
			}
		}
		if left.Files == 0 {
			if empty.IsZero() {
				empty = time.Now()
			}
			if left.Leader {
				empty = time.Now() // it hands the lead over first
			} else if !idle || left.Tasks == 0 || time.Since(empty) > idleWait {
				return nil
			}
		}
		if n := left.Files + left.Tasks; n != said && time.Since(told) > time.Second {
			s.notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s: %d files and %d tasks are left", node.Name, left.Files, left.Tasks))
			told, said = time.Now(), n
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Members tells of the cluster's nodes. Its methods may be called from any
// goroutine.
type Members interface {
	training.Members
	// Load is what a node holds and does, as far as is known here.
	Load(node uint64) NodeLoad
	// Remove takes a member out of the cluster, for good.
	Remove(ctx context.Context, node uint64) error
}

// NodeLoad is what keeps a node from leaving.
type NodeLoad struct {
	Files, Tasks int
	Leader       bool
}
