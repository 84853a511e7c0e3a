package coord

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Meta is the replicated catalog, as a gateway uses it. Its methods may be
// called from any goroutine.
type Meta interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed gives a channel that is closed when Current next changes.
	Changed() <-chan struct{}
	// Barrier waits until Current holds all that was committed anywhere before
	// the call (a linearizable read).
	Barrier(ctx context.Context) error
	// Leaderless tells that Barrier will hardly succeed now.
	Leaderless() bool
	// Commit proposes the changes as one and waits until they are applied here.
	// 40003 says that it is not known what became of them; any other error, that
	// nothing was applied nor will be. Once they are proposed the end of ctx ends
	// the wait only after a while.
	Commit(ctx context.Context, changes []catalog.Change) error
	// AllocOIDs reserves n object identifiers and gives the first.
	AllocOIDs(ctx context.Context, n int) (types.OID, error)
	// Advance takes up to n values off a sequence, at least one.
	Advance(ctx context.Context, sequence types.OID, n int64) (catalog.SeqRange, error)
}

// isolation is how a transaction picks its base state.
type isolation uint8

const (
	readCommitted isolation = iota // each statement the newest
	snapshot                       // all statements the first's
)

// txn is a transaction. It is for the session's goroutine.
type txn struct {
	explicit bool // between BEGIN and COMMIT
	failed   bool
	readOnly bool
	iso      isolation
	start    time.Time
	xid      uint64
	exports  int // snapshots, so far

	statements int     // begun
	only       *Portal // see syncAgain

	base    *catalog.State // nil until the first statement
	view    *catalog.State // base with changes; nil when it must be made anew
	changes []catalog.Change
	saves   []savepoint
	foreign foreignWork // of the statement in progress
	// deferred are checks of foreign keys put off until the commit, and modes
	// what SET CONSTRAINTS said of them.
	deferred []*written
	modes    constraintModes
	// created are the segment files this transaction wrote, to be deleted if it
	// does not commit.
	created []*catalog.Segment
	audit   [][]slog.Attr // records of what it did, which wait for the outcome
	// pin says which version is the oldest the transaction may read, before it
	// takes the state: what that holds is not collected meanwhile.
	pin func(version uint64)
	// onCommit and onRollback run after the outcome, newest last.
	onCommit, onRollback []func()
}

type savepoint struct {
	name     string
	changes  int
	settings int
	deferred int
	audit    int
	declared int // cursors until then
}

// begin gives a statement its view of the catalog.
func (t *txn) begin(ctx context.Context, m Meta) (*catalog.State, error) {
	if t.base == nil || t.iso == readCommitted {
		if err := m.Barrier(ctx); err != nil {
			return nil, err
		}
		if t.pin != nil {
			t.pin(m.Current().Version())
		}
		if now := m.Current(); t.base != now {
			t.base, t.view = now, nil
		}
	}
	return t.state()
}

// state is the view without moving to a newer base.
func (t *txn) state() (*catalog.State, error) {
	if t.view == nil {
		v, err := t.base.Apply(t.changes)
		if err != nil {
			return nil, err
		}
		t.view = v
	}
	return t.view, nil
}

// add appends changes and gives the new view, or leaves all as it was.
func (t *txn) add(changes ...catalog.Change) (*catalog.State, error) {
	old, err := t.state()
	if err != nil {
		return nil, err
	}
	v, err := old.Apply(changes)
	if err != nil {
		return nil, err
	}
	t.changes = append(t.changes, changes...)
	t.view = v
	return v, nil
}

// mark and rollbackTo undo a failed statement or go back to a savepoint.
func (t *txn) mark() int { return len(t.changes) }

func (t *txn) rollbackTo(mark int) {
	if len(t.changes) > mark {
		clear(t.changes[mark:])
		t.changes, t.view = t.changes[:mark], nil
	}
}

func (t *txn) savepoint(name string, settings, declared int) {
	t.saves = append(t.saves, savepoint{name, len(t.changes), settings, len(t.deferred), len(t.audit), declared})
}

// find gives the newest savepoint of that name.
func (t *txn) find(name string) (int, error) {
	for i := len(t.saves) - 1; i >= 0; i-- {
		if t.saves[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepointSpecification, "savepoint %q does not exist", name)
}

// release forgets a savepoint and those after it.
func (t *txn) release(name string) error {
	i, err := t.find(name)
	if err != nil {
		return err
	}
	t.saves = slices.Delete(t.saves, i, len(t.saves))
	return nil
}

// rollbackToSavepoint goes back to a savepoint, which stays.
func (t *txn) rollbackToSavepoint(name string) (savepoint, error) {
	i, err := t.find(name)
	if err != nil {
		return savepoint{}, err
	}
	s := t.saves[i]
	t.saves = t.saves[:i+1]
	t.rollbackTo(s.changes)
	t.deferred = t.deferred[:min(s.deferred, len(t.deferred))]
	t.failed = false
	return s, nil
}
