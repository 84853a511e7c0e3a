package session

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// newExecution prepares a run: a transaction if there is none, the statement's
// caller and what it holds.
func (s *Session) newExecution(ctx context.Context, p prepared, params []types.Datum) (*Execution, error) {
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	if !p.h.Control {
		s.OpenTxn()
	}
	c, h := s.callerOf(params, p.h.Params)
	q := s.registry.cfg.Queries.Begin(c, s.start.PID, func(err error) { w.cancel(err) })
	x := s.execution(ctx, q, h, p.stmt)
	x.watch = w
	x.Reported = s.doing.progress.Store
	s.doing.id.Store(&x.ID)
	s.doing.rows.Store(0)
	s.doing.pool.Store(x.Pool)
	s.doing.queued.Store(&x.Admission)
	s.active(p.stmt)
	return x, nil
}

// execution returns an execution in the session's transaction.
func (s *Session) execution(ctx context.Context, q *query.Run, h *host, text *parse.Statement) *Execution {
	x := &Execution{Statement: &write.Statement{Run: q, Host: h, Ctx: ctx, Text: text, Files: s.registry.cfg.Files},
		catalog: s.registry.cfg.Catalog, host: h, caller: s.callerOf}
	if s.tx != nil {
		x.Txn, x.mark = &s.tx.Txn, s.tx.Mark()
	}
	return x
}

// end frees what an execution holds.
func (s *Session) end(x *Execution) {
	x.host.close(x.Ctx)
	x.watch.end()
	s.doing.queued.Store(nil)
	s.doing.progress.Store(nil)
	if leaked := x.End(); leaked > 0 {
		s.registry.cfg.Log.Warn("BUG: a statement ended with charged memory", "query", x.ID, "bytes", leaked)
	}
	s.doing.pool.CompareAndSwap(x.Pool, nil)
	s.freeText()
	s.idle()
}

// active and idle show what the session does now.
func (s *Session) active(text *parse.Statement) {
	if text != nil {
		s.doing.set("active", text.Text, text, s.txnStart())
	}
}

// shown shows a text as what the session does while it is parsed or bound, until the result is called. A
// statement that is running already stays the one that is shown.
func (s *Session) shown(text string, of *parse.Statement) (end func()) {
	if text == "" || s.doing.activity.Load().State == "active" {
		return func() {}
	}
	s.doing.set("active", text, of, s.txnStart())
	return s.idle
}

func (s *Session) idle() {
	state := "idle in transaction (aborted)"
	switch s.TxStatus() {
	case 'I':
		state = "idle"
	case 'T':
		state = "idle in transaction"
	}
	s.doing.set(state, "", nil, s.txnStart())
}

// txnStart is when the session's transaction did, zero for none.
func (s *Session) txnStart() (at time.Time) {
	if s.tx != nil {
		at = s.tx.Start
	}
	return at
}
