package session

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Execution is one run of one statement by a session.
type Execution struct {
	*write.Execution
	s      *Session
	watch  *watch
	mark   int
	nested int // how many EXECUTEs it is in
}

// newExecution prepares a run: a transaction if there is none, the statement's
// context and what it holds.
func (s *Session) newExecution(ctx context.Context, p *Prepared, params []types.Datum) (*Execution, error) {
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	if !p.h.Control {
		s.OpenTxn()
	}
	q := s.registry.cfg.Queries.Begin(s.Context().With(params, p.h.Params), s.start.PID, func(err error) { w.cancel(err) })
	x := &Execution{s: s, watch: w, Execution: s.writing(ctx, q, p.stmt)}
	s.pool.Store(x.Pool)
	s.queued.Store(&x.Admission)
	if x.Txn != nil {
		x.mark = x.Txn.Mark()
	}
	x.active()
	return x, nil
}

// writing is an execution in the session's transaction.
func (s *Session) writing(ctx context.Context, q *query.Execution, text *parse.Statement) *write.Execution {
	x := &write.Execution{Execution: q, Ctx: ctx, Text: text, Files: s.registry.cfg.Files}
	if s.tx != nil {
		x.Txn = &s.tx.Txn
	}
	return x
}

// View is the catalog as this statement sees it.
func (x *Execution) View() (*catalog.State, error) {
	return x.Txn.Begin(x.Ctx, x.s.registry.cfg.Catalog)
}

// maxNested bounds how deep EXECUTE may run EXECUTE, which the protocol can prepare.
const maxNested = 32

// Nested is the execution of another text with other parameters, within this one.
func (x *Execution) Nested(params []types.Datum, of []types.Type, text *parse.Statement) (*Execution, error) {
	if x.nested >= maxNested {
		return nil, pgerr.New(pgerr.StatementTooComplex, "EXECUTE is nested more than %d deep", maxNested)
	}
	n := *x
	n.Execution = x.Execution.In(x.s.Context().With(params, of), text)
	n.nested++
	return &n, nil
}

// undo takes back what the statement changed.
func (x *Execution) undo() {
	if x.Txn != nil && !x.Txn.Ended {
		x.Txn.Undo(x.mark)
	}
}

// end frees what the execution holds.
func (x *Execution) end() {
	s := x.s
	x.Env.Host.(*host).close(x.Ctx)
	x.watch.end()
	s.queued.Store(nil)
	if leaked := x.End(); leaked > 0 {
		s.registry.cfg.Log.Warn("BUG: a statement ended with charged memory", "query", x.ID, "bytes", leaked)
	}
	s.pool.CompareAndSwap(x.Pool, nil)
	s.freeText()
	x.idle()
}

// active and idle show what the session does now.
func (x *Execution) active() {
	if x.Text != nil {
		x.s.setActivity("active", x.Text.Text)
	}
}

func (x *Execution) idle() {
	s := x.s
	switch s.TxStatus() {
	case 'I':
		s.setActivity("idle", "")
	case 'T':
		s.setActivity("idle in transaction", "")
	default:
		s.setActivity("idle in transaction (aborted)", "")
	}
}

// Context is what a text means that the session gives now.
func (s *Session) Context() *query.Context {
	at := time.Now()
	if s.tx != nil {
		at = s.tx.Start
	}
	return s.known().context.At(at, &host{s: s})
}
