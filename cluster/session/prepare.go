package session

import (
	"context"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Prepared is a prepared statement of a session.
type Prepared struct {
	prepared
	s *Session
}

// StorePrepared gives a prepared statement a name: 42P05 if it is taken, 53200 if there is no room for it.
func (s *Session) StorePrepared(name string, p *Prepared) error {
	return s.keep(name, p.prepared, false)
}

// StorePreparedSQL is StorePrepared for the statement of PREPARE: a text with its command.
func (s *Session) StorePreparedSQL(name string, text *parse.Statement, c *Command) error {
	return s.keep(name, prepared{text, c}, true)
}

// LookupPrepared finds a prepared statement by its name.
func (s *Session) LookupPrepared(name string) (*Prepared, error) {
	if n := s.statements.find(name); n != nil {
		return &Prepared{n.prepared, s}, nil
	}
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
}

// Command is what the statement does.
func (p *Prepared) Command() *Command { return p.h }

// Statement is its text, parsed; nil for the empty query.
func (p *Prepared) Statement() *parse.Statement { return p.stmt }

// Node is the statement's tree, nil where it has none of PostgreSQL's grammar.
func (p *Prepared) Node() ast.Stmt {
	if p.stmt == nil {
		return nil
	}
	return p.stmt.Node
}

// Params are the parameter types, all known.
func (p *Prepared) Params() []types.Type { return p.h.Params }

// Empty reports whether it is the empty query.
func (p *Prepared) Empty() bool { return p.stmt == nil }

// Columns describes the rows; nil where there are none.
func (p *Prepared) Columns() []plan.Column { return p.h.Columns }

// Close frees the statement.
func (p *Prepared) Close() error { return nil }

// Prepare makes a statement of a text's; nil is the empty query.
func (s *Session) Prepare(ctx context.Context, st *parse.Statement, oids []types.OID) (*Prepared, error) {
	if st == nil {
		return &Prepared{prepared{nil, &Command{Run: func(context.Context, *Execution) (*Result, error) { return Done(""), nil }}}, s}, nil
	}
	if err := s.Killed(); err != nil {
		return nil, err
	}
	if s.tx != nil && s.tx.Failed && !isControl(st) {
		return nil, errFailedTransaction()
	}
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.end()
	defer s.shown(st.Text, st)()
	params := make([]types.Type, len(oids))
	for i, o := range oids {
		params[i] = types.Type{OID: o, Mod: -1}
	}
	began := time.Now()
	h, err := s.Command(ctx, st, params)
	if err != nil {
		s.fail()
		err = query.Cause(ctx, err)
		f := s.finished(st, began, err)
		f.ID = s.registry.cfg.Queries.NextID(s.start.PID)
		s.unsaid = append(s.unsaid, f)
		s.say(nil, 0)
		return nil, err
	}
	for _, n := range st.Notices {
		s.Notice(pgerr.New(pgerr.Warning, "%s", n))
	}
	return &Prepared{prepared{st, h}, s}, nil
}

// isControl reports whether it is one of the statements that a failed transaction takes.
func isControl(st *parse.Statement) bool {
	t, ok := st.Node.(*ast.TransactionStmt)
	if !ok {
		return false
	}
	switch t.Kind {
	case ast.TRANS_STMT_COMMIT, ast.TRANS_STMT_ROLLBACK, ast.TRANS_STMT_ROLLBACK_TO, ast.TRANS_STMT_PREPARE:
		return true
	}
	return false
}

// Bind makes a portal. Parameters are in the order of Params.
func (p *Prepared) Bind(ctx context.Context, params []types.Datum) (*Portal, error) {
	if p.s.refuses(p.prepared) {
		return nil, errFailedTransaction()
	}
	if len(params) != len(p.h.Params) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message supplies %d parameters, but prepared statement requires %d", len(params), len(p.h.Params))
	}
	po := &Portal{s: p.s, p: p.prepared, params: params, bytes: portalBytes(params)}
	if err := p.s.kept.grow(po.bytes); err != nil {
		p.s.fail()
		return nil, err
	}
	if p.h.Shape != nil {
		po.shape = p.h.Shape()
	}
	return po, nil
}

// refuses reports whether the transaction has failed and the statement does not end it.
func (s *Session) refuses(p prepared) bool {
	return s.tx != nil && s.tx.Failed && !p.h.Control && p.stmt != nil
}

func errFailedTransaction() error {
	return pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
}
