package advisory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Cluster is the replicated table. Its methods may be called from any goroutine.
type Cluster interface {
	// Lock applies changes and operations as one, and waits until they are applied here.
	// 40003 says that their outcome is unknown; any other error, that nothing was applied
	// nor will be.
	Lock(ctx context.Context, changes []catalog.Change, ops []Op) (Result, error)
	// Locks calls f with this node's copy of the table, which f only reads.
	Locks(f func(t *Table))
	// Changed returns a channel that is closed with the next change of the table, and
	// perhaps before.
	Changed() <-chan struct{}
	// Barrier waits until the copy has all that was applied anywhere before the call.
	Barrier(ctx context.Context) error
	// Renew has a leader that a majority follows know that this node is alive.
	Renew(ctx context.Context) error
	// Alone reports whether this node is the cluster's only member.
	Alone() bool
	ID() uint64
}

// Locks are the advisory locks of the sessions of one node. Their methods and those of
// their holders may be called from any goroutine.
//
// As long as the node is the cluster's only one, the table is in its memory; Share moves
// it into the replicated state before a second node is admitted. From then on the table
// is the same for all nodes. A node that holds locks there renews a lease, and ends the
// sessions that hold some when it could not for lease. The leader ends a node's life in
// the table after Expiry, which is longer (lease.go).
type Locks struct {
	cluster Cluster
	lease   time.Duration

	mu      sync.RWMutex // held for reading by operations, for writing while the table moves
	shared  bool         // the table is the cluster's; for good
	local   sync.Mutex   // for own and moved
	own     *Table       // the table of the only node
	changed chan struct{}

	holders sync.Mutex // for the fields below
	last    uint64     // the number of the last session
	active  map[*Holder]struct{}
	renewed time.Time  // when the last renewal that was confirmed began
	keeping bool       // a goroutine renews the lease
	lapsed  bool       // this life must end before another lock is taken
	ending  sync.Mutex // held while it is
	stop    context.CancelFunc
	ctx     context.Context
	wg      sync.WaitGroup
}

// New returns the locks of a node, which ends its sessions if the lease cannot be
// renewed for so long.
func New(cluster Cluster, lease time.Duration) *Locks {
	l := &Locks{cluster: cluster, lease: lease, own: NewTable(), changed: make(chan struct{}), active: map[*Holder]struct{}{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Close ends the renewal of the lease.
func (l *Locks) Close() {
	l.stop()
	l.wg.Wait()
}

// Holder is a session as a holder of locks.
type Holder struct {
	of  *Locks
	id  uint64
	end func(why *pgerr.Error) // ends the session

	mu    sync.Mutex // held while the session takes a lock, or gives some away
	life  uint64     // as whose it has its locks
	holds map[Key]*counts
	owed  []Op // what is to be done before the next operation: it had no answer

	// What others ask while mu is held: whether it has locks, and whether it waits for one.
	has, waits atomic.Bool
}

// counts is how often a session has a lock, exclusive and shared, for itself and for its
// transaction.
type counts struct{ session, xact [2]int }

func (c *counts) of(shared bool) int {
	i := index(shared)
	return c.session[i] + c.xact[i]
}

func index(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

// Holder returns a new holder without locks, for the session with a key. end is called
// where its locks are lost.
func (l *Locks) Holder(pid uint32, end func(why *pgerr.Error)) *Holder {
	l.holders.Lock()
	defer l.holders.Unlock()
	l.last++
	return &Holder{of: l, id: l.last<<32 | uint64(pid), end: end, holds: map[Key]*counts{}}
}

// Holds reports whether the session has locks. It does not wait while the session does.
func (h *Holder) Holds() bool { return h.has.Load() }

// Waits reports whether the session waits for a lock.
func (h *Holder) Waits() bool { return h.waits.Load() }

func (h *Holder) owner() Owner { return Owner{Gateway: h.of.cluster.ID(), Life: h.life, Session: h.id} }

// Lock acquires a lock, waiting for it unless mode.Try; it returns false where a Try
// finds it taken. limit, if not 0, is lock_timeout.
func (h *Holder) Lock(ctx context.Context, key Key, mode function.AdvisoryMode, limit time.Duration) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.holds[key]
	if c == nil || c.of(mode.Shared) == 0 {
		if err := h.of.enter(ctx, h); err != nil {
			return false, err
		}
		defer func() { h.of.settle(h, len(h.holds)+len(h.owed) > 0) }()
		held, err := h.take(ctx, key, mode, limit)
		if !held {
			return false, err
		}
	}
	if c == nil {
		c = &counts{}
		h.holds[key] = c
		h.has.Store(true)
	}
	if mode.Xact {
		c.xact[index(mode.Shared)]++
	} else {
		c.session[index(mode.Shared)]++
	}
	return true, nil
}

// take acquires a lock in a mode in which the session does not have it; mu is held.
func (h *Holder) take(ctx context.Context, key Key, mode function.AdvisoryMode, limit time.Duration) (bool, error) {
	l := h.of
	var r Result
	for again := 0; ; again++ {
		var err error
		if len(h.holds)+len(h.owed) == 0 {
			h.life = l.life()
		}
		r, err = h.do(ctx, Op{Kind: Take, Owner: h.owner(), Key: key, Shared: mode.Shared, Wait: !mode.Try})
		if err == nil {
			break
		}
		switch code := pgerr.CodeOf(err); {
		case code == pgerr.StatementCompletionUnknown: // it may have the lock, or wait for it
			h.owed = append(h.owed, Op{Kind: Leave, Owner: h.owner(), Key: key}, Op{Kind: Give, Owner: h.owner(), Key: key, Shared: mode.Shared})
		case code == pgerr.AdminShutdown && len(h.holds) == 0 && again < 3:
			// The life is over of which the copy here says that it is the present one.
			if err := l.cluster.Barrier(ctx); err != nil {
				return false, err
			}
			h.owed = nil
			continue
		case code == pgerr.AdminShutdown:
			h.lost()
		}
		return false, err
	}
	if !r.Waiting {
		return r.Held, nil
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		wait, cancel = context.WithTimeoutCause(ctx, limit, pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout"))
	}
	defer cancel()
	err := h.wait(wait, key, mode.Shared)
	if err == nil {
		return true, nil
	}
	if pgerr.Is(err, pgerr.AdminShutdown) {
		h.lost()
		return false, err
	}
	// It may have been granted meanwhile: then the session keeps it.
	give, cancel2 := context.WithTimeout(context.WithoutCancel(ctx), giveTime)
	defer cancel2()
	off := Op{Kind: Leave, Owner: h.owner(), Key: key, Shared: mode.Shared}
	r, gone := h.do(give, off)
	if gone != nil {
		h.owed = append(h.owed, off, Op{Kind: Give, Owner: h.owner(), Key: key, Shared: mode.Shared})
		return false, err
	}
	return r.Held, err
}

// giveTime is how long a session waits for an answer that takes locks from it, before
// that is left to later.
const giveTime = 2 * time.Second

// askEvery is how often a session that waits has its node ask what is committed: a node
// that neither asks nor is sent anything lags behind.
const askEvery = 50 * time.Millisecond

// wait waits until the session, which is in a queue, has the lock.
func (h *Holder) wait(ctx context.Context, key Key, shared bool) error {
	l := h.of
	h.waits.Store(true)
	defer h.waits.Store(false)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		ch, common := l.watch()
		var r Result
		over := false
		l.view(func(t *Table) {
			r = t.State(h.owner(), key, shared)
			over = t.Life(h.of.cluster.ID()) != h.life
		})
		if r.Held {
			return nil
		}
		if over {
			return errOver()
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if common {
				ask, cancel := context.WithTimeout(ctx, time.Second)
				_ = l.cluster.Barrier(ask)
				cancel()
			}
		}
	}
}

// lost ends the session, whose locks others may have; mu is held.
func (h *Holder) lost() {
	clear(h.holds)
	h.has.Store(false)
	h.owed = nil
	h.end(errOver().(*pgerr.Error))
}

// do applies operations, after those that the session owes; mu is held.
func (h *Holder) do(ctx context.Context, ops ...Op) (Result, error) {
	r, err := h.of.do(ctx, append(h.owed[:len(h.owed):len(h.owed)], ops...))
	if err == nil || pgerr.Is(err, pgerr.DeadlockDetected) {
		h.owed = nil
	}
	return r, err
}

// Unlock releases a lock of the session once; it returns false if the session does not
// hold it.
func (h *Holder) Unlock(ctx context.Context, key Key, shared bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.holds[key]
	if c == nil || c.session[index(shared)] == 0 {
		return false
	}
	c.session[index(shared)]--
	h.give(ctx, h.dropped(nil, key, c, shared))
	return true
}

// Release releases all of the session's locks of a scope.
func (h *Holder) Release(ctx context.Context, which Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ops []Op
	for key, c := range h.holds {
		before := [2]bool{c.of(false) > 0, c.of(true) > 0}
		if which != Session {
			c.xact = [2]int{}
		}
		if which != Transaction {
			c.session = [2]int{}
		}
		for i, shared := range []bool{false, true} {
			if before[i] {
				ops = h.dropped(ops, key, c, shared)
			}
		}
	}
	if which == Both && len(ops) > 0 {
		ops = []Op{{Kind: End, Owner: h.owner()}}
	}
	h.give(ctx, ops)
}

// dropped appends the operation for a mode that the session may not have any more.
func (h *Holder) dropped(ops []Op, key Key, c *counts, shared bool) []Op {
	if c.of(shared) == 0 {
		ops = append(ops, Op{Kind: Give, Owner: h.owner(), Key: key, Shared: shared})
	}
	if c.of(false)+c.of(true) == 0 {
		delete(h.holds, key)
		h.has.Store(len(h.holds) > 0)
	}
	return ops
}

// give applies operations that take locks from the session; where there is no answer
// they are owed.
func (h *Holder) give(ctx context.Context, ops []Op) {
	if len(ops)+len(h.owed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveTime)
	defer cancel()
	if _, err := h.do(ctx, ops...); err != nil {
		h.owed = append(h.owed, ops...)
	}
	h.of.settle(h, len(h.holds)+len(h.owed) > 0)
}

// Commit applies changes on the condition that the session still has its locks; checked
// is false where it has none that another node could have been given.
func (h *Holder) Commit(ctx context.Context, changes []catalog.Change) (checked bool, err error) {
	h.mu.Lock()
	has, o := len(h.holds) > 0, h.owner()
	h.mu.Unlock()
	l := h.of
	l.mu.RLock()
	common := l.shared // a node that is not alone and took locks knows
	l.mu.RUnlock()
	if !has || !common {
		return false, nil
	}
	_, err = l.cluster.Lock(ctx, changes, []Op{{Kind: Check, Owner: o}})
	if pgerr.Is(err, pgerr.AdminShutdown) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lost()
	}
	return true, err
}

// Rows returns the holds and requests of all nodes' sessions: where a majority answers,
// of now.
func (l *Locks) Rows(ctx context.Context) (out []Row) {
	if !l.cluster.Alone() {
		ctx, cancel := context.WithTimeout(ctx, giveTime)
		defer cancel()
		_ = l.cluster.Barrier(ctx)
	}
	l.view(func(t *Table) { out = t.Rows() })
	return out
}

// InTable returns how many rows of a table are locked.
func (l *Locks) InTable(table types.OID) (n int) {
	l.view(func(t *Table) {
		for key := range t.locks {
			if key.Table == table {
				n++
			}
		}
	})
	return n
}

// common makes the table the cluster's where this node is not alone in it, and reports
// whether it is; mu is held for reading, and is again when it returns.
func (l *Locks) common() bool {
	if l.shared || l.cluster.Alone() {
		return l.shared
	}
	// A node that was not alone from the start has no locks of its own: Share has moved
	// those of one that was.
	l.mu.RUnlock()
	l.mu.Lock()
	l.shared = true
	l.mu.Unlock()
	l.mu.RLock()
	return true
}

// do applies operations to the table.
func (l *Locks) do(ctx context.Context, ops []Op) (Result, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.common() {
		return l.cluster.Lock(ctx, nil, ops)
	}
	l.local.Lock()
	defer l.local.Unlock()
	if err := l.own.Check(ops); err != nil {
		return Result{}, err
	}
	r, err := l.own.Apply(ops)
	if len(l.own.waits) > 0 || ops[len(ops)-1].Kind != Take {
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return r, err
}

// view calls f with the table.
func (l *Locks) view(f func(*Table)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.common() {
		l.cluster.Locks(f)
		return
	}
	l.local.Lock()
	defer l.local.Unlock()
	f(l.own)
}

// watch returns a channel that is closed with the next change of the table, and whether
// that is the cluster's.
func (l *Locks) watch() (<-chan struct{}, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.common() {
		return l.cluster.Changed(), true
	}
	l.local.Lock()
	defer l.local.Unlock()
	return l.changed, false
}

// life returns the node's life. It does not change while the node is alone.
func (l *Locks) life() (life uint64) {
	self := l.cluster.ID()
	l.cluster.Locks(func(t *Table) { life = t.Life(self) })
	l.local.Lock()
	defer l.local.Unlock()
	l.own.lives[self] = life
	return life
}

// Share moves the locks of the cluster's only node into the replicated table, before a
// second node is admitted.
func (l *Locks) Share(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared {
		return nil
	}
	l.local.Lock()
	defer l.local.Unlock()
	// What an earlier attempt of unknown outcome has left there goes first.
	var ops []Op
	self := l.cluster.ID()
	if err := l.cluster.Barrier(ctx); err != nil {
		return err
	}
	l.cluster.Locks(func(t *Table) {
		for _, r := range t.Rows() {
			if r.Owner.Gateway == self {
				ops = append(ops, Op{Kind: End, Owner: r.Owner})
			}
		}
	})
	im := l.own.Image()
	for _, x := range im.Locks {
		for _, h := range x.Held {
			if h.Exclusive {
				ops = append(ops, Op{Kind: Take, Owner: h.Owner, Key: x.Key})
			}
			if h.Shared {
				ops = append(ops, Op{Kind: Take, Owner: h.Owner, Key: x.Key, Shared: true})
			}
		}
	}
	for _, x := range im.Locks {
		for _, w := range x.Queue {
			ops = append(ops, Op{Kind: Take, Owner: w.Owner, Key: x.Key, Shared: w.Shared, Wait: true})
		}
	}
	if len(ops) > 0 {
		if _, err := l.cluster.Lock(ctx, nil, ops); err != nil {
			return err
		}
	}
	l.shared = true
	l.keep()
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// Scope says how long locks are held.
type Scope uint8

const (
	Transaction Scope = iota // to the end of the transaction
	Session                  // until they are unlocked
	Both
)
