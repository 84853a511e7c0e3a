package coord

import (
	"context"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (c *dispatcher) variableSet(n *ast.VariableSetStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if n.IsLocal && !c.s.Shared() {
			c.s.Warn(pgerr.NoActiveSQLTransaction, "SET LOCAL can only be used in transaction blocks")
		}
		switch n.Kind {
		case ast.VAR_RESET_ALL:
			c.s.Settings().ResetAll()
			return "RESET", nil
		case ast.VAR_RESET:
			return "RESET", c.s.Settings().Reset(n.Name, false)
		case ast.VAR_SET_CURRENT:
			return "", pgerr.Unsupported("SET FROM CURRENT is not supported")
		case ast.VAR_SET_MULTI:
			return "SET", c.setMulti(n)
		case ast.VAR_SET_DEFAULT:
			return "SET", c.s.Settings().Reset(n.Name, n.IsLocal)
		}
		value, err := settingValue(x, n)
		if err != nil {
			return "", err
		}
		switch strings.ToLower(n.Name) {
		case "session_authorization":
			if value == "default" { // the syntax tree does not distinguish DEFAULT from 'default'
				return "SET", c.s.Settings().Reset(n.Name, n.IsLocal)
			}
		case "timezone":
			if value == "local" { // nor LOCAL from 'local'
				return "SET", c.s.Settings().Reset(n.Name, n.IsLocal)
			}
		case "transaction_snapshot":
			if !c.s.Shared() {
				c.s.Warn(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks")
			}
			return "SET", c.s.ImportSnapshot(value)
		}
		return "SET", c.s.Settings().Set(n.Name, value, n.IsLocal)
	}), nil
}

// settingValue returns the value that SET or ALTER SYSTEM assigns.
func settingValue(x *session.Execution, n *ast.VariableSetStmt) (string, error) {
	var vals []string
	if n.Args != nil {
		for _, a := range n.Args.Items {
			if c, ok := a.(*ast.TypeCast); ok { // the grammar allows INTERVAL only
				iv, err := constants(x, []ast.Node{c}, []types.Type{types.IntervalT})
				if err != nil {
					return "", err
				}
				vals = append(vals, "INTERVAL "+lex.QuoteLiteral(types.TextOf(types.IntervalT, iv[0], x.Caller.Values)))
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

func (c *dispatcher) setMulti(n *ast.VariableSetStmt) error {
	switch strings.ToUpper(n.Name) {
	case "TRANSACTION":
		if !c.s.Shared() {
			c.s.Warn(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks")
		}
		return c.transactionModes(n.Args)
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
			if err := c.s.Settings().Set("default_"+d.Defname, v, false); err != nil {
				return err
			}
		}
		return nil
	}
	return pgerr.Unsupported("SET %s is not supported", n.Name)
}

func (c *dispatcher) variableShow(n *ast.VariableShowStmt) (*session.Command, error) {
	name := strings.ToLower(n.Name)
	if name == "all" {
		cols := session.TextColumns("name", "setting", "description")
		return &session.Command{Columns: cols, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
			var rows [][]types.Datum
			for _, d := range settings.All() {
				rows = append(rows, []types.Datum{d.ShowName(), d.Show(c.s.Settings().Value(d.Name)), d.Desc})
			}
			return session.Table(cols, rows, "SHOW")
		}}, nil
	}
	switch name {
	case "transaction isolation level":
		name = "transaction_isolation"
	case "session authorization":
		name = "session_authorization"
	}
	if _, err := c.s.Settings().Get(name); err != nil {
		return nil, err
	}
	head := name
	if d := settings.Find(name); d != nil {
		head = d.ShowName()
	}
	cols := session.TextColumns(head)
	return &session.Command{Columns: cols, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		v, err := query.Show(c.s.Settings(), name)
		if err != nil {
			return nil, err
		}
		return session.Table(cols, [][]types.Datum{{v}}, "SHOW")
	}}, nil
}

func (c *dispatcher) discard(n *ast.DiscardStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		switch n.Target {
		case ast.DISCARD_ALL:
			if err := c.s.Alone("DISCARD ALL"); err != nil {
				return "", err
			}
			return "DISCARD ALL", c.s.DiscardAll(ctx)
		case ast.DISCARD_PLANS:
			return "DISCARD PLANS", nil
		case ast.DISCARD_SEQUENCES:
			c.s.Sequences().Discard()
			return "DISCARD SEQUENCES", nil
		default:
			return "DISCARD TEMP", c.s.DropTemp(ctx)
		}
	}), nil
}
