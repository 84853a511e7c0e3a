package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// FinalizeSetting says for how long all members must have run the newer program until the cluster is
// finalised by itself, in milliseconds; 0 is never.
const FinalizeSetting = "tributary.finalize_after"

// FinalizeUpgrade raises the cluster's version to that of this program, for a role that sees the state st.
// All members are asked for the versions of theirs, now.
func (c *Cluster) FinalizeUpgrade(ctx context.Context, st *catalog.State, role types.OID, notice func(*pgerr.Error)) error {
	if !st.Super(role) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to finalize an upgrade")
	}
	if st.Finalized() >= version.Binary {
		notice(pgerr.New(pgerr.SuccessfulCompletion, "the cluster is at version %d already", st.Finalized()))
		return nil
	}
	if older := olderNodes(st, c.Members.Versions(ctx)); len(older) > 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the upgrade to cluster version %d cannot be finalized: %d of %d nodes do not run it", version.Binary, len(older), len(st.Nodes())).
			WithDetail("%s.", strings.Join(older, "; ")).
			WithHint("Start the newer program on them. A node that does not come back is removed by ALTER NODE … DECOMMISSION FORCE.")
	}
	return c.Catalog.Commit(ctx, []catalog.Change{&catalog.FinalizeVersion{Version: version.Binary}})
}

// olderNodes says of each member that is not known to run this program's version what is known of it.
func olderNodes(st *catalog.State, versions map[uint64]uint32) (out []string) {
	for _, n := range st.Nodes() {
		switch v := versions[n.ID]; {
		case v == 0:
			out = append(out, fmt.Sprintf("node %s does not answer", n.Name))
		case v < version.Binary:
			out = append(out, fmt.Sprintf("node %s runs version %d", n.Name, v))
		}
	}
	return out
}
