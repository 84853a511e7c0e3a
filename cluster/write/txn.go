package write

import (
	"slices"

	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Txn is a transaction with the checks and actions of foreign keys that it still has to do.
type Txn struct {
	*txn.Txn
	foreign foreignWork // of the statement in progress
	// deferred are writes of which some foreign keys are checked only at the commit, and modes are
	// those of SET CONSTRAINTS.
	deferred []*written
	modes    constraintModes
}

// foreignWork is what the statement in progress has to do for foreign keys.
type foreignWork struct {
	keys *keyWatch  // of the write in progress
	todo []*written // whose referential actions are still to be done
	done []*written // whose actions are done, but not their checks
}

// written is what one write did to a table.
type written struct {
	rel   *catalog.Relation
	fresh map[catalog.SegmentID]bool
	gone  *catalog.Manifest // the rows that were deleted or replaced; nil for none
	keys  *keyWatch
}

// clear drops the work when the statement has ended or failed.
func (f *foreignWork) clear() {
	for _, l := range [][]*written{f.todo, f.done} {
		for _, w := range l {
			w.keys.close()
		}
	}
	f.keys.close()
	*f = foreignWork{}
}

// Undo rolls back a failed statement, to the mark at which it began.
func (t *Txn) Undo(mark int) {
	t.foreign.clear()
	t.RollbackTo(mark)
}

// Deferred is what a transaction has put off: a savepoint keeps it, for a rollback makes what was
// checked since, over rows that are gone again, due again.
type Deferred struct {
	writes []*written
	modes  constraintModes
}

// Deferred returns what the transaction has put off so far.
func (t *Txn) Deferred() Deferred { return Deferred{slices.Clip(t.deferred), t.modes} }

// RestoreDeferred goes back to d.
func (t *Txn) RestoreDeferred(d Deferred) { t.deferred, t.modes = d.writes, d.modes }

// HasDeferred reports whether checks are put off.
func (t *Txn) HasDeferred() bool { return len(t.deferred) > 0 }

// constraintModes are the modes set by SET CONSTRAINTS.
type constraintModes struct {
	all   *bool              // of ALL; nil if it was not set
	named map[types.OID]bool // of single constraints since: true is DEFERRED
}

// deferred reports whether a foreign key is checked only at the commit.
func (m *constraintModes) deferred(k fkey) bool {
	if !k.Deferrable {
		return false
	}
	if d, ok := m.named[k.OID]; ok {
		return d
	}
	if m.all != nil {
		return *m.all
	}
	return k.InitiallyDeferred
}
