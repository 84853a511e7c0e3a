package session

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// maxNested bounds how deep EXECUTE may run EXECUTE, which the protocol can prepare.
const maxNested = 32

func (s *Session) prepareSQL(stmt *parse.Statement, n *ast.PrepareStmt) (*Command, error) {
	return Simple(func(ctx context.Context, e *Execution) (string, error) {
		if err := s.free(n.Name); err != nil {
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
			clear(s.statements)
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
