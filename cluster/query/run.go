package query

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Run is what one run of a statement holds on its node.
type Run struct {
	ID     string
	Caller *Caller
	Pool   *mem.Pool
	// Admission is shared by all that runs within the statement.
	Admission Admission
	Env       *function.Env
	*Did      // shared likewise
	// Reported takes the progress of a statement that shows it; nil for nobody.
	Reported func(*sysview.Progress)
	planner  *Planner
}

// Did records what the statement's finished plans did.
type Did struct {
	Planning  time.Duration
	Exchanged int64              // bytes that went between nodes
	Operators []observe.Operator // of a slow statement, or one that is analyzed
}

// Begin makes a Run of a caller's statement, with its memory pool and its environment. pid is the
// session's number, 0 for none. fail is called if the statement must end because memory is short. End must be
// called.
func (p *Planner) Begin(c *Caller, pid uint32, fail func(error)) *Run {
	id := p.NextID(pid)
	return p.begin(c, id, p.poolOf(c).Child("statement "+id, c.WorkMem), fail)
}

// poolOf returns the pool of which a caller's statements have their parts.
func (p *Planner) poolOf(c *Caller) *mem.Pool { return p.Resources.Of(c.SessionUser).Pool(p.Pool) }

// Threads returns how many of n threads the statement may use.
func (x *Run) Threads(n int) int { return x.planner.Resources.Of(x.Caller.SessionUser).Threads(n) }

// NextID returns the id for a statement of the session pid.
func (p *Planner) NextID(pid uint32) string {
	b := append(strconv.AppendUint(nil, p.Self, 10), '-')
	b = append(strconv.AppendUint(b, uint64(pid), 10), '-')
	return string(strconv.AppendUint(b, p.Next(), 10))
}

func (p *Planner) begin(c *Caller, id string, pool *mem.Pool, fail func(error)) *Run {
	pool.OnFail(fail)
	return &Run{ID: id, Caller: c, Pool: pool, Admission: p.Runner.Admission(c.SessionUser, pool), Env: c.Env(pool), Did: &Did{}, planner: p}
}

// Fork makes an execution of the same statement that outlives this one, with
// memory of its own.
func (x *Run) Fork(c *Caller, name string, fail func(error)) *Run {
	return x.planner.begin(c, x.ID, x.planner.poolOf(c).Child(name, 0), fail)
}

// In returns the run of another caller's statement within this one.
func (x *Run) In(c *Caller) *Run {
	n := *x
	n.Caller, n.Env = c, c.Env(x.Pool)
	return &n
}

// Report shows a statement's progress until the statement ends, and returns it.
func (x *Run) Report(p *sysview.Progress) *sysview.Progress {
	if x.Reported != nil {
		x.Reported(p)
	}
	return p
}

// Buffer makes a buffer for rows that are kept after their plan has ended: the rows of RETURNING, and the
// keys that foreign keys check. It must be closed.
func (x *Run) Buffer(cols []plan.Column) *op.Buffer {
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	return x.planner.Runner.Buffer(x.Pool, ts)
}

// Spill makes a directory for temporary files. It must be closed.
func (x *Run) Spill() *spill.Dir { return x.planner.Runner.Spill(x.Pool) }

// Binding returns what the binder needs for a text over a state of the catalog. The parameters have the given
// types, and planning ends with ctx.
func (x *Run) Binding(ctx context.Context, st *catalog.State, text *parse.Statement, params []types.Type) *bind.Session {
	return x.planner.Binding(x.Caller.With(nil, params), st, text, Poll(ctx))
}

// Store returns the store of a file that the statement reads, or writes, for its role. Who may use the server's disks
// is the caller's matter.
func (x *Run) Store(uri string, write bool) (object.Store, error) {
	return x.planner.Stores.For(x.Caller.Role, uri, write)
}

// Relation finds a relation as the statement names it.
func (x *Run) Relation(st *catalog.State, rv *ast.RangeVar) (*catalog.Relation, error) {
	r, err := x.planner.Binding(x.Caller, st, nil, nil).Relation(rv)
	if err != nil || r != nil {
		return r, err
	}
	name := rv.RelName
	if rv.SchemaName != "" {
		name = rv.SchemaName + "." + name
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}

// End frees what the execution holds, and returns how many bytes of its memory were not released.
func (x *Run) End() (leaked int64) {
	x.Admission.Close()
	return x.Pool.Close()
}

// Cause prefers what cancelled the context over the context's own error, and gives every error its SQLSTATE.
// An unknown outcome of a commit is kept: an error that says cancelled would mean that nothing was committed.
func Cause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && pgerr.CodeOf(err) != pgerr.StatementCompletionUnknown {
		var e *pgerr.Error
		if c := context.Cause(ctx); c != nil && errors.As(c, &e) {
			return e
		}
	}
	return pgerr.From(err)
}
