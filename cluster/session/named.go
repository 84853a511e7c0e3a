package session

import (
	"context"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// named is a prepared statement with a name. PREPARE and the protocol's Parse
// share the names.
type named struct {
	*Prepared
	sql bool // by PREPARE
	at  time.Time
}

const (
	// maxNamed bounds the prepared statements of a session.
	maxNamed = 1 << 16
	// maxNested bounds how deep EXECUTE may run EXECUTE, which the protocol can prepare.
	maxNested = 32
)

// Keep gives a prepared statement a name: 42P05 if it is taken.
func (s *Session) Keep(name string, p *Prepared) error { return s.keep(name, p, false) }

func (s *Session) keep(name string, p *Prepared, sql bool) error {
	if err := s.nameFree(name); err != nil {
		return err
	}
	if len(s.named) >= maxNamed {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a session may hold %d prepared statements", maxNamed)
	}
	s.named[name] = &named{Prepared: p, sql: sql, at: time.Now()}
	return nil
}

func (s *Session) nameFree(name string) error {
	if s.named[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	return nil
}

// Kept finds a prepared statement by its name.
func (s *Session) Kept(name string) (*Prepared, error) {
	if n := s.named[name]; n != nil {
		return n.Prepared, nil
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
}

// Forget frees a name, if it is one.
func (s *Session) Forget(name string) { delete(s.named, name) }

func (s *Session) prepareSQL(stmt *parse.Statement, n *ast.PrepareStmt) (*Command, error) {
	return Simple(func(ctx context.Context, e *Execution) (string, error) {
		if err := s.nameFree(n.Name); err != nil {
			return "", err
		}
		var given []types.Type
		if n.Argtypes != nil {
			for _, a := range n.Argtypes.Items {
				t, err := bind.TypeName(e.Binding(ctx, s.registry.cfg.Catalog.Current(), stmt, nil), a.(*ast.TypeName))
				if err != nil {
					return "", err
				}
				t.Mod, t.Prec, t.Scale = -1, 0, 0 // a parameter has no modifier
				given = append(given, t)
			}
		}
		inner := *stmt
		inner.Node = n.Query.(ast.Stmt)
		h, err := s.command(ctx, &inner, given)
		if err != nil {
			return "", err
		}
		return "PREPARE", s.keep(n.Name, &Prepared{s: s, stmt: &inner, h: h}, true)
	}), nil
}

func (s *Session) deallocate(n *ast.DeallocateStmt) (*Command, error) {
	return Simple(func(context.Context, *Execution) (string, error) {
		if n.IsAll || n.Name == "" {
			clear(s.named)
			return "DEALLOCATE ALL", nil
		}
		if _, err := s.Kept(n.Name); err != nil {
			return "", err
		}
		s.Forget(n.Name)
		return "DEALLOCATE", nil
	}), nil
}

// executeSQL handles EXECUTE. The name is looked up for the columns now, and
// again when the statement runs.
func (s *Session) executeSQL(n *ast.ExecuteStmt) (*Command, error) {
	p, err := s.Kept(n.Name)
	if err != nil {
		return nil, err
	}
	return &Command{Columns: p.h.Columns, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		p, err := s.Kept(n.Name)
		if err != nil {
			return nil, err
		}
		if p.h.Control {
			return nil, pgerr.Unsupported("EXECUTE of a transaction command is not supported")
		}
		return s.Supplied(p, p.h, n).Run(ctx, x)
	}}, nil
}

// Supplied is h, which is made of a prepared statement, with the arguments that an EXECUTE
// gives for its parameters.
func (s *Session) Supplied(p *Prepared, h *Command, n *ast.ExecuteStmt) *Command {
	return &Command{Columns: h.Columns, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		if x.nested >= maxNested {
			return nil, pgerr.New(pgerr.StatementTooComplex, "EXECUTE is nested more than %d deep", maxNested)
		}
		var args []ast.Node
		if n.Params != nil && len(h.Params) > 0 { // as PostgreSQL, which does not look at them where none are wanted
			args = n.Params.Items
		}
		if len(args) != len(h.Params) {
			return nil, pgerr.New(pgerr.SyntaxError, "wrong number of parameters for prepared statement %q", n.Name).
				WithDetail("Expected %d parameters but got %d.", len(h.Params), len(args))
		}
		vals, err := constants(x, args, h.Params)
		if err != nil {
			return nil, err
		}
		return h.Run(ctx, x.in(s.Context().With(vals, h.Params), p.stmt))
	}}
}

// constants evaluates the arguments of EXECUTE to given types.
func constants(x *Execution, args []ast.Node, want []types.Type) ([]types.Datum, error) {
	st, err := x.View()
	if err != nil {
		return nil, err
	}
	out := make([]types.Datum, len(args))
	for i, a := range args {
		e, err := bind.Argument(x.Binding(x.Ctx, st, x.Text, x.Context.ParamTypes), a, i+1, want[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = eval.Constant(e, x.Env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
