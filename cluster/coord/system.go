package coord

import (
	"context"
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// alterSystem takes ALTER SYSTEM SET and RESET: the values that sessions of all
// nodes begin with from now on, and those of the cluster itself.
func (s *Session) alterSystem(n *ast.VariableSetStmt) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if s.tx.explicit {
			return "", pgerr.New(pgerr.ActiveSQLTransaction, "ALTER SYSTEM cannot run inside a transaction block")
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		if r := st.Role(s.role); r == nil || !r.Super {
			if n.Kind == ast.VAR_RESET_ALL {
				return "", pgerr.New(pgerr.InsufficientPrivilege, "permission denied to perform ALTER SYSTEM RESET ALL")
			}
			return "", pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set parameter %q", n.Name)
		}
		var changes []catalog.Change
		switch n.Kind {
		case ast.VAR_RESET_ALL:
			for _, v := range st.Settings() {
				changes = append(changes, &catalog.PutSetting{Name: v.Name, Unset: true})
			}
		case ast.VAR_RESET, ast.VAR_SET_DEFAULT:
			d := settings.Find(n.Name)
			if d == nil {
				return "", pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter %q", n.Name)
			}
			changes = append(changes, &catalog.PutSetting{Name: d.Name, Unset: true})
		default:
			value, err := s.settingValue(x, n)
			if err != nil {
				return "", err
			}
			d, v, err := settings.ForCluster(n.Name, value)
			if err != nil {
				return "", err
			}
			changes = append(changes, &catalog.PutSetting{Name: d.Name, Value: v})
		}
		if len(changes) > 0 {
			if err := s.engine.cfg.Meta.Commit(x.ctx, changes); err != nil {
				return "", err
			}
		}
		limits := n.Kind == ast.VAR_SET_VALUE && (n.Name == catalog.SettingMemory || n.Name == catalog.SettingThreads)
		return "ALTER SYSTEM", s.obeyed(x.ctx, func(*catalog.Node) bool { return limits })
	}), nil
}

// shared is the value of a setting that is no session's: of what nodes have each
// their own, that of this one.
func (e *Engine) shared(d *settings.Def) string {
	switch d.Name {
	case catalog.SettingMemory:
		return strconv.FormatInt(e.cfg.Limits().Memory>>10, 10)
	case catalog.SettingThreads:
		return strconv.Itoa(e.cfg.Limits().Threads)
	}
	if v, ok := e.cfg.Meta.Current().Setting(d.Name); ok {
		return v
	}
	return d.Default
}
