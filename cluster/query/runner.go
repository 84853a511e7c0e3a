package query

import (
	"context"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Runner runs staged plans on the nodes that are alive. Its methods may be
// called from any goroutine.
type Runner interface {
	// Nodes returns how many nodes take part in a statement that starts now.
	Nodes() int
	// Threads returns how many threads these nodes have together.
	Threads() int
	// Statement opens a statement's resources: spill directory, buffers, pins on
	// the segments of st. It must be closed after all its readers.
	Statement(id string, st *catalog.State, pool *mem.Pool, env *function.Env, opts RunOptions) Statement
	// Buffer makes a buffer of columns ts that outlives a statement's plans. It charges
	// pool and must be closed before it.
	Buffer(pool *mem.Pool, ts []types.Type) *op.Buffer
	// Spill makes a directory for temporary files of a statement, which counts them for
	// pool. It must be closed before it.
	Spill(pool *mem.Pool) *spill.Dir
	// Admission makes the admission for a statement of a role. It is requested when the first plan that needs
	// it runs.
	Admission(role types.OID, pool *mem.Pool) Admission
}

// Admission is a statement's permission to keep rows in memory on the nodes
// where it runs. It must be closed after the statement's plans and before its
// pool. Place and Close may be called from any goroutine.
type Admission interface {
	// SkipQueue admits the statement's plans without queueing.
	SkipQueue()
	// Rest releases the admission while the statement waits for its client, Resume
	// takes it again without queueing. They do nothing for a statement that has
	// none.
	Rest()
	Resume()
	// Place is the statement's place in the queue of a node, "" being this one, 1
	// the next; 0 if it does not wait.
	Place() (node string, place int)
	Close()
}

// RunOptions are the options of running a statement.
type RunOptions struct {
	BatchSize  int
	Saturation float64
	Virtual    op.Virtuals
	Admission  Admission
}

// Statement runs the plans of one statement, one after the other or nested.
type Statement interface {
	// Execute starts a plan and returns the root stage's rows; closing the
	// reader stops the plan on all nodes. manifests, where it has one, replaces
	// the state's manifest for a scan.
	Execute(ctx context.Context, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error)
	// Replicas returns which nodes hold which parts of the tables; for the goroutine that plans.
	Replicas(manifests map[*plan.Scan]*catalog.Manifest) stage.Replicas
	// ProvenAbsent reports whether no row of a manifest has these values of a constraint's
	// columns; false also where that is not known without a plan.
	ProvenAbsent(ctx context.Context, m *catalog.Manifest, rel *catalog.Relation, c *catalog.Constraint, vals []types.Datum) bool
	// Row reads the row of a manifest that has a key, nil for none, in the columns of a scan: without a plan, and
	// without the scan's filter. known is false where a plan must find it.
	Row(ctx context.Context, m *catalog.Manifest, sc *plan.Scan, k *store.Key) (b *batch.Batch, known bool, err error)
	// Fill runs a reader to its end into buffer id, which later plans of the
	// statement read.
	Fill(ctx context.Context, id int, cols []plan.Column, in op.BatchReader) error
	Stream(id int, in op.BatchReader)
	// Actuals are the counters of the plan run last, by stage and node.
	Actuals() stage.Actuals
	// After KeepOperators, Observed returns the operators of all following plans; otherwise only those of
	// plans that ran for some time. Exchanged returns the bytes sent between nodes.
	KeepOperators()
	Observed() (ops []observe.Operator, exchanged int64)
	Close()
}
