package coord

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// execution is one run of one statement.
type execution struct {
	s      *Session
	stmt   *parse.Statement
	ctx    context.Context
	watch  *watch
	params []types.Datum
	ptypes []types.Type
	pool   *mem.Pool
	// admission is shared by all that runs within the statement.
	admission Admission
	mark      int
	setMark   int
	env       *eval.Env
	id        string
	nested    int // how many EXECUTEs it is in
}

// newExecution prepares a run: a transaction if there is none, the statement's
// memory pool, its context and its environment.
func (s *Session) newExecution(ctx context.Context, p *Prepared, params []types.Datum) (*execution, error) {
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	if !p.h.control {
		s.ensureTxn()
	}
	limit := s.set.Int("work_mem") << 10
	id := fmt.Sprintf("%d-%d-%d", s.engine.cfg.Node.ID, s.start.PID, s.engine.nextXID.Add(1))
	x := &execution{s: s, stmt: p.piece.stmt, ctx: ctx, watch: w, params: params, ptypes: p.h.params, id: id,
		pool: s.engine.cfg.Pool.Child("statement "+id, limit)}
	x.pool.OnFail(func(err error) { w.cancel(err) })
	x.admission = s.engine.cfg.Runner.Admission(s.user, x.pool)
	s.pool.Store(x.pool)
	s.queued.Store(&x.admission)
	if s.tx != nil {
		x.mark, x.setMark = s.tx.mark(), s.set.Mark()
	}
	x.env = s.evalEnv(x.params, x.pool)
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
	x.env.Host.(*host).close(x.ctx)
	x.watch.end()
	s.queued.Store(nil)
	x.admission.Close()
	if leaked := x.pool.Close(); leaked > 0 {
		s.engine.log.Warn("BUG: a statement ended with charged memory", "query", x.id, "bytes", leaked)
	}
	s.pool.CompareAndSwap(x.pool, nil)
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
	t := &txn{explicit: explicit, pin: s.pinRead, start: time.Now(), xid: s.engine.nextXID.Add(1), readOnly: s.set.Bool("default_transaction_read_only")}
	switch s.set.Value("default_transaction_isolation") {
	case "repeatable read", "serializable":
		t.iso = snapshot
	}
	return t
}

// evalEnv is the environment of a statement's expressions, which charge pool.
func (s *Session) evalEnv(params []types.Datum, pool *mem.Pool) *eval.Env {
	te := *s.env
	te.Now = time.Now()
	if s.tx != nil {
		te.Now = s.tx.start
	}
	return &eval.Env{Types: &te, Params: params, Pool: pool, Host: &host{s: s}}
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
