package admin

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// AlterSystem takes ALTER SYSTEM SET and RESET, for a role that sees the state st: the
// values that sessions of all nodes begin with from now on, and those of the cluster
// itself. value gives what is to be set.
func (c *Cluster) AlterSystem(ctx context.Context, st *catalog.State, role types.OID, n *ast.VariableSetStmt, value func() (string, error), notice func(*pgerr.Error)) error {
	if !st.Super(role) {
		if n.Kind == ast.VAR_RESET_ALL {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to perform ALTER SYSTEM RESET ALL")
		}
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set parameter %q", n.Name)
	}
	var changes []catalog.Change
	switch n.Kind {
	case ast.VAR_RESET_ALL:
		for _, v := range st.Settings() {
			if ofStorage(st, v.Name) != nil {
				continue
			}
			changes = append(changes, &catalog.PutSetting{Name: v.Name, Unset: true})
		}
	case ast.VAR_RESET, ast.VAR_SET_DEFAULT:
		d := settings.Find(n.Name)
		if d == nil {
			return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter %q", n.Name)
		}
		changes = append(changes, &catalog.PutSetting{Name: d.Name, Unset: true})
	default:
		text, err := value()
		if err != nil {
			return err
		}
		d, v, err := settings.ForCluster(n.Name, text)
		if err != nil {
			return err
		}
		changes = append(changes, &catalog.PutSetting{Name: d.Name, Value: v})
	}
	for _, change := range changes {
		if err := ofStorage(st, change.(*catalog.PutSetting).Name); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if err := c.Catalog.Commit(ctx, changes); err != nil {
			return err
		}
	}
	limits := n.Kind == ast.VAR_SET_VALUE && (n.Name == catalog.SettingMemory || n.Name == catalog.SettingThreads)
	return c.limited(ctx, func(*catalog.Node) bool { return limits }, notice)
}

// ofStorage returns the error of a change of a setting that the cluster's storage needs as it is; nil for others.
func ofStorage(st *catalog.State, name string) error {
	if catalog.Storage(st) == "" || name != catalog.SettingStorage && name != catalog.SettingArchive {
		return nil
	}
	return pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be changed: the files of this cluster are in %s", name, catalog.Storage(st)).
		WithHint("Another place gets a copy by BACKUP.")
}
