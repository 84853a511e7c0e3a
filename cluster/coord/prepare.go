package coord

import (
	"context"
	"io"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Script splits a query string into its statements, all of which parse.
func (s *Session) Script(sql string) ([]*parse.Statement, error) {
	err := s.weigh(sql)
	var stmts []*parse.Statement
	if err == nil {
		stmts, err = parse.Parse(sql, s.dialect())
	}
	if err != nil {
		s.weighed()
		s.fail()
		return nil, err
	}
	return stmts, nil
}

// smallText is the weight of a text below which it is not worth charging.
const smallText = 1 << 20

// weigh charges what a text's trees will take, until a statement of the session
// ends or the next text comes.
func (s *Session) weigh(sql string) error {
	n := parse.Weight(sql)
	if n < smallText {
		n = 0
	}
	if n == 0 && s.text == nil {
		return nil
	}
	if s.text == nil {
		s.text = s.engine.cfg.Pool.Account("statement text", false)
	}
	return s.text.Resize(n)
}

// weighed gives back what weigh charged.
func (s *Session) weighed() {
	if s.text != nil {
		s.text.Close()
		s.text = nil
	}
}

// handler is a statement's plan of action: what it returns is known, and open
// runs it. Handlers may be opened many times.
type handler struct {
	cols   []plan.Column
	params []types.Type
	// open starts an execution. The result's columns may differ from cols only
	// where cols is nil (EXECUTE, FETCH).
	open func(ctx context.Context, x *execution) (*result, error)
	// again tells a statement that may be run anew where its commit met a
	// conflict.
	again bool
	// control statements run in a failed transaction and start none.
	control bool
}

// result is an execution's outcome: rows by next (nil for none), a tag when
// they end.
type result struct {
	cols  []plan.Column
	next  func(ctx context.Context) (*batch.Batch, error)
	tag   func() string
	close func() error
	copy  *copyStream
}

// Next and Close make a result with rows a reader.
func (r *result) Next(ctx context.Context) (*batch.Batch, error) { return r.next(ctx) }

func (r *result) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// done is the result of a statement that gives no rows.
func done(tag string) *result { return &result{tag: func() string { return tag }} }

// Prepared is a prepared statement.
type Prepared struct {
	s    *Session
	stmt *parse.Statement // nil for the empty query
	h    *handler
}

// text is the statement's.
func (p *Prepared) text() string {
	if p.stmt == nil {
		return ""
	}
	return p.stmt.Text
}

// node is the statement's tree, nil where it has none of PostgreSQL's grammar.
func (p *Prepared) node() ast.Stmt {
	if p.stmt == nil {
		return nil
	}
	return p.stmt.Node
}

// Params are the parameter types, all known.
func (p *Prepared) Params() []types.Type { return p.h.params }

// Empty tells the empty query.
func (p *Prepared) Empty() bool { return p.stmt == nil }

// Columns describes the rows; nil where there are none.
func (p *Prepared) Columns() []plan.Column { return p.h.cols }

// Close frees the statement.
func (p *Prepared) Close() error { return nil }

// Prepare makes a statement of a text's; nil is the empty query.
func (s *Session) Prepare(ctx context.Context, st *parse.Statement, oids []types.OID) (*Prepared, error) {
	if st == nil {
		return &Prepared{s: s, h: &handler{open: func(context.Context, *execution) (*result, error) { return done(""), nil }}}, nil
	}
	if err := s.Killed(); err != nil {
		return nil, err
	}
	if s.tx != nil && s.tx.Failed && !isControl(st) {
		return nil, pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.end()
	params := make([]types.Type, len(oids))
	for i, o := range oids {
		params[i] = types.Type{OID: o, Mod: -1}
	}
	h, err := s.handle(ctx, st, params)
	if err != nil {
		s.fail()
		return nil, query.Cause(ctx, err)
	}
	for _, n := range st.Notices {
		s.notice(pgerr.New(pgerr.Warning, "%s", n))
	}
	return &Prepared{s: s, stmt: st, h: h}, nil
}

// isControl tells the statements that a failed transaction takes.
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

// fail notes that the transaction, explicit or implicit, cannot commit.
func (s *Session) fail() {
	if s.tx != nil {
		s.tx.Failed = true
	}
}

// Bind makes a portal. Parameters are in the order of Params.
func (p *Prepared) Bind(ctx context.Context, params []types.Datum) (*Portal, error) {
	if p.s.tx != nil && p.s.tx.Failed && !p.h.control && p.stmt != nil {
		return nil, pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	if len(params) != len(p.h.params) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message supplies %d parameters, but prepared statement requires %d", len(params), len(p.h.params))
	}
	return &Portal{p: p, params: params}, nil
}

// Portal is a statement in execution.
type Portal struct {
	p      *Prepared
	params []types.Datum
	x      *execution
	res    *result
	state  portalState
	asleep bool        // between a row limit and the next call of Next
	slow   *time.Timer // rests the statement
	tag    string
	told   bool // the tag was asked for
}

type portalState uint8

const (
	portalNew portalState = iota
	portalOpen
	portalDone
)

// Columns describes the rows.
func (p *Portal) Columns() []plan.Column {
	if p.res != nil && p.res.cols != nil {
		return p.res.cols
	}
	return p.p.h.cols
}

// Start begins the execution if that has not happened yet. ctx must live as
// long as the portal.
func (p *Portal) Start(ctx context.Context) error {
	if p.state != portalNew {
		return nil
	}
	s := p.p.s
	x, err := s.newExecution(ctx, p.p, p.params)
	if err != nil {
		s.fail()
		return err
	}
	p.x = x
	p.state = portalOpen
	if t := s.tx; t != nil && !p.p.h.control {
		t.only = nil
		if t.statements++; t.statements == 1 && !t.Explicit && t.Isolation == txn.ReadCommitted && p.p.h.again {
			t.only = p
		}
	}
	// Rows may lie in mapped files, here and below.
	err = batch.Guard(func() (err error) {
		p.res, err = p.p.h.open(x.Ctx, x)
		return err
	})
	if err != nil {
		return p.failed(err)
	}
	if err := x.CheckForeignKeys(); err != nil {
		return p.failed(err)
	}
	return nil
}

// Copy gives the byte stream of a COPY, after Start; nil for other statements.
func (p *Portal) Copy() *CopyStream {
	if p.res == nil || p.res.copy == nil {
		return nil
	}
	return &CopyStream{portal: p, stream: p.res.copy}
}

// Next gives the next rows, io.EOF at the end.
func (p *Portal) Next(ctx context.Context) (*batch.Batch, error) {
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if p.state == portalDone {
		return nil, io.EOF
	}
	if p.asleep {
		p.wake()
		p.x.watch.resume()
		p.x.active()
	}
	p.taken()
	if p.res.copy != nil {
		return nil, io.EOF // its bytes go through Copy
	}
	if p.res.next != nil {
		for {
			var b *batch.Batch
			err := batch.Guard(func() (err error) {
				b, err = p.res.next(p.x.Ctx)
				return err
			})
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, p.failed(err)
			}
			if b.Rows() > 0 {
				p.given()
				return b, nil
			}
		}
	}
	return nil, p.finish()
}

// finish ends a successful execution; the error is io.EOF if all went well.
func (p *Portal) finish() error {
	if err := p.x.CheckForeignKeys(); err != nil {
		return p.failed(err)
	}
	if p.res.tag != nil {
		p.tag = p.res.tag()
	}
	if err := p.Close(); err != nil {
		return p.failed(err)
	}
	return io.EOF
}

// failed ends a failed execution: the statement's changes are taken back.
func (p *Portal) failed(err error) error {
	err = query.Cause(p.x.Ctx, err)
	p.x.undo()
	p.p.s.fail()
	_ = p.Close()
	return err
}

// slowClient is how long a client may take for a batch until its statement
// counts as one that waits for its client.
const slowClient = time.Second

// given notes that a batch has gone out: the statement rests if the client does
// not take it.
func (p *Portal) given() {
	if p.slow == nil {
		p.slow = time.AfterFunc(slowClient, p.x.Admission.Rest)
	} else {
		p.slow.Reset(slowClient)
	}
}

// taken notes that the client asks for more.
func (p *Portal) taken() {
	if p.slow != nil {
		p.slow.Stop()
	}
	p.x.Admission.Resume()
}

// Suspend says that the client may ask for more rows later, or never.
func (p *Portal) Suspend() {
	if p.state == portalOpen && !p.asleep {
		p.asleep = true
		p.p.s.asleep++
		p.x.Admission.Rest()
		p.x.watch.suspend()
		p.x.idle()
	}
}

// wake takes back Suspend.
func (p *Portal) wake() {
	if p.asleep {
		p.asleep = false
		p.p.s.asleep--
	}
}

// Tag is the command tag, valid after io.EOF.
func (p *Portal) Tag() string {
	p.told = true
	return p.tag
}

// Close stops the execution. It may be called twice.
func (p *Portal) Close() error {
	if p.state == portalDone {
		return nil
	}
	was := p.state
	p.state = portalDone
	if was == portalNew {
		return nil
	}
	p.wake()
	if p.slow != nil {
		p.slow.Stop()
	}
	var err error
	if p.res != nil {
		err = p.res.Close()
	}
	p.x.end()
	return err
}
