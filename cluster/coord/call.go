package coord

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// call handles a query that contains a statement of ours as a function, such as ml.train(…). The statement
// runs once, before the query, which then reads its rows.
func (c *dispatcher) call(ctx context.Context, n *parse.Call, params []types.Type) (*session.Command, error) {
	inner, err := c.Engine.Command(ctx, c.s, n.Statement, params)
	if err != nil {
		return nil, n.Placed(err, nil)
	}
	cols := inner.Columns
	switch _, file := n.Statement.Extension.(*parse.ExportModel); {
	case file:
		cols = session.TextColumns("file")
		cols[0].Type = types.Bytea
	case cols == nil:
		cols = session.TextColumns("status")
	}
	around := func(ctx context.Context, rows [][]types.Datum) (*session.Command, error) {
		text, err := c.rowsText(ctx, cols, rows)
		if err != nil {
			return nil, err
		}
		q, err := parse.One(n.Query(text), parse.Postgres)
		if err != nil {
			return nil, n.Placed(err, &text)
		}
		h, err := c.Engine.Command(ctx, c.s, q, nil)
		if err != nil {
			return nil, n.Placed(err, &text)
		}
		return h, nil
	}
	outer, err := around(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &session.Command{Columns: outer.Columns, Params: inner.Params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		rows, err := ran(ctx, x, inner, n, cols)
		if err != nil {
			return nil, err
		}
		outer, err := around(ctx, rows)
		if err != nil {
			return nil, err
		}
		return outer.Run(ctx, x)
	}}, nil
}

// ran runs the inner statement and returns its rows.
func ran(ctx context.Context, x *session.Execution, inner *session.Command, n *parse.Call, cols []plan.Column) ([][]types.Datum, error) {
	around := x.Text
	defer func() { x.Text = around }()
	x.Text = n.Statement
	res, err := inner.Run(ctx, x)
	if err != nil {
		return nil, n.Placed(err, nil)
	}
	return allRows(ctx, res, cols)
}

// allRows reads a result of few rows and closes it. If the result has no rows, its command tag becomes a row.
func allRows(ctx context.Context, res *session.Result, cols []plan.Column) (rows [][]types.Datum, err error) {
	defer func() { err = errors.Join(err, res.Close()) }()
	if res.Copy != nil {
		b, err := res.Copy.ReadAll(ctx)
		return [][]types.Datum{{b}}, err
	}
	if res.Rows == nil {
		return [][]types.Datum{{res.Tag()}}, nil
	}
	for {
		b, err := res.Rows.Next(ctx)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		for k := range b.Rows() {
			at := k
			if b.Sel != nil {
				at = int(b.Sel[k])
			}
			row := make([]types.Datum, len(cols))
			for i, col := range cols {
				row[i] = types.DatumAt(col.Type, b.Cols[i], at)
			}
			rows = append(rows, row)
		}
	}
}

// rowsText writes rows as a query, which has the columns even if there are no rows.
func (c *dispatcher) rowsText(ctx context.Context, cols []plan.Column, rows [][]types.Datum) (string, error) {
	st, err := c.s.Begin(ctx)
	if err != nil {
		return "", err
	}
	env := c.s.Caller().Values
	none := ""
	if len(rows) == 0 {
		rows, none = [][]types.Datum{make([]types.Datum, len(cols))}, " WHERE false"
	}
	var b strings.Builder
	for k, row := range rows {
		if k > 0 {
			b.WriteString(" UNION ALL ")
		}
		b.WriteString("SELECT ")
		for i, col := range cols {
			if i > 0 {
				b.WriteString(", ")
			}
			if row[i] == nil {
				b.WriteString("NULL")
			} else {
				b.WriteString(lex.QuoteLiteral(types.TextOf(col.Type, row[i], env)))
			}
			b.WriteString("::" + st.TypeName(col.Type) + " AS " + lex.QuoteIdent(col.Name))
		}
	}
	return b.String() + none, nil
}
