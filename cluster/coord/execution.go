package coord

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// execution is one run of one statement by a session.
type execution struct {
	*write.Execution
	s      *Session
	watch  *watch
	mark   int
	nested int // how many EXECUTEs it is in
}

// newExecution prepares a run: a transaction if there is none, the statement's
// context and what it holds.
func (s *Session) newExecution(ctx context.Context, p *Prepared, params []types.Datum) (*execution, error) {
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	if !p.h.control {
		s.ensureTxn()
	}
	q := s.engine.queries.Begin(s.context().With(params, p.h.params), s.start.PID, func(err error) { w.cancel(err) })
	x := &execution{s: s, watch: w, Execution: s.writing(ctx, q, p.stmt)}
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
	x := &write.Execution{Execution: q, Ctx: ctx, Text: text, Files: s.engine.cfg.Files}
	if s.tx != nil {
		x.Txn = &s.tx.Txn
	}
	return x
}

// view is the catalog as this statement sees it.
func (x *execution) view() (*catalog.State, error) {
	return x.Txn.Begin(x.Ctx, x.s.engine.cfg.Meta)
}

// in is the execution of another text in another context, within this one.
func (x *execution) in(c *query.Context, text *parse.Statement) *execution {
	n := *x
	n.Execution = x.Execution.In(c, text)
	n.nested++
	return &n
}

// undo takes back what the statement changed.
func (x *execution) undo() {
	if x.Txn != nil && !x.Txn.Ended {
		x.Txn.Undo(x.mark)
	}
}

// end frees what the execution holds.
func (x *execution) end() {
	s := x.s
	x.Env.Host.(*host).close(x.Ctx)
	x.watch.end()
	s.queued.Store(nil)
	if leaked := x.End(); leaked > 0 {
		s.engine.log.Warn("BUG: a statement ended with charged memory", "query", x.ID, "bytes", leaked)
	}
	s.pool.CompareAndSwap(x.Pool, nil)
	s.weighed()
	x.idle()
}

// active and idle show what the session does now.
func (x *execution) active() {
	if x.Text != nil {
		x.s.setActivity("active", x.Text.Text)
	}
}

func (x *execution) idle() {
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

// ensureTxn opens the implicit transaction of a statement.
func (s *Session) ensureTxn() {
	if s.tx == nil {
		s.tx = &transaction{Txn: write.Txn{Txn: s.newTxn()}}
		s.set.Begin()
	}
}

func (s *Session) newTxn() *txn.Txn {
	t := txn.New(s.engine.queries.Next(), &s.reading)
	t.ReadOnly = s.set.Bool("default_transaction_read_only")
	t.Isolation = txn.IsolationOf(s.set.Value("default_transaction_isolation"))
	return t
}

// context is what a text means that the session gives now.
func (s *Session) context() *query.Context {
	at := time.Now()
	if s.tx != nil {
		at = s.tx.Start
	}
	return query.NewContext(query.Identity{Role: s.role, SessionUser: s.user, Temp: s.temp}, s.set, s.env, at, &host{s: s})
}

// rowsOf is a result of a few rows made here.
func rowsOf(cols []plan.Column, rows [][]types.Datum, tag string) (*result, error) {
	arrs := make([]arrow.Array, len(cols))
	for i, c := range cols {
		b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
		for _, r := range rows {
			if err := types.AppendDatum(b, c.Type, r[i]); err != nil {
				return nil, err
			}
		}
		arrs[i] = b.NewArray()
	}
	given := false
	return &result{
		cols: cols,
		next: func(context.Context) (*batch.Batch, error) {
			if given {
				return nil, io.EOF
			}
			given = true
			return batch.New(arrs, len(rows)), nil
		},
		tag: func() string { return tag },
	}, nil
}

// textCols describes columns of type text.
func textCols(names ...string) []plan.Column {
	out := make([]plan.Column, len(names))
	for i, n := range names {
		out[i] = plan.Column{ID: expr.ColID(i + 1), Name: n, Type: types.Text}
	}
	return out
}
