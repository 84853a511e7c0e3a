package node

import (
	"context"
	"io"
	"math"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/archive"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/repl"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// virtuals are the relations computed at the gateway: query.Virtuals and
// coord.SystemNames.
type virtuals struct {
	n       *Node
	shapes  *sysview.Shapes
	sources *source.Sources
}

func newVirtuals(n *Node, stores *object.Stores) *virtuals {
	return &virtuals{n: n, shapes: sysview.Catalog(), sources: source.New(stores)}
}

// Virtual implements bind.VirtualCatalog.
func (v *virtuals) Virtual(schema, name string) ([]plan.Column, types.OID, bool) {
	return v.shapes.Virtual(schema, name)
}

// OfModel implements bind.VirtualCatalog.
func (v *virtuals) OfModel(schema, name string) bool { return v.shapes.OfModel(schema, name) }

// RelationOID implements coord.SystemNames.
func (v *virtuals) RelationOID(schema, name string) (types.OID, bool) {
	return sysview.RelationOID(schema, name)
}

// RelationName implements coord.SystemNames.
func (v *virtuals) RelationName(oid types.OID) (schema, name string, ok bool) {
	return sysview.RelationName(oid)
}

// For implements query.Virtuals.
func (v *virtuals) For(c *query.Caller, st *catalog.State) op.Virtuals {
	return &viewHost{Host: c.Host, n: v.n, of: c, st: st}
}

// Open implements op.Virtuals.
func (h *viewHost) Open(ctx context.Context, v *plan.Virtual) (op.BatchReader, error) {
	opened := *h
	opened.ctx = ctx
	list, err := sysview.Open(v, h.st, h.of.View(h.st), &opened, h.of.Env(nil))
	if err != nil {
		return nil, err
	}
	return &batches{list}, nil
}

type batches struct{ list []*batch.Batch }

func (b *batches) Next(context.Context) (*batch.Batch, error) {
	if len(b.list) == 0 {
		return nil, io.EOF
	}
	x := b.list[0]
	b.list = b.list[1:]
	return x, nil
}

func (b *batches) Close() error { return nil }

// viewHost produces the rows of virtual relations for a statement (op.Virtuals), and
// is the source of their contents (sysview.Host).
type viewHost struct {
	query.Host // of the statement
	n          *Node
	of         *query.Caller
	st         *catalog.State
	ctx        context.Context // of an opening
}

func (h *viewHost) Sessions() []sysview.SessionRow {
	var out []sysview.SessionRow
	for _, s := range h.n.engine.Sessions() {
		i := s.Info()
		if i.QueuePlace > 0 && i.QueueNode == "" {
			i.QueueNode = h.n.Name()
		}
		if p := i.Progress; p != nil && p.Of == "create_index" {
			p.Rows.Store(int64(float64(p.OfRows.Load()) * max(h.n.worker.Progress(i.ID), 0)))
		}
		out = append(out, sysview.SessionRow{Node: h.n.Name(), PID: int32(i.PID), User: i.User, UserName: i.UserName, Application: i.Application,
			ClientAddr: i.Remote, TLS: i.TLS, Backend: i.Started, Xact: i.Activity.XactStart, Query: i.Activity.QueryStart, StateChange: i.Activity.Since,
			State: i.Activity.State, Text: i.Activity.Query, Memory: i.Memory, Spilled: i.Spilled,
			QueueNode: i.QueueNode, QueuePlace: i.QueuePlace, LockWait: i.LockWait, Progress: i.Progress})
	}
	return out
}

// Archive implements sysview.Host.
func (h *viewHost) Archive() (int64, time.Time) {
	n, since := archive.Behind(h.ctx, h.n.raft.Current(), h.n.past.Commits)
	return int64(n), since
}

func (h *viewHost) Settings() []sysview.SettingRow  { return h.SettingRows() }
func (h *viewHost) Prepared() []sysview.PreparedRow { return h.PreparedRows() }
func (h *viewHost) Cursors() []sysview.CursorRow    { return h.CursorRows() }

// nodeReport is what a node reports about itself to the others.
type nodeReport struct {
	Limit, Used, Spilled, RSS int64
	Idle                      int64 // of Used
	Damage                    store.Damage
	Scrub                     repl.ScrubState
	DiskFree                  int64 // where the segments are; -1: not known
	Queue                     mem.Admissions
	Models                    sysview.CachedModels
	Tasks                     []worker.TaskInfo
	Version                   string
	Started                   time.Time
	DiskUsed                  int64 // of the same file system
	Binary                    uint32
}

// maxTasks is how many tasks a node reports; heartbeats are to stay small.
const maxTasks = 64

// maxQuery bounds the query text reported with a task, in bytes.
const maxQuery = 200

// tasksOf returns a node's tasks; of one that is down, none.
func (n *Node) tasksOf(id uint64) []worker.TaskInfo {
	if id == n.raft.ID() {
		return n.worker.Tasks()
	}
	if alive, _ := n.raft.Liveness(id); !alive {
		return nil
	}
	return n.reportOf(id).Tasks
}

// Tasks implements sysview.Host: this node's tasks as they are now, those of others as
// of the last heartbeat.
func (h *viewHost) Tasks() []sysview.TaskRow {
	var out []sysview.TaskRow
	for _, m := range h.n.raft.Current().Nodes() {
		list := h.n.tasksOf(m.ID)
		for _, t := range list {
			state := "running"
			if t.Done {
				state = "done"
			}
			out = append(out, sysview.TaskRow{Statement: t.Statement, Stage: int(t.Stage), Task: t.Number, Node: m.Name, PID: t.PID, User: t.User, State: state,
				SplitsDone: int64(t.SplitsDone), SplitsTotal: int64(t.SplitsTotal), Rows: t.Rows, Memory: t.Used, Spilled: t.Spilled, Started: t.Started, Query: t.Query})
		}
	}
	return out
}

func (n *Node) ownReport() nodeReport {
	free, err := disk.Free(n.o.Data)
	if err != nil {
		free = -1
	}
	total, err := disk.Total(n.o.Data)
	if err != nil || free < 0 {
		total = free
	}
	return nodeReport{Version: n.o.Version, Binary: version.Binary, Started: n.started, DiskUsed: max(total-free, 0), Limit: n.limits.Load().Memory, Used: n.pool.Used(), Idle: n.pool.Idle(), Spilled: n.pool.Spilled(), RSS: residentBytes(), DiskFree: free,
		Damage: n.store.Damage(), Scrub: n.repl.ScrubState(), Queue: n.pool.Admissions(), Models: n.models.cached()}
}

// reportOf returns a node's last report; zero if there is none.
func (n *Node) reportOf(id uint64) (r nodeReport) {
	if b := n.raft.Report(id); b != nil {
		r, _ = rpc.Decode[nodeReport](b)
		r.Binary = max(r.Binary, 1) // programs of version 1 do not say it
	}
	return r
}

// shortOfSpace is the number of free bytes below which a node gets no copies that
// another can hold.
const shortOfSpace = 1 << 30

// lowOnDisk reports whether a node has little space left, by its last report.
func (n *Node) lowOnDisk(id uint64) bool {
	var free int64
	if id == n.dir.ID {
		free, _ = disk.Free(n.o.Data)
	} else {
		free = n.reportOf(id).DiskFree
	}
	return free > 0 && free < shortOfSpace
}

// report encodes ownReport for raftnode.
func (n *Node) report() []byte {
	r := n.ownReport()
	if n.up.Load() {
		r.Tasks = n.worker.Tasks()
		r.Tasks = r.Tasks[:min(len(r.Tasks), maxTasks)]
		for i := range r.Tasks {
			t := &r.Tasks[i]
			t.Query = strings.ToValidUTF8(t.Query[:min(len(t.Query), maxQuery)], "")
		}
	}
	return rpc.Encode(r)
}

// residentBytes is the process's resident set, or what the Go runtime holds where the
// system does not report it.
func residentBytes() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() == metrics.KindUint64 {
		return int64(min(s[0].Value.Uint64(), math.MaxInt64))
	}
	return 0
}

func (h *viewHost) Nodes() []sysview.NodeRow {
	var out []sysview.NodeRow
	leader, voters := h.n.raft.Leader(), h.n.raft.Voters()
	for _, m := range h.n.raft.Current().Nodes() {
		r := sysview.NodeRow{ID: m.ID, Name: m.Name, Address: m.Addr, PG: m.PG, HTTP: m.HTTP, Cores: m.Cores, Threads: m.Threads, Leader: m.ID == leader,
			State: "ready", MemoryLimit: m.Memory, Votes: slices.Contains(voters, m.ID), DiskFree: -1}
		if m.Draining {
			r.State = "draining"
		}
		rep := h.n.ownReport()
		if m.ID != h.n.raft.ID() {
			alive, since := h.n.raft.Liveness(m.ID)
			if !alive {
				r.State = "down"
				r.HeartbeatAge = time.Since(since)
			}
			rep = h.n.reportOf(m.ID)
		}
		if rep.DiskFree > 0 {
			r.DiskFree = rep.DiskFree
		}
		r.MemoryUsed, r.Spilled, r.RSS = rep.Used, rep.Spilled, rep.RSS
		r.Damaged, r.Repaired = rep.Damage.Found, rep.Damage.Repaired
		r.Admitted, r.Queued, r.Admissions, r.AdmissionWait = rep.Queue.Holding, rep.Queue.Queued, rep.Queue.Total, rep.Queue.Waited
		r.Models = rep.Models
		r.Version, r.Binary, r.Started, r.DiskUsed = rep.Version, rep.Binary, rep.Started, rep.DiskUsed
		r.ScrubDone, r.ScrubTotal, r.ScrubCompleted = rep.Scrub.Done, rep.Scrub.Total, rep.Scrub.Completed
		out = append(out, r)
	}
	return out
}

func putAll(rows [][]types.Datum, put func(row []types.Datum) error) error {
	for _, r := range rows {
		if err := put(r); err != nil {
			return err
		}
	}
	return nil
}

// ModelRows implements sysview.Host: ml.weights('model'), ml.algorithms.
func (h *viewHost) ModelRows(relation string, v *catalog.ModelVersion, more []types.Datum, put func(row []types.Datum) error) error {
	if rows, ok := families.Rows(relation); ok {
		return putAll(rows, put)
	}
	if v == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "ml.%s takes the name of a model and, if not its default one, a version", relation).
			WithHint("Write SELECT … FROM ml.%s('model').", relation)
	}
	c, release, err := h.n.models.use(h.ctx, v.Algorithm, v)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case c.groups == nil:
	case relation == "model_groups":
		return c.groups.rows(h.ctx, put, aboutGroup, nil)
	case relation == "trials":
		return c.groups.rows(h.ctx, put, trialsOfGroup, nil)
	default:
		return c.groups.rows(h.ctx, put, nil, func(m *model.Model, put func(row []types.Datum) error) error { return rowsOf(m, relation, more, put) })
	}
	return rowsOf(c.scorer.Model(), relation, more, put)
}

// rowsOf produces the rows of a relation that looks into a model: of one part of it, or of a horizon and a confidence.
func rowsOf(m *model.Model, relation string, more []types.Datum, put func(row []types.Datum) error) error {
	part := 0
	if len(more) > 0 {
		n, _ := more[0].(int64)
		part = int(n)
	}
	if f, ok := m.Predictor.(family.Forecaster); ok && relation == "forecast" && len(more) == 2 {
		confidence, _ := more[1].(float64)
		return f.Forecast(part, confidence, put)
	}
	if d, ok := m.Predictor.(family.Describer); ok {
		if rows, ok := d.Describe(relation); ok {
			return putAll(rows, put)
		}
	}
	if l, ok := m.Predictor.(family.Lister); ok {
		if ok, err := l.List(relation, part, put); ok {
			return err
		}
	}
	return pgerr.New(pgerr.WrongObjectType, "models of %s have no %s", m.Algorithm, strings.ReplaceAll(relation, "_", " "))
}
