package coord

import (
	"context"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// askNode takes ALTER NODE name SET and RESET.
func (s *Session) askNode(ctx context.Context, node *catalog.Node, n *parse.AlterNode) error {
	change := &catalog.AskNode{ID: node.ID, Memory: -1, Threads: -1}
	ask := func(name, value string) error {
		d, v, err := settings.ForCluster(name, value)
		if err != nil {
			return err
		}
		amount, _ := strconv.ParseInt(v, 10, 64)
		switch d.Name {
		case catalog.SettingMemory:
			change.Memory = amount << 10
		case catalog.SettingThreads:
			change.Threads = int(amount)
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "parameter %q is not a node's", d.Name).WithHint("A node has memory and threads.")
		}
		return nil
	}
	for _, o := range n.Set {
		if err := ask(o.Name, parse.ConstText(o.Value)); err != nil {
			return err
		}
	}
	for _, name := range n.Reset {
		if err := ask(name, "0"); err != nil {
			return err
		}
	}
	if err := s.engine.cfg.Meta.Commit(ctx, []catalog.Change{change}); err != nil {
		return err
	}
	return s.obeyed(ctx, func(n *catalog.Node) bool { return n.ID == node.ID })
}

// obeyWait bounds how long a statement waits for nodes to take their limits.
const obeyWait = 5 * time.Second

// obeyed waits until such members that are up use what they are asked to. One that
// does not do it in time does it later, and the client is told.
func (s *Session) obeyed(ctx context.Context, who func(*catalog.Node) bool) error {
	m, members := s.engine.cfg.Meta, s.engine.cfg.Members
	t := time.NewTimer(obeyWait)
	defer t.Stop()
	for {
		changed := m.Changed()
		st := m.Current()
		late := ""
		for _, n := range st.Nodes() {
			memory, threads := st.Asked(n)
			if who(n) && members.Alive(n.ID) && (memory > 0 && n.Memory != memory || threads > 0 && n.Threads != threads) {
				late = n.Name
			}
		}
		if late == "" {
			return nil
		}
		select {
		case <-changed:
		case <-t.C:
			s.notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s has not taken its limits yet", late))
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
