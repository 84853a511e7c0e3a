package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The relations of which each node has some rows. Whoever reads one asks all nodes that are alive for
// theirs, by one call for all relations. A node that does not answer is warned of, and has no rows.

const (
	callRelation = "node.relation"
	callSignal   = "node.signal"
	callForget   = "node.forget"
)

// answerTime is how long a node has to answer.
const answerTime = 3 * time.Second

// relationCall asks for a node's rows of a relation.
type relationCall struct {
	Relation string
	Cols     []int16   // the numbers of the columns that are read
	Role     types.OID // who reads
	Version  uint64    // of the catalog
}

type relationRows struct{ Rows [][]types.Datum }

// reader is who reads a relation.
type reader struct {
	st   *catalog.State
	role types.OID
	here bool // the statement is one of this node's sessions
}

// sees reports whether the reader sees what another role's sessions do.
func (r reader) sees(owner types.OID) bool { return sysview.SeesStatements(r.st, r.role, owner) }

// monitors reports whether the reader sees what the node itself does.
func (r reader) monitors() bool { return r.st.Inherits(r.role, catalog.MonitorOID) }

// parts make a node's rows of the relations, whole ones in the order of the columns.
var parts map[string]func(n *Node, r reader) [][]any

func init() {
	parts = map[string]func(*Node, reader) [][]any{
		"statements":          (*Node).statementRows,
		"statement_history":   (*Node).historyRows,
		"statement_operators": (*Node).operatorRows,
		"pg_stat_statements":  (*Node).callRows,
		"node_history":        (*Node).loadRows,
		"events":              (*Node).eventRows,
		"warnings":            (*Node).warningRows,
		"logs":                (*Node).logRows,
		"task_history":        (*Node).taskRows,
		"transfers":           (*Node).transferRows,
		"insights":            insightRows,
		"resource_groups":     resourceRows,
	}
}

// handleParts registers the calls of this file.
func (n *Node) handleParts() {
	rpc.Handle(n.server, callRelation, func(ctx context.Context, c relationCall) (relationRows, error) {
		if !n.up.Load() {
			return relationRows{}, pgerr.New(pgerr.CannotConnectNow, "the node is starting up")
		}
		st, err := n.stateAt(ctx, c.Version)
		if err != nil {
			return relationRows{}, err
		}
		rows, err := n.partOf(c.Relation, c.Cols, reader{st, c.Role, false})
		return relationRows{rows}, err
	})
	rpc.Handle(n.server, callForget, func(_ context.Context, c forgetCall) (bool, error) {
		n.observe.Forget(c.Role, c.Fingerprint)
		return true, nil
	})
	rpc.Handle(n.server, callSignal, func(_ context.Context, s session.Signal) (bool, error) {
		if !n.up.Load() {
			return false, nil
		}
		return n.engine.Signal(s)
	})
}

// partOf returns this node's rows of a relation, with values for some columns.
func (n *Node) partOf(relation string, cols []int16, r reader) ([][]types.Datum, error) {
	part := parts[relation]
	if part == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "this version has no relation %q", relation)
	}
	list := part(n, r)
	out := make([][]types.Datum, len(list))
	for i, row := range list {
		out[i] = make([]types.Datum, len(row))
		for _, c := range cols {
			if int(c) <= len(row) {
				out[i][c-1] = sysview.Datum(row[c-1])
			}
		}
	}
	return out, nil
}

// NodeRows implements sysview.Host.
func (h *viewHost) NodeRows(relation string, cols []int16) ([][]types.Datum, error) {
	n, r := h.n, reader{h.st, h.of.Role, true}
	own, err := n.partOf(relation, cols, r)
	if err != nil {
		return nil, err
	}
	ids, answers := askAll(h.ctx, n, func(ctx context.Context, id uint64) (relationRows, error) {
		return rpc.Call[relationRows](ctx, n.raft.Peers(), id, callRelation, relationCall{relation, cols, r.role, r.st.Version()})
	})
	var out [][]types.Datum
	self := false
	for i, id := range ids {
		if !self && id > n.dir.ID {
			out, self = append(out, own...), true
		}
		if err := answers[i].err; err != nil {
			if w, ok := h.Host.(interface{ Warning(string) }); ok {
				w.Warning(fmt.Sprintf("node %s did not answer: %s", n.nameOf(id), pgerr.From(err).Message))
			}
			continue
		}
		out = append(out, answers[i].reply.Rows...)
	}
	if !self {
		out = append(out, own...)
	}
	return out, nil
}

type answer[T any] struct {
	reply T
	err   error
	down  bool // it was not asked
}

// askAll calls all other nodes at once and returns their ids, ascending, and what they answered. One
// that is down is an error.
func askAll[T any](ctx context.Context, n *Node, call func(ctx context.Context, id uint64) (T, error)) (ids []uint64, out []answer[T]) {
	for _, m := range n.raft.Current().Nodes() {
		if m.ID != n.dir.ID {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	out = make([]answer[T], len(ids))
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var wg sync.WaitGroup
	for i, id := range ids {
		if alive, _ := n.raft.Liveness(id); !alive {
			out[i].down, out[i].err = true, pgerr.New(pgerr.CannotConnectNow, "it is down")
			continue
		}
		wg.Go(func() { out[i].reply, out[i].err = call(ctx, id) })
	}
	wg.Wait()
	return ids, out
}

// nameOf is a node's name; its number for one that has left.
func (n *Node) nameOf(id uint64) string {
	if m := n.raft.Current().Node(id); m != nil {
		return m.Name
	}
	return fmt.Sprintf("%x", id)
}

// signal implements coord.Config.Elsewhere.
func (n *Node) signal(s session.Signal) (found bool, err error) {
	ids, answers := askAll(context.Background(), n, func(ctx context.Context, id uint64) (bool, error) {
		return rpc.Call[bool](ctx, n.raft.Peers(), id, callSignal, s)
	})
	for i, a := range answers {
		found = found || a.reply
		switch {
		case pgerr.Is(a.err, pgerr.InsufficientPrivilege):
			err = a.err
		case a.err != nil && !a.down && err == nil:
			err = pgerr.Wrap(pgerr.CannotConnectNow, a.err, "node %s did not answer", n.nameOf(ids[i]))
		}
	}
	if found {
		return true, nil
	}
	return false, err
}

// forget implements coord.Config.Forget. A node that does not answer is an error.
func (n *Node) forget(role types.OID, fingerprint int64) error {
	ids, answers := askAll(context.Background(), n, func(ctx context.Context, id uint64) (bool, error) {
		return rpc.Call[bool](ctx, n.raft.Peers(), id, callForget, forgetCall{role, fingerprint})
	})
	n.observe.Forget(role, fingerprint)
	for i, a := range answers {
		if a.err != nil {
			return pgerr.Wrap(pgerr.CannotConnectNow, a.err, "node %s still has its counts", n.nameOf(ids[i]))
		}
	}
	return nil
}

// forgetCall forgets the counts of a role's statements of a fingerprint, 0 being all of them.
type forgetCall struct {
	Role        types.OID
	Fingerprint int64
}

// statementRows are the statements that run or wait.
func (n *Node) statementRows(r reader) (out [][]any) {
	now := time.Now()
	for _, s := range n.engine.Sessions() {
		i := s.Info()
		if i.Activity.State != "active" {
			continue
		}
		state, query, client := "running", any(i.Activity.Shown(observe.MaxText)), any(i.Remote)
		var queued, progress any
		if i.QueuePlace > 0 {
			state, queued = "queued", i.QueuePlace
		}
		if p := n.worker.Progress(i.ID); p >= 0 {
			progress = p
		}
		if !r.sees(i.User) {
			query, client = sysview.Hidden, nil
		}
		out = append(out, []any{n.o.Name, int32(i.PID), textOrNull(i.ID), i.UserName, i.Application, client, state, queued, i.Activity.QueryStart,
			now.Sub(i.Activity.QueryStart).Seconds(), query, i.Memory, i.Spilled, i.Rows, progress})
	}
	return out
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// historyRows are the statements that have ended.
func (n *Node) historyRows(r reader) (out [][]any) {
	n.observe.Gather()
	for _, s := range n.observe.History.All() {
		query, code, text := any(s.Text), textOrNull(s.Code), textOrNull(s.Error)
		if !r.sees(s.User) {
			query = sysview.Hidden
			if text != nil {
				text = sysview.Hidden
			}
		}
		out = append(out, []any{s.ID, n.o.Name, int32(s.PID), s.UserName, s.Application, s.Start, s.Took.Seconds(), query, s.Fingerprint, textOrNull(s.Tag), s.Rows,
			code, text, millis(s.Planning), s.Memory, s.Spilled, s.Exchanged})
	}
	slices.SortStableFunc(out, func(a, b []any) int { return a[5].(time.Time).Compare(b[5].(time.Time)) })
	return out
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }

// operatorRows are the operators of the statements that run, and of slow ones of the history.
func (n *Node) operatorRows(r reader) (out [][]any) {
	add := func(id string, owner types.OID, list []observe.Operator) {
		for _, o := range list {
			var node, parent, rows, seconds, memory, spilled, sent any
			if o.Node != 0 {
				node, rows, seconds, memory, spilled, sent = n.nameOf(o.Node), o.Rows, o.Took.Seconds(), o.Memory, o.Spilled, o.Sent
			}
			if o.Parent >= 0 {
				parent = o.Parent
			}
			detail := textOrNull(strings.Join(o.Detail, "\n"))
			if detail != nil && !r.sees(owner) {
				detail = sysview.Hidden
			}
			out = append(out, []any{id, node, o.Stage, o.Number, parent, o.Name, detail, o.Estimated, rows, seconds, memory, spilled, sent})
		}
	}
	n.observe.Gather()
	for _, s := range n.observe.History.All() {
		add(s.ID, s.User, s.Operators)
	}
	for _, s := range n.engine.Sessions() {
		if i := s.Info(); i.Activity.State == "active" && i.ID != "" {
			add(i.ID, i.User, n.worker.Operators(i.ID))
		}
	}
	return out
}

// insightRows are what could be better of the statements that have ended.
func insightRows(n *Node, r reader) (out [][]any) {
	n.observe.Gather()
	for _, in := range observe.Insights(n.observe.History.All()) {
		query, detail := any(in.Text), any(in.Detail)
		if !r.sees(in.User) {
			query, detail = sysview.Hidden, sysview.Hidden
		}
		out = append(out, []any{n.o.Name, in.Kind, in.UserName, int64(in.Times), in.Last, textOrNull(in.ID), query, detail, in.Hint, in.Fingerprint})
	}
	return out
}

// callRows are the counts by fingerprint, which the reader's node adds up.
func (n *Node) callRows(r reader) (out [][]any) {
	n.observe.Gather()
	for _, c := range n.observe.Calls.All() {
		id, query := any(c.Fingerprint), any(c.Text)
		if !r.sees(c.User) {
			id, query = nil, sysview.Hidden
		}
		row := []any{c.User, catalog.DatabaseOID, true, id, query}
		for _, t := range []observe.Times{c.Plan, c.Exec} {
			row = append(row, int64(t.N), t.Total, t.Min, t.Max, t.Mean(), t.Deviation())
		}
		out = append(out, append(row, c.Rows, c.Spilled))
	}
	return out
}

// taskRows are what threads have done. A slot is a row of a picture of them: what is in one does not overlap.
func (n *Node) taskRows(reader) (out [][]any) {
	list := n.observe.Tasks.All()
	slices.SortStableFunc(list, func(a, b *observe.Task) int { return a.Start.Compare(b.Start) })
	var ends []time.Time
	for _, t := range list {
		slot := slices.IndexFunc(ends, func(end time.Time) bool { return !end.After(t.Start) })
		if slot < 0 {
			slot = len(ends)
			ends = append(ends, time.Time{})
		}
		ends[slot] = t.End
		out = append(out, []any{n.o.Name, slot, t.Statement, t.Stage, t.Kind, t.Start, t.End, t.Rows, t.Bytes})
	}
	return out
}

// transferRows are what statements have sent to other nodes, and send.
func (n *Node) transferRows(reader) (out [][]any) {
	for _, list := range [][]*observe.Transfer{n.observe.Transfers.All(), n.worker.Transfers()} {
		for _, t := range list {
			out = append(out, []any{t.Statement, n.o.Name, n.nameOf(t.To), t.Bytes, t.Batches})
		}
	}
	return out
}

// resourceRows are what resource groups may use on this node, and use: all for those who monitor, else the reader's own.
func resourceRows(n *Node, r reader) (out [][]any) {
	own := catalog.ResourceGroupOf(r.st, r.role)
	for _, u := range n.resources.Usage() {
		if !r.monitors() && (own == nil || own.OID != u.OID) {
			continue
		}
		roles := []string{}
		for _, x := range r.st.Roles() {
			if x.ResourceGroup == u.OID {
				roles = append(roles, x.Name)
			}
		}
		priority := "normal"
		if u.LowTraining {
			priority = "low"
		}
		var queue any
		if u.Queue >= 0 {
			queue = u.Queue
		}
		out = append(out, []any{n.o.Name, u.Name, roles, positive(u.Memory), u.Used, u.Peak, u.Spilled, positive(u.Threads), positive(u.Concurrency), u.Running, queue, u.Queued,
			positive(u.Rate), u.Delayed, limitOf(u.StatementTimeout), limitOf(u.IdleTimeout), limitOf(u.IdleInTransaction), priority, u.Admitted, u.Refused, u.Waited.Seconds()})
	}
	return out
}

// positive is NULL for no limit.
func positive(n int64) any {
	if n <= 0 {
		return nil
	}
	return n
}

// limitOf is an interval of so many milliseconds, NULL for none.
func limitOf(ms int64) any {
	if ms <= 0 {
		return nil
	}
	return time.Duration(ms) * time.Millisecond
}
