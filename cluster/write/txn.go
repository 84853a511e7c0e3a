package write

import (
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Txn is a transaction with what it owes to constraints.
type Txn struct {
	*txn.Txn
	foreign foreignWork // of the statement in progress
	// deferred are checks of foreign keys put off until the commit, and modes what SET
	// CONSTRAINTS said of them.
	deferred []*written
	modes    constraintModes
}

// foreignWork is what the transaction's statement owes to foreign keys.
type foreignWork struct {
	keys *keyWatch // of the write in progress
	todo []*written
	done []*written // actions carried out, checks to come
}

// written is what one write did to a table.
type written struct {
	rel   *catalog.Relation
	fresh map[catalog.SegmentID]bool
	gone  *catalog.Manifest // the rows removed; nil for none
	keys  *keyWatch
}

// clear forgets the work, done or given up.
func (f *foreignWork) clear() {
	for _, l := range [][]*written{f.todo, f.done} {
		for _, w := range l {
			w.keys.close()
		}
	}
	f.keys.close()
	*f = foreignWork{}
}

// Undo takes back a failed statement, which began at a mark.
func (t *Txn) Undo(mark int) {
	t.foreign.clear()
	t.RollbackTo(mark)
}

// Deferred is how many writes have checks that were put off.
func (t *Txn) Deferred() int { return len(t.deferred) }

// ForgetDeferred forgets what was put off after there were n, which a savepoint takes
// back.
func (t *Txn) ForgetDeferred(n int) { t.deferred = t.deferred[:min(n, len(t.deferred))] }

// constraintModes is what SET CONSTRAINTS said.
type constraintModes struct {
	all   *bool // ALL DEFERRED or ALL IMMEDIATE, if that was said
	named map[types.OID]bool
}

// deferred reports whether a foreign key is checked at the commit only.
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
