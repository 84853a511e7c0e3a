package coord

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// isOn reports whether an option is set to on.
func isOn(d *ast.DefElem) bool {
	v := strings.ToLower(parse.ConstText(d.Arg))
	return d.Arg == nil || v == "true" || v == "on" || v == "1"
}

func explainOpts(l *ast.NodeList) (query.Explain, error) {
	o := query.Explain{Format: "text"}
	if l == nil {
		return o, nil
	}
	for _, n := range l.Items {
		d, ok := n.(*ast.DefElem)
		if !ok {
			continue
		}
		v, on := strings.ToLower(parse.ConstText(d.Arg)), isOn(d)
		switch strings.ToLower(d.Defname) {
		case "analyze":
			o.Analyze = on
		case "verbose":
			o.Verbose = on
		case "costs":
			o.NoCosts = !on
		case "buffers", "settings", "summary", "wal", "timing":
		case "format":
			switch v {
			case "text", "json", "yaml", "xml", "dot":
				o.Format = v
			default:
				return o, pgerr.New(pgerr.InvalidParameterValue, "unrecognized value for EXPLAIN option \"format\": \"%s\"", v)
			}
		default:
			return o, pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option %q", d.Defname)
		}
	}
	return o, nil
}

// explain shows how a statement would run, and with ANALYZE how it did.
func (c *dispatcher) explain(ctx context.Context, st *parse.Statement, n *ast.ExplainStmt, params []types.Type) (*session.Command, error) {
	o, err := explainOpts(n.Options)
	if err != nil {
		return nil, err
	}
	inner := *st
	node, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("EXPLAIN of this statement is not supported")
	}
	switch x := node.(type) {
	case *ast.CreateTableAsStmt:
		if q, ok := x.Query.(ast.Stmt); ok && !o.Analyze {
			node = q
		}
	case *ast.DeclareCursorStmt:
		if q, ok := x.Query.(ast.Stmt); ok && !o.Analyze {
			node = q
		}
	case *ast.ExecuteStmt:
		p, err := c.s.LookupPrepared(x.Name)
		if err != nil {
			return nil, err
		}
		call := *n
		switch q := p.Node().(type) {
		case *ast.SelectStmt, *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
			call.Query = q
		default: // EXECUTE among them: it could name itself
			return nil, pgerr.Unsupported("EXPLAIN EXECUTE of this statement is not supported")
		}
		h, err := c.explain(ctx, p.Statement(), &call, p.Params())
		if err != nil {
			return nil, err
		}
		return withArguments(p, h, x), nil
	}
	inner.Node = node
	var h *session.Command // for its parameters
	switch node.(type) {
	case *ast.SelectStmt:
		h, err = c.query(ctx, &inner, params)
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
		h, err = c.dml(ctx, &inner, params)
	default:
		err = pgerr.Unsupported("EXPLAIN of this statement is not supported")
	}
	if err != nil {
		return nil, err
	}
	cols := session.TextColumns("QUERY PLAN")
	switch o.Format {
	case "json":
		cols[0].Type = types.JSON
	case "xml":
		cols[0].Type = types.XML
	}
	return &session.Command{Columns: cols, Params: h.Params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		view, err := x.View()
		if err != nil {
			return nil, err
		}
		var text string
		start := time.Now()
		bound, err := planner.Bind(x.Binding(x.Ctx, view, &inner, h.Params), node)
		if err != nil {
			return nil, err
		}
		if bound.DML != nil {
			text, err = c.explainDML(x, bound, o)
		} else {
			text, err = c.explainQuery(x, bound, o)
		}
		if err != nil {
			return nil, err
		}
		if o.Analyze && o.Format == "text" {
			text += fmt.Sprintf("Execution Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000)
		}
		var rows [][]types.Datum
		if o.Format == "text" {
			for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
				rows = append(rows, []types.Datum{line})
			}
		} else {
			rows = [][]types.Datum{{text}}
		}
		return session.Table(cols, rows, "EXPLAIN")
	}}, nil
}

func (c *dispatcher) explainQuery(x *session.Execution, b *planner.Bound, o query.Explain) (string, error) {
	view, err := x.View()
	if err != nil {
		return "", err
	}
	q := b.Query
	r := x.Open(b.In(view))
	defer r.Close()
	if r.Analyze = o.Analyze; o.Analyze {
		rows, _, err := r.Select(q)
		if err != nil {
			return "", err
		}
		for err == nil {
			_, err = rows.Next(x.Ctx)
		}
		if err != io.EOF {
			_ = rows.Close()
			return "", err
		}
		if err := rows.Close(); err != nil {
			return "", err
		}
		return r.Show(o, nil), nil
	}
	oq, _, err := r.Plan(q)
	if err != nil {
		return "", err
	}
	if err := r.StageBuffers(x.Ctx, oq.Buffers); err != nil {
		return "", err
	}
	if err := r.Stage(x.Ctx, oq.Root, oq.Cols, nil); err != nil {
		return "", err
	}
	return r.Show(o, nil), nil
}

func (c *dispatcher) explainDML(x *session.Execution, b *planner.Bound, o query.Explain) (string, error) {
	d := b.DML
	if o.Analyze {
		if err := x.Txn.Writable(write.Verb(d.Kind)); err != nil {
			return "", err
		}
	}
	view, err := x.View()
	if err != nil {
		return "", err
	}
	r := x.Open(b.In(view))
	defer r.Close()
	if r.Analyze = o.Analyze; o.Analyze {
		w, err := r.Modify(d)
		if err != nil {
			return "", err
		}
		w.Close()
		return r.Show(o, d), nil
	}
	od, err := r.PlanDML(d)
	if err == nil {
		err = r.StageBuffers(x.Ctx, od.Buffers)
	}
	if err == nil && od.Source != nil {
		err = r.Stage(x.Ctx, od.Source, od.Source.Schema(), nil)
	}
	if err != nil {
		return "", err
	}
	return r.Show(o, d), nil
}
