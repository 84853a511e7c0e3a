package session

import (
	"context"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (s *Session) variableSet(n *ast.VariableSetStmt) (*Command, error) {
	return Simple(func(ctx context.Context, x *Execution) (string, error) {
		if n.IsLocal && !s.tx.Explicit {
			s.Warn(pgerr.NoActiveSQLTransaction, "SET LOCAL can only be used in transaction blocks")
		}
		switch n.Kind {
		case ast.VAR_RESET_ALL:
			s.set.ResetAll()
			return "RESET", nil
		case ast.VAR_RESET:
			return "RESET", s.setDefault(n.Name, false)
		case ast.VAR_SET_CURRENT:
			return "", pgerr.Unsupported("SET FROM CURRENT is not supported")
		case ast.VAR_SET_MULTI:
			return "SET", s.setMulti(n)
		case ast.VAR_SET_DEFAULT:
			return "SET", s.setDefault(n.Name, n.IsLocal)
		}
		value, err := SettingValue(x, n)
		if err != nil {
			return "", err
		}
		switch strings.ToLower(n.Name) {
		case "role":
			return "SET", s.setRole(value)
		case "session_authorization":
			return "SET", s.setSessionUser(value)
		case "timezone":
			if value == "local" { // the tree does not tell LOCAL from 'local'
				return "SET", s.set.Reset(n.Name, n.IsLocal)
			}
		case "default_transaction_isolation":
			s.warnSerializable(strings.ToLower(value))
		case "transaction_isolation":
			s.warnSerializable(strings.ToLower(value))
			if s.tx.Begun() && s.tx.Explicit && txn.IsolationOf(value) != s.tx.Isolation {
				return "", pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
			}
			s.tx.Isolation = txn.IsolationOf(strings.ToLower(value))
		case "transaction_snapshot":
			if !s.tx.Explicit {
				s.Warn(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks")
			}
			return "SET", s.registry.snapshots.Import(s.Txn(), value)
		case "transaction_read_only":
			if err := s.set.Set(n.Name, value, true); err != nil {
				return "", err
			}
			s.tx.ReadOnly = s.set.Bool("transaction_read_only")
			return "SET", nil
		}
		return "SET", s.set.Set(n.Name, value, n.IsLocal)
	}), nil
}

// setDefault gives a setting the value that the session began with.
func (s *Session) setDefault(name string, local bool) error {
	switch strings.ToLower(name) {
	case "role":
		return s.setRole("none")
	case "session_authorization":
		return s.setSessionUser("default")
	}
	return s.set.Reset(name, local)
}

// SettingValue is the value that SET or ALTER SYSTEM gives.
func SettingValue(x *Execution, n *ast.VariableSetStmt) (string, error) {
	var vals []string
	if n.Args != nil {
		for _, a := range n.Args.Items {
			if c, ok := a.(*ast.TypeCast); ok { // INTERVAL is all that the grammar takes
				iv, err := constants(x, []ast.Node{c}, []types.Type{types.IntervalT})
				if err != nil {
					return "", err
				}
				vals = append(vals, "INTERVAL "+lex.QuoteLiteral(types.TextOf(types.IntervalT, iv[0], x.Context.Values)))
				continue
			}
			v := parse.ConstText(a)
			if strings.EqualFold(n.Name, "search_path") {
				v = quotePath(v)
			}
			vals = append(vals, v)
		}
	}
	return strings.Join(vals, ", "), nil
}

// quotePath quotes a search path's element where its name needs it.
func quotePath(v string) string {
	plain := v != ""
	for i, r := range v {
		plain = plain && (r == '_' || r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '$'))
	}
	if plain {
		return v
	}
	return `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
}

func (s *Session) setMulti(n *ast.VariableSetStmt) error {
	switch strings.ToUpper(n.Name) {
	case "TRANSACTION":
		if !s.tx.Explicit {
			s.Warn(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks")
			return nil
		}
		return s.transactionModes(n.Args)
	case "SESSION CHARACTERISTICS", "SESSION CHARACTERISTICS AS TRANSACTION":
		if n.Args == nil {
			return nil
		}
		for _, a := range n.Args.Items {
			d, ok := a.(*ast.DefElem)
			if !ok {
				continue
			}
			v := parse.ConstText(d.Arg)
			if v == "1" {
				v = "on"
			} else if v == "0" {
				v = "off"
			}
			if err := s.set.Set("default_"+d.Defname, v, false); err != nil {
				return err
			}
			s.warnSerializable(v)
		}
		return nil
	}
	return pgerr.Unsupported("SET %s is not supported", n.Name)
}

func (s *Session) setRole(name string) error {
	st := s.registry.cfg.Catalog.Current()
	if name == "none" {
		s.role = s.user
		s.set.SetInternal("role", "none")
		return nil
	}
	r := st.RoleByName(name)
	if r == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", name)
	}
	if !st.MemberOf(s.user, r.OID) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role %q", name)
	}
	s.role = r.OID
	s.set.SetInternal("role", name)
	s.set.SetInternal("is_superuser", onOff(r.Super))
	return nil
}

func (s *Session) setSessionUser(name string) error {
	st := s.registry.cfg.Catalog.Current()
	login := st.RoleByName(s.start.User)
	if name == "default" {
		name = s.start.User
	}
	r := st.RoleByName(name)
	if r == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", name)
	}
	if login == nil || r.OID != login.OID && !login.Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	s.user, s.role = r.OID, r.OID
	s.set.SetInternal("session_authorization", name)
	s.set.SetInternal("role", "none")
	s.set.SetInternal("is_superuser", onOff(r.Super))
	return nil
}

func (s *Session) variableShow(n *ast.VariableShowStmt) (*Command, error) {
	name := strings.ToLower(n.Name)
	if name == "all" {
		cols := TextColumns("name", "setting", "description")
		return &Command{Columns: cols, Run: func(ctx context.Context, x *Execution) (*Result, error) {
			var rows [][]types.Datum
			for _, d := range settings.All() {
				rows = append(rows, []types.Datum{d.ShowName(), d.Show(s.set.Value(d.Name)), d.Desc})
			}
			return Table(cols, rows, "SHOW")
		}}, nil
	}
	switch name {
	case "transaction isolation level":
		name = "transaction_isolation"
	case "session authorization":
		name = "session_authorization"
	}
	if _, err := s.set.Get(name); err != nil {
		return nil, err
	}
	head := name
	if d := settings.Find(name); d != nil {
		head = d.ShowName()
	}
	cols := TextColumns(head)
	return &Command{Columns: cols, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		v, err := query.Show(s.set, name)
		if err != nil {
			return nil, err
		}
		return Table(cols, [][]types.Datum{{v}}, "SHOW")
	}}, nil
}

func (s *Session) discard(n *ast.DiscardStmt) (*Command, error) {
	return Simple(func(ctx context.Context, x *Execution) (string, error) {
		switch n.Target {
		case ast.DISCARD_ALL:
			if s.tx.Explicit {
				return "", pgerr.New(pgerr.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
			}
			s.cursors.CloseAll()
			clear(s.statements)
			if err := s.setSessionUser("default"); err != nil {
				return "", err
			}
			s.set.ResetAll()
			s.sequences.Discard()
			s.locks.Release(advisory.Both)
			return "DISCARD ALL", define.DropTemp(ctx, s.Txn(), s.registry.cfg.Catalog, s.temp)
		case ast.DISCARD_PLANS:
			return "DISCARD PLANS", nil
		case ast.DISCARD_SEQUENCES:
			s.sequences.Discard()
			return "DISCARD SEQUENCES", nil
		default:
			return "DISCARD TEMP", define.DropTemp(ctx, s.Txn(), s.registry.cfg.Catalog, s.temp)
		}
	}), nil
}
