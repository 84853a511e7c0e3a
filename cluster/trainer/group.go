package trainer

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Group is the driver's handle of a training's parts on its members. It implements
// train.Laned. It is for one goroutine, but for its lanes, and must be closed.
type Group struct {
	t       *Trainer
	name    string
	members []uint64
	rows    *train.Distribution
	tasks   atomic.Int64 // so far
	own     *part
	ctx     context.Context // ends when a member is lost, and by Close
	cancel  context.CancelCauseFunc
	wg      sync.WaitGroup
}

// Open makes a part on this node and on those of the others that answer. name must be
// unique: a second attempt needs another. rescan says that the query may be read a
// second time (train.WorkerConfig). What the parts use is of the role's resource group.
func (t *Trainer) Open(ctx context.Context, name string, job *train.Job, others []uint64, rescan bool, role types.OID) (*Group, error) {
	return t.open(ctx, openMsg{Name: name, Job: job.Encode(), Members: t.members(others), Rescan: rescan, Role: role})
}

// members returns this node and those of the others that are alive.
func (t *Trainer) members(others []uint64) []uint64 {
	list := []uint64{t.cfg.Self}
	for _, id := range others {
		if id != t.cfg.Self && t.alive(id) {
			list = append(list, id)
		}
	}
	return list
}

func (t *Trainer) open(ctx context.Context, m openMsg) (_ *Group, err error) {
	g := &Group{t: t, name: m.Name, members: m.Members}
	// The parts live until Close; ctx is for the opening alone.
	g.ctx, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if g.own, err = t.enter(&m); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { g.cancel(context.Cause(ctx)) })
	defer stop()
	ready := make(chan error, len(g.members))
	for i, id := range g.members[1:] {
		m.Self = i + 1
		ticket := rpc.Encode(m)
		g.wg.Go(func() { g.hold(id, ticket, ready) })
	}
	for range g.members[1:] {
		if err := <-ready; err != nil {
			return nil, g.lost(err)
		}
	}
	if len(g.members) > 1 {
		g.wg.Go(g.watch)
	}
	return g, nil
}

func (t *Trainer) alive(id uint64) bool { return t.cfg.Alive == nil || t.cfg.Alive(id) }

// hold makes the call that keeps a member's part open.
func (g *Group) hold(id uint64, ticket []byte, ready chan<- error) {
	recv, err := g.t.cfg.Peers.Get(g.ctx, id, callPart, ticket)
	if err == nil {
		_, err = recv()
	}
	ready <- err
	if err != nil {
		return
	}
	_, err = recv() // until the part ends
	g.cancel(pgerr.Wrap(pgerr.ConnectionFailure, err, "a node was lost while it trained"))
}

// watch ends the group when a member counts as dead: the connection to a silent node
// does not fail by itself.
func (g *Group) watch() {
	for {
		var changed <-chan struct{}
		if g.t.cfg.Changed != nil {
			changed = g.t.cfg.Changed()
		}
		for _, id := range g.members {
			if !g.t.alive(id) {
				g.cancel(pgerr.New(pgerr.ConnectionFailure, "a node was lost while it trained"))
				return
			}
		}
		select {
		case <-changed:
		case <-g.ctx.Done():
			return
		}
	}
}

// Name returns the name of the group's parts in plan.Collect.
func (g *Group) Name() string { return g.name }

// Members returns the nodes of the group, the driver first.
func (g *Group) Members() []uint64 { return g.members }

// lost returns the error that ended the group where there is one, rather than a call's.
func (g *Group) lost(err error) error {
	if g.ctx.Err() != nil && err != nil {
		return context.Cause(g.ctx)
	}
	return err
}

// each calls f for all members at once.
func (g *Group) each(ctx context.Context, f func(ctx context.Context, i int, id uint64) error) error {
	return g.within(ctx, func(ctx context.Context) error {
		return parallel(ctx, len(g.members), func(ctx context.Context, i int) error { return f(ctx, i, g.members[i]) })
	})
}

// within calls f with a context that ends with the group, and keeps the driver's own
// part from being freed meanwhile, as when its node is closing.
func (g *Group) within(ctx context.Context, f func(ctx context.Context) error) error {
	_, ctx, done, err := g.t.use(ctx, g.name)
	if err != nil {
		return g.lost(err)
	}
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	defer stop()
	return g.lost(f(ctx))
}

// Distribute ends the dataset stage: it counts the rows, assigns each leaf to an owner
// and has the rows sent there. It returns the number of rows.
func (g *Group) Distribute(ctx context.Context) (rows int64, err error) {
	return g.DistributeFrom(ctx, 0)
}

// DistributeFrom is Distribute with the leaves of member i at member i + first.
func (g *Group) DistributeFrom(ctx context.Context, first int) (rows int64, err error) {
	if g.rows, err = train.Distribute(ctx, g.own.w.Job(), g, len(g.members), first); err != nil {
		return 0, err
	}
	return g.rows.Rows, nil
}

// Rescan reports, after Distribute, whether the query must be read once more because
// not all members could hold its rows.
func (g *Group) Rescan() bool { return g.rows != nil && g.rows.Rescan }

// DistributeRescan ends the stage when the query has been read once more.
func (g *Group) DistributeRescan(ctx context.Context) error { return g.rows.AfterReading(ctx) }

// Home implements train.Reducer.
func (g *Group) Home() *family.Node { return g.own.w.Home() }

// Reduce implements train.Reducer.
func (g *Group) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	return g.reduce(ctx, t, 0)
}

// lane is the group for a trial beside others.
type lane struct {
	*Group
	number int
}

// Lane implements train.Laned.
func (g *Group) Lane(number int) train.Reducer { return &lane{g, number} }

// Home implements train.Reducer.
func (l *lane) Home() *family.Node { return l.own.w.Lane(l.number).Home() }

// Reduce implements train.Reducer.
func (l *lane) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	return l.reduce(ctx, t, l.number)
}

func (g *Group) reduce(ctx context.Context, t train.Task, lane int) (m family.Message, err error) {
	t.Iter = train.InLane(lane, int(g.tasks.Add(1)))
	var who []int
	owners := g.own.w.Owners()
	for i := range g.members {
		if t.Needs(i, owners) {
			who = append(who, i)
		}
	}
	err = g.within(ctx, func(ctx context.Context) error {
		r, err := g.own.send(ctx, t, who)
		if err == nil {
			m, err = r.part.Result()
		}
		return err
	})
	if err == nil && m == nil {
		err = pgerr.Internal("a training task gave no result")
	}
	return m, err
}

// Close closes all parts. It may be called twice.
func (g *Group) Close() {
	g.cancel(context.Canceled)
	if g.own != nil {
		g.t.drop(g.own)
	}
	g.wg.Wait()
}
