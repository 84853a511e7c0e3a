package txn

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Barrier waits until Current holds all that was committed anywhere before
	// the call (a linearizable read).
	Barrier(ctx context.Context) error
}

// Historian is a Catalog that knows the past.
type Historian interface {
	// Past returns the state of a time, as it may be read now. hold is called with its version before its files are looked
	// for.
	Past(ctx context.Context, at time.Time, hold func(version uint64)) (*catalog.State, error)
}

// Past returns the state of a time of a catalog.
func Past(ctx context.Context, c Catalog, at time.Time, hold func(version uint64)) (*catalog.State, error) {
	h, ok := c.(Historian)
	if !ok {
		return nil, pgerr.Unsupported("reading the past is not supported here")
	}
	if err := c.Barrier(ctx); err != nil {
		return nil, err
	}
	return h.Past(ctx, at, hold)
}

// Isolation is how a transaction picks its base state.
type Isolation uint8

const (
	ReadCommitted  Isolation = iota // each statement reads the newest state
	RepeatableRead                  // all statements read that of the first
)

// IsolationOf reads the name of a level.
func IsolationOf(level string) Isolation {
	switch level {
	case "repeatable read", "serializable":
		return RepeatableRead
	}
	return ReadCommitted
}

// Txn is a transaction. It is for its session's goroutine.
type Txn struct {
	Explicit  bool // between BEGIN and COMMIT
	Failed    bool
	Ended     bool // committed or rolled back
	ReadOnly  bool
	Isolation Isolation
	Start     time.Time
	ID        uint64
	// AsOf is the time of the past that the transaction reads, zero for now; nil for now always.
	AsOf func() (time.Time, error)
	// Turns is where it waits for others of its node, until its End; nil for nowhere.
	Turns *Turns

	pin     *Pin
	at      time.Time      // of the past that base is; zero for none
	base    *catalog.State // nil until the first statement
	view    *catalog.State // base with changes; nil when it must be made anew
	changes []catalog.Change
	placed  []placed
	saves   []savepoint
	// created are the segment files this transaction wrote, to be deleted if it
	// does not commit.
	created []*catalog.Segment
	undo    []func() // functions that a rollback calls, newest last
	exports int      // snapshots, so far

	shortLived []types.OID // tables that the commit drops

	turns []uint64 // the keys that it writes (Turns)
	waits *turn    // that it waits for; of Turns.mu
}

// New begins a transaction whose oldest state pin is to hold; nil for none.
func New(id uint64, pin *Pin) *Txn { return &Txn{ID: id, Start: time.Now(), pin: pin} }

// Begin returns the view of the catalog for a new statement.
func (t *Txn) Begin(ctx context.Context, c Catalog) (*catalog.State, error) {
	at, err := t.asOf()
	if err != nil {
		return nil, err
	}
	if !at.IsZero() {
		if len(t.changes) > 0 {
			return nil, pgerr.New(pgerr.ActiveSQLTransaction, "a transaction that has written cannot read the past")
		}
		if t.base != nil && t.Isolation != ReadCommitted && t.at.Equal(at) {
			return t.State()
		}
		past, err := Past(ctx, c, at, t.pin.hold)
		if err != nil {
			return nil, err
		}
		if t.at = at; t.base != past {
			t.base, t.view = past, nil
		}
		return t.State()
	}
	if t.base == nil || t.Isolation == ReadCommitted || !t.at.IsZero() {
		t.at = time.Time{}
		if err := c.Barrier(ctx); err != nil {
			return nil, err
		}
		t.pin.hold(c.Current().Version()) // before the state is taken
		if now := c.Current(); t.base != now {
			t.base, t.view = now, nil
		}
	}
	return t.State()
}

func (t *Txn) asOf() (time.Time, error) {
	if t.AsOf == nil {
		return time.Time{}, nil
	}
	return t.AsOf()
}

// Hold keeps the files of a state that the transaction reads from being removed.
func (t *Txn) Hold(version uint64) { t.pin.hold(version) }

// Begun reports whether the transaction has read a state.
func (t *Txn) Begun() bool { return t.base != nil }

// State returns the view without moving to a newer base. The transaction must have
// begun.
func (t *Txn) State() (*catalog.State, error) {
	if t.view == nil && len(t.changes) == 0 {
		t.view = t.base
	}
	if t.view == nil {
		v, err := t.base.Apply(t.changes)
		if err != nil {
			return nil, err
		}
		t.view = v
	}
	return t.view, nil
}

// Known returns the view if it has been made already; else nil.
func (t *Txn) Known() *catalog.State { return t.view }

// Peek returns the view with more changes, without keeping them.
func (t *Txn) Peek(changes []catalog.Change) (*catalog.State, error) {
	st, err := t.State()
	if err != nil {
		return nil, err
	}
	return st.Apply(changes)
}

// Add appends changes and returns the new view; on an error nothing has changed.
func (t *Txn) Add(changes ...catalog.Change) (*catalog.State, error) {
	v, err := t.Peek(changes)
	if err != nil {
		return nil, err
	}
	t.place(changes)
	t.changes = append(t.changes, changes...)
	t.view = v
	return v, nil
}

// Put appends changes that are known to apply to the current view. The new view is made
// on demand, which saves it for a transaction's last statement.
func (t *Txn) Put(changes ...catalog.Change) {
	if len(changes) > 0 {
		t.place(changes)
		t.changes, t.view = append(t.changes, changes...), nil
	}
}

// Changes are those so far, in order.
func (t *Txn) Changes() []catalog.Change { return t.changes }

// Wrote records segments that the transaction wrote.
func (t *Txn) Wrote(segs ...*catalog.Segment) {
	for _, g := range segs {
		if g.Inline == nil {
			t.created = append(t.created, g)
		}
	}
}

// Created are the segments with files that the transaction made.
func (t *Txn) Created() []*catalog.Segment { return t.created }

// ForgetCreated leaves these files to the sweep of package repl: the transaction may
// still be committed.
func (t *Txn) ForgetCreated() { t.created = nil }

// Writable returns an error in a read-only transaction. A nil Txn is writable.
func (t *Txn) Writable(tag string) error {
	if t != nil && t.ReadOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag)
	}
	if t != nil {
		at, err := t.asOf()
		if err != nil {
			return err
		}
		if !at.IsZero() || !t.at.IsZero() {
			return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag).
				WithDetail("The transaction reads the past: tributary.as_of is set.")
		}
	}
	return nil
}

// OnRollback adds something to do when the transaction is rolled back.
func (t *Txn) OnRollback(f func()) { t.undo = append(t.undo, f) }

// RolledBack calls the functions of OnRollback, newest first.
func (t *Txn) RolledBack() {
	for _, f := range slices.Backward(t.undo) {
		f()
	}
}

// DropAtCommit marks a table that the transaction made as one that its commit drops.
func (t *Txn) DropAtCommit(table types.OID) { t.shortLived = append(t.shortLived, table) }

// ShortLived are the tables that the commit drops. A rollback to a savepoint may have taken some back.
func (t *Txn) ShortLived() []types.OID { return t.shortLived }

// Mark returns the current position, for RollbackTo to undo a failed statement.
func (t *Txn) Mark() int { return len(t.changes) }

// RollbackTo undoes the changes since a mark.
func (t *Txn) RollbackTo(mark int) {
	if len(t.changes) > mark {
		clear(t.changes[mark:])
		t.changes, t.view = t.changes[:mark], nil
		t.placed = slices.DeleteFunc(t.placed, func(p placed) bool { return p.mark >= mark })
	}
}

// placed is a sequence that the transaction restarted, and where in its changes.
type placed struct {
	sequence types.OID
	mark     int
}

func (t *Txn) place(changes []catalog.Change) {
	for i, c := range changes {
		if c, ok := c.(*catalog.SetSequence); ok && !t.Restarted(c.OID) {
			t.placed = append(t.placed, placed{c.OID, len(t.changes) + i})
		}
	}
}

// Restarted reports whether the transaction's changes include a sequence's position, which others
// see when it commits.
func (t *Txn) Restarted(sequence types.OID) bool {
	return slices.ContainsFunc(t.placed, func(p placed) bool { return p.sequence == sequence })
}

type savepoint struct {
	name     string
	mark     int
	readOnly bool
	undo     func()
}

// Pin holds the oldest version that a session's transaction reads: a cursor may still
// read it after later statements have moved on.
type Pin struct{ version atomic.Uint64 }

func (p *Pin) hold(version uint64) {
	for p != nil {
		if had := p.version.Load(); had != 0 && had <= version || p.version.CompareAndSwap(had, version) {
			return
		}
	}
}

// Free drops the pin.
func (p *Pin) Free() { p.version.Store(0) }
