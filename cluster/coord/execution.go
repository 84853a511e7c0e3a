package coord

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// execution is one run of one statement by a session.
type execution struct {
	*query.Execution
	s       *Session
	stmt    *parse.Statement
	ctx     context.Context
	watch   *watch
	mark    int
	setMark int
	nested  int // how many EXECUTEs it is in
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
	x := &execution{s: s, stmt: p.piece.stmt, ctx: ctx, watch: w,
		Execution: s.engine.queries.Begin(s.context().With(params, p.h.params), s.start.PID, func(err error) { w.cancel(err) })}
	s.pool.Store(x.Pool)
	s.queued.Store(&x.Admission)
	if s.tx != nil {
		x.mark, x.setMark = s.tx.mark(), s.set.Mark()
	}
	x.active()
	return x, nil
}

// view is the catalog as this statement sees it.
func (x *execution) view() (*catalog.State, error) {
	return x.s.tx.begin(x.ctx, x.s.engine.cfg.Meta)
}

// pinRead keeps the oldest version that the transaction reads: a cursor may
// still read it when later statements have moved on.
func (s *Session) pinRead(version uint64) { s.reading.CompareAndSwap(0, version) }

// undo takes back what the statement changed.
func (x *execution) undo() {
	if x.s.tx != nil {
		x.s.tx.foreign.clear()
		x.s.tx.rollbackTo(x.mark)
	}
}

// end frees what the execution holds.
func (x *execution) end() {
	s := x.s
	x.Env.Host.(*host).close(x.ctx)
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
	if x.stmt != nil {
		x.s.setActivity("active", x.stmt.Text)
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
		s.tx = s.newTxn(false)
		s.set.Begin()
	}
}

func (s *Session) newTxn(explicit bool) *txn {
	t := &txn{explicit: explicit, pin: s.pinRead, start: time.Now(), xid: s.engine.queries.Next(), readOnly: s.set.Bool("default_transaction_read_only")}
	switch s.set.Value("default_transaction_isolation") {
	case "repeatable read", "serializable":
		t.iso = snapshot
	}
	return t
}

// context is what a text means that the session gives now.
func (s *Session) context() *query.Context {
	at := time.Now()
	if s.tx != nil {
		at = s.tx.start
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
