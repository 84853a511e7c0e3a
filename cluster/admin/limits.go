package admin

import (
	"context"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// limit takes ALTER NODE name SET and RESET.
func (c *Cluster) limit(ctx context.Context, node *catalog.Node, n *parse.AlterNode, notice func(*pgerr.Error)) error {
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
	if err := c.Catalog.Commit(ctx, []catalog.Change{change}); err != nil {
		return err
	}
	return c.limited(ctx, func(n *catalog.Node) bool { return n.ID == node.ID }, notice)
}

// limitWait bounds how long a statement waits for nodes to take their limits.
const limitWait = 5 * time.Second

// limited waits until such members that are up use what they are asked to. One that
// does not do it in time does it later, and the client is told.
func (c *Cluster) limited(ctx context.Context, who func(*catalog.Node) bool, notice func(*pgerr.Error)) error {
	t := time.NewTimer(limitWait)
	defer t.Stop()
	for {
		changed := c.Catalog.Changed()
		st := c.Catalog.Current()
		late := ""
		for _, n := range st.Nodes() {
			memory, threads := st.Asked(n)
			if who(n) && c.Members.Alive(n.ID) && (memory > 0 && n.Memory != memory || threads > 0 && n.Threads != threads) {
				late = n.Name
			}
		}
		if late == "" {
			return nil
		}
		select {
		case <-changed:
		case <-t.C:
			notice(pgerr.New(pgerr.SuccessfulCompletion, "node %s has not taken its limits yet", late))
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
