package coord

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type explainOptions struct {
	analyze, verbose bool
	noCosts          bool
	format           string
}

func explainOpts(l *ast.NodeList) (explainOptions, error) {
	o := explainOptions{format: "text"}
	if l == nil {
		return o, nil
	}
	for _, n := range l.Items {
		d, ok := n.(*ast.DefElem)
		if !ok {
			continue
		}
		v := strings.ToLower(constText(d.Arg))
		on := d.Arg == nil || v == "true" || v == "on" || v == "1"
		switch strings.ToLower(d.Defname) {
		case "analyze":
			o.analyze = on
		case "verbose":
			o.verbose = on
		case "costs":
			o.noCosts = !on
		case "buffers", "settings", "summary", "wal", "timing":
		case "format":
			switch v {
			case "text", "json", "dot":
				o.format = v
			default:
				return o, pgerr.Unsupported("EXPLAIN format %q is not supported", v).WithHint("Formats are text, json and dot.")
			}
		default:
			return o, pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option %q", d.Defname)
		}
	}
	return o, nil
}

// explain shows how a statement would run, and with ANALYZE how it did.
func (s *Session) explain(ctx context.Context, st *parse.Statement, n *ast.ExplainStmt, params []types.Type) (*handler, error) {
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
		if q, ok := x.Query.(ast.Stmt); ok && !o.analyze {
			node = q
		}
	case *ast.DeclareCursorStmt:
		if q, ok := x.Query.(ast.Stmt); ok && !o.analyze {
			node = q
		}
	case *ast.ExecuteStmt:
		p, err := s.Kept(x.Name)
		if err != nil {
			return nil, err
		}
		call := *n
		switch q := p.piece.node().(type) {
		case *ast.SelectStmt, *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
			call.Query = q
		default: // EXECUTE among them: it could name itself
			return nil, pgerr.Unsupported("EXPLAIN EXECUTE of this statement is not supported")
		}
		h, err := s.explain(ctx, p.piece.stmt, &call, p.h.params)
		if err != nil {
			return nil, err
		}
		return s.supplied(p.piece, h, x), nil
	}
	inner.Node = node
	h, err := s.handle(ctx, &inner, params)
	if err != nil {
		return nil, err
	}
	cols := textCols("QUERY PLAN")
	return &handler{cols: cols, params: h.params, open: func(ctx context.Context, x *execution) (*result, error) {
		view, err := x.view()
		if err != nil {
			return nil, err
		}
		var text string
		start := time.Now()
		switch node.(type) {
		case *ast.SelectStmt:
			q, err := bind.Query(s.planning(x.ctx, view, &inner, h.params), node)
			if err != nil {
				return nil, err
			}
			text, err = s.explainQuery(x, q, o)
			if err != nil {
				return nil, err
			}
		case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
			d, err := bind.DML(s.planning(x.ctx, view, &inner, h.params), node)
			if err != nil {
				return nil, err
			}
			if text, err = s.explainDML(x, d, o, h); err != nil {
				return nil, err
			}
		default:
			return nil, pgerr.Unsupported("EXPLAIN of this statement is not supported")
		}
		if o.analyze && o.format == "text" {
			text += fmt.Sprintf("Execution Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000)
		}
		var rows [][]types.Datum
		if o.format == "text" {
			for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
				rows = append(rows, []types.Datum{line})
			}
		} else {
			rows = [][]types.Datum{{text}}
		}
		return rowsOf(cols, rows, "EXPLAIN")
	}}, nil
}

func (s *Session) explainQuery(x *execution, q *plan.Query, o explainOptions) (string, error) {
	view, err := x.view()
	if err != nil {
		return "", err
	}
	r := s.newRun(x, view)
	defer r.close()
	if o.analyze {
		rows, _, err := r.query(q)
		if err != nil {
			return "", err
		}
		for err == nil {
			_, err = rows.Next(x.ctx)
		}
		if err != io.EOF {
			_ = rows.Close()
			return "", err
		}
		if err := rows.Close(); err != nil {
			return "", err
		}
		return r.format(o)
	}
	oq, _, err := r.optimize(q)
	if err != nil {
		return "", err
	}
	if r.staged, err = stage.Stage(oq.Root, oq.Cols, r.stageEnv(oq.Root, nil)); err != nil {
		return "", err
	}
	return r.format(o)
}

func (s *Session) explainDML(x *execution, d *plan.DML, o explainOptions, h *handler) (string, error) {
	view, err := x.view()
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("%s on %s", map[plan.DMLKind]string{plan.InsertRows: "Insert", plan.UpdateRows: "Update", plan.DeleteRows: "Delete", plan.MergeRows: "Merge"}[d.Kind], d.Table.Name)
	r := s.newRun(x, view)
	r.head = head
	od, err := r.optimizeDML(d)
	if err == nil && od.Source != nil {
		r.staged, err = stage.Stage(od.Source, od.Source.Schema(), r.stageEnv(od.Source, nil))
	}
	var text string
	if err == nil {
		text, err = r.format(o)
	}
	r.close()
	if err != nil || !o.analyze {
		return text, err
	}
	res, err := h.open(x.ctx, x)
	if err != nil {
		return "", err
	}
	if res.close != nil {
		err = res.close()
	}
	return text, err
}

// format prints the plan run or made last.
func (r *run) format(o explainOptions) (string, error) {
	if r.staged == nil {
		return "", nil
	}
	opts := stage.Options{Rows: opt.Estimator(opt.FromState(r.st)), Verbose: o.verbose, NoCosts: o.noCosts, Nodes: r.nodes, Head: r.head}
	if o.analyze {
		opts.Actuals = r.stmt.Actuals()
	}
	switch o.format {
	case "json":
		return opts.JSON(r.staged), nil
	case "dot":
		return opts.DOT(r.staged), nil
	}
	return strings.Join(opts.Text(r.staged), "\n") + "\n", nil
}
