package flow

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// window is how many bytes an inbox holds where nobody says otherwise.
const window = 4 << 20

// Options describe a run to its exchange.
type Options struct {
	// Run names the run in the cluster: a statement's attempt to run a plan.
	Run string
	// Stages are the plan's stages. The roots of those that do not run on this
	// node may be missing.
	Stages []plan.Stage
	// Nodes take part; the first is the gateway.
	Nodes []uint64
	// Window bounds the bytes of an inbox; 0 is window.
	Window int64
	Pool   *mem.Pool // the statement's on this node
}

// Flow is the exchange of one run as this node's tasks see it.
type Flow struct {
	hub    *Hub
	o      Options
	self   int // number of this node in the run
	charge *charge
	boxes  map[source]*inbox
	merged map[int]bool // stages whose senders are read one by one, to be merged
	open   func(node uint64, head []byte) (*rpc.Put, error)
	cancel context.CancelFunc
	began  time.Time

	mu   sync.Mutex
	sent map[uint64]*sent // to each node
	shut bool
}

// source names an inbox: a stage, and the number of a sender or -1 for all.
type source struct{ stage, sender int }

// Open joins a run. Streams that this node sends end with ctx at the latest.
func (h *Hub) Open(ctx context.Context, o Options) (*Flow, error) {
	f := &Flow{hub: h, o: o, self: slices.Index(o.Nodes, h.self), boxes: map[source]*inbox{}, merged: map[int]bool{}, began: time.Now(), sent: map[uint64]*sent{}}
	if f.self < 0 {
		return nil, pgerr.Internal("node %d has no part in run %s", h.self, o.Run)
	}
	if f.o.Window <= 0 {
		f.o.Window = window
	}
	f.charge = &charge{acct: o.Pool.Account("exchange", false)}
	for i := range o.Stages {
		if s := &o.Stages[i]; s.Root != nil && (s.Where == plan.OnAll || f.self == 0) {
			if err := f.receives(s.Root); err != nil {
				f.charge.close()
				return nil, err
			}
		}
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.open = func(node uint64, head []byte) (*rpc.Put, error) { return h.peers.Put(ctx, node, callSend, head) }
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.flows[o.Run] != nil {
		f.cancel()
		f.charge.close()
		return nil, pgerr.Internal("run %s is open already", o.Run)
	}
	h.flows[o.Run] = f
	return f, nil
}

// receives makes the inboxes of a stage's Receives.
func (f *Flow) receives(n plan.Node) error {
	if r, ok := n.(*plan.Receive); ok {
		from, err := f.stage(r.From)
		if err != nil {
			return err
		}
		dts := make([]arrow.DataType, len(r.Cols))
		for i, c := range r.Cols {
			dts[i] = c.Type.Arrow()
		}
		senders := f.tasks(from)
		if len(r.Merge) == 0 {
			f.boxes[source{int(r.From), -1}] = newInbox(dts, f.o.Window, senders, f.charge)
			return nil
		}
		f.merged[int(r.From)] = true
		for s := range senders {
			f.boxes[source{int(r.From), s}] = newInbox(dts, f.o.Window, 1, f.charge)
		}
		return nil
	}
	for _, c := range n.Children() {
		if err := f.receives(c); err != nil {
			return err
		}
	}
	return nil
}

// inbox returns the inbox for the rows of a sender; nil if they are not read here.
func (f *Flow) inbox(stage, sender int) *inbox {
	if !f.merged[stage] {
		sender = -1
	}
	return f.boxes[source{stage, sender}]
}

func (f *Flow) stage(id plan.StageID) (*plan.Stage, error) {
	for i := range f.o.Stages {
		if f.o.Stages[i].ID == id.Sender() {
			return &f.o.Stages[i], nil
		}
	}
	return nil, pgerr.Internal("there is no stage %d", id)
}

// tasks returns on how many nodes a stage runs.
func (f *Flow) tasks(s *plan.Stage) int {
	if s.Where == plan.OnGateway {
		return 1
	}
	return len(f.o.Nodes)
}

// order returns the order in which n tasks are numbered as receivers. For a hash
// exchange it is that of the nodes' ids, the same whichever node is the gateway, since
// distributed tables are placed by it (catalog.Relation.DistributionKey).
func (f *Flow) order(kind plan.ExchangeKind, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	if kind == plan.HashBy {
		slices.SortFunc(out, func(a, b int) int { return cmp.Compare(f.o.Nodes[a], f.o.Nodes[b]) })
	}
	return out
}

// Writer implements op.Exchange.
func (f *Flow) Writer(_ context.Context, stage *plan.Stage) (op.ExchangeWriter, error) {
	if stage.Out == nil {
		return nil, pgerr.Internal("stage %d sends to nobody", stage.ID)
	}
	to, err := f.stage(stage.Out.To)
	if err != nil {
		return nil, err
	}
	head := rpc.Encode(header{Run: f.o.Run, Stage: int(stage.ID), Sender: f.self})
	w := &writer{}
	for _, d := range f.order(stage.Out.Kind, f.tasks(to)) {
		if d != f.self {
			w.to = append(w.to, &stream{node: f.o.Nodes[d], head: head, open: f.open, sent: &w.sent, all: f.sentTo(f.o.Nodes[d])})
			continue
		}
		box := f.inbox(int(stage.ID), f.self)
		if box == nil {
			return nil, pgerr.Internal("stage %d is not read by stage %d", stage.ID, to.ID)
		}
		w.to = append(w.to, box)
	}
	return w, nil
}

// Readers implements op.Exchange.
func (f *Flow) Readers(_ context.Context, r *plan.Receive) ([]op.BatchReader, error) {
	from, err := f.stage(r.From)
	if err != nil {
		return nil, err
	}
	n := 1
	if f.merged[int(r.From)] {
		n = f.tasks(from)
	}
	out := make([]op.BatchReader, n)
	for i := range out {
		box := f.inbox(int(r.From), i)
		if box == nil {
			return nil, pgerr.Internal("stage %d is not read here", r.From)
		}
		out[i] = box
	}
	return out, nil
}

// Drained waits until everything sent to this node has arrived and was read or dropped.
// Tasks may finish earlier: a join with no rows on one side needs none of the other. A
// node that left the run then would look lost to those that still send.
func (f *Flow) Drained(ctx context.Context) error {
	for _, b := range f.boxes {
		if err := b.drained(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close leaves the run: waiting batches are dropped, streams still being sent are cut.
// The node's tasks must be done. It may be called twice.
func (f *Flow) Close() error {
	f.hub.mu.Lock()
	if f.hub.flows[f.o.Run] == f {
		delete(f.hub.flows, f.o.Run)
	}
	f.hub.mu.Unlock()
	f.cancel()
	for _, b := range f.boxes {
		b.Close()
	}
	f.charge.close()
	f.mu.Lock()
	shut := f.shut
	f.shut = true
	f.mu.Unlock()
	if f.hub.kept != nil && !shut {
		f.hub.kept.Transfers.Add(f.transfers()...)
	}
	return nil
}

// sentTo counts what is sent to a node.
func (f *Flow) sentTo(node uint64) *sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sent[node]
	if s == nil {
		s = &sent{}
		f.sent[node] = s
	}
	return s
}

// transfers are what was sent to each node so far, by the nodes' places in the run.
func (f *Flow) transfers() (out []*observe.Transfer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	statement, _, _ := strings.Cut(f.o.Run, "/")
	for _, n := range f.o.Nodes {
		if s := f.sent[n]; s != nil && s.messages.Load() > 0 {
			out = append(out, &observe.Transfer{Statement: statement, To: n, At: f.began, Bytes: s.bytes.Load(), Batches: s.messages.Load()})
		}
	}
	return out
}

// Transfers are what the exchanges that are open have sent to other nodes so far.
func (h *Hub) Transfers() (out []*observe.Transfer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(h.flows)) {
		out = append(out, h.flows[run].transfers()...)
	}
	return out
}

var _ op.Exchange = (*Flow)(nil)
