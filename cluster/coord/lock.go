package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// lockTable handles LOCK TABLE. Tables are not locked, so a mode is accepted only if its guarantee holds
// without a lock. ACCESS SHARE protects a reader from DROP, ALTER and TRUNCATE of the table; a transaction
// that reads one snapshot to its end does not see these anyway.
func (c *dispatcher) lockTable(n *ast.LockStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		switch {
		case !c.s.Shared():
			return "", pgerr.New(pgerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
		case n.Mode != ast.AccessShareLock:
			return "", pgerr.Unsupported("LOCK TABLE is supported in ACCESS SHARE MODE alone").
				WithHint("Transactions read snapshots and conflicts are reported at commit; nothing is locked.")
		case c.s.Txn().Isolation != txn.RepeatableRead:
			return "", pgerr.Unsupported("LOCK TABLE needs a transaction of ISOLATION LEVEL REPEATABLE READ").
				WithHint("It then reads one snapshot, whatever others do to the table.")
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		var uses []plan.TableUse
		for _, r := range n.Relations.Items {
			rel, err := x.Relation(st, r.(*ast.RangeVar))
			if err != nil {
				return "", err
			}
			if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindView {
				return "", pgerr.New(pgerr.WrongObjectType, "cannot lock relation %q", rel.Name).
					WithDetail("This operation is not supported for %s.", map[catalog.RelKind]string{catalog.KindSequence: "sequences", catalog.KindIndex: "indexes",
						catalog.KindMatView: "materialized views", catalog.KindComposite: "composite types"}[rel.Kind])
			}
			uses = append(uses, plan.TableUse{OID: rel.OID, Priv: 'r'})
		}
		return "LOCK TABLE", plan.Authorize(st, x.Caller.Role, uses)
	}), nil
}
