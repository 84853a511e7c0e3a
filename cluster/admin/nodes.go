package admin

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// AlterNode gives limits to, drains, resumes, replaces and removes members, for a role
// that sees the state st. It commits by itself what it does and waits until it is done; a
// wait that is cancelled leaves the node draining.
func (c *Cluster) AlterNode(ctx context.Context, st *catalog.State, role types.OID, n *parse.AlterNode, notice func(*pgerr.Error)) error {
	if !st.Super(role) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter a node")
	}
	node, err := nodeNamed(st, n.Name)
	if err != nil {
		return err
	}
	if n.Action == parse.NodeSet || n.Action == parse.NodeReset {
		return c.limit(ctx, node, n, notice)
	}
	change := &catalog.DrainNode{ID: node.ID, Draining: n.Action != parse.NodeResume}
	if n.Action == parse.NodeReplace {
		heir, err := nodeNamed(st, n.With)
		if err != nil {
			return err
		}
		if heir.ID == node.ID || heir.Draining {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %q cannot take the place of node %q", n.With, n.Name).
				WithHint("It must be another member, which is not draining.")
		}
		change.Heir = heir.ID
	}
	if change.Draining && !othersStay(st, node.ID) {
		return pgerr.New(pgerr.ObjectInUse, "node %q is the last one that is not draining", n.Name)
	}
	if err := c.Catalog.Commit(ctx, []catalog.Change{change}); err != nil {
		return err
	}
	if n.Action == parse.NodeResume {
		return nil
	}
	if !n.Force {
		if err := c.drained(ctx, node, n.Action != parse.NodeDrain, notice); err != nil {
			return err
		}
	}
	if n.Action != parse.NodeDrain {
		if err := c.Members.Remove(ctx, node.ID); err != nil {
			return err
		}
		notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s is no member any more", n.Name))
	}
	return nil
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
func (c *Cluster) drained(ctx context.Context, node *catalog.Node, idle bool, notice func(*pgerr.Error)) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	told, said := time.Now(), -1
	var empty time.Time
	for {
		left := c.Members.Load(node.ID)
		st := c.Catalog.Current()
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
			notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s: %d files and %d tasks are left", node.Name, left.Files, left.Tasks))
			told, said = time.Now(), n
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
