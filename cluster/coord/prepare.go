package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (c *dispatcher) prepare(stmt *parse.Statement, n *ast.PrepareStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, e *session.Execution) (string, error) {
		if err := c.s.Free(n.Name); err != nil {
			return "", err
		}
		var given []types.Type
		if n.Argtypes != nil {
			for _, a := range n.Argtypes.Items {
				t, err := bind.TypeName(e.Binding(ctx, c.cfg.Meta.Current(), stmt, nil), a.(*ast.TypeName))
				if err != nil {
					return "", err
				}
				t.Mod, t.Prec, t.Scale = -1, 0, 0 // a parameter has no modifier
				given = append(given, t)
			}
		}
		inner := *stmt
		inner.Node = n.Query.(ast.Stmt)
		h, err := c.s.Command(ctx, &inner, given)
		if err != nil {
			return "", err
		}
		return "PREPARE", c.s.StorePreparedSQL(n.Name, &inner, h)
	}), nil
}

func (c *dispatcher) deallocate(n *ast.DeallocateStmt) (*session.Command, error) {
	return session.Simple(func(context.Context, *session.Execution) (string, error) {
		if n.IsAll || n.Name == "" {
			c.s.ForgetAll()
			return "DEALLOCATE ALL", nil
		}
		if _, err := c.s.LookupPrepared(n.Name); err != nil {
			return "", err
		}
		c.s.Forget(n.Name)
		return "DEALLOCATE", nil
	}), nil
}

// execute handles EXECUTE. The name is looked up for the columns now and whenever it is
// bound, and again when the statement runs.
func (c *dispatcher) execute(n *ast.ExecuteStmt) (*session.Command, error) {
	p, err := c.s.LookupPrepared(n.Name)
	if err != nil {
		return nil, err
	}
	shape := func() []plan.Column {
		p, err := c.s.LookupPrepared(n.Name)
		if err != nil {
			return nil
		}
		return p.Columns()
	}
	return &session.Command{Columns: p.Columns(), Shape: shape, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		p, err := c.s.LookupPrepared(n.Name)
		if err != nil {
			return nil, err
		}
		if p.Command().Control {
			return nil, pgerr.Unsupported("EXECUTE of a transaction command is not supported")
		}
		res, err := withArguments(p, p.Command(), n).Run(ctx, x)
		if err == nil && res.Columns == nil {
			res.Columns = p.Columns()
		}
		return res, err
	}}, nil
}

// withArguments returns h, a prepared statement's command, with its parameters set to the
// arguments of an EXECUTE.
func withArguments(p *session.Prepared, h *session.Command, n *ast.ExecuteStmt) *session.Command {
	return &session.Command{Columns: h.Columns, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		var args []ast.Node
		if n.Params != nil && len(h.Params) > 0 { // as PostgreSQL, which ignores arguments where there are no parameters
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
		inner, err := x.Nested(vals, h.Params, p.Statement())
		if err != nil {
			return nil, err
		}
		return h.Run(ctx, inner)
	}}
}

// constants evaluates the arguments of EXECUTE to given types.
func constants(x *session.Execution, args []ast.Node, want []types.Type) ([]types.Datum, error) {
	st, err := x.View()
	if err != nil {
		return nil, err
	}
	out := make([]types.Datum, len(args))
	for i, a := range args {
		e, err := bind.Argument(x.Binding(x.Ctx, st, x.Text, x.Caller.ParamTypes), a, i+1, want[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = eval.Constant(e, x.Env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
