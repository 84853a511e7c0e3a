package txn

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Savepoint makes a savepoint; undo is called on a rollback to it, for state other than
// the changes.
func (t *Txn) Savepoint(name string, undo func()) error {
	if t.base != nil {
		if _, err := t.State(); err != nil {
			return err
		}
	}
	t.saves = append(t.saves, savepoint{name, len(t.changes), t.ReadOnly, undo})
	return nil
}

// InSubtransaction reports whether there is a savepoint.
func (t *Txn) InSubtransaction() bool { return len(t.saves) > 0 }

// find returns the newest savepoint of that name.
func (t *Txn) find(name string) (int, error) {
	for i := len(t.saves) - 1; i >= 0; i-- {
		if t.saves[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepointSpecification, "savepoint %q does not exist", name)
}

// Release forgets a savepoint and those after it. What may be written since is what might before it.
func (t *Txn) Release(name string) error {
	i, err := t.find(name)
	if err != nil {
		return err
	}
	t.ReadOnly = t.saves[i].readOnly
	t.saves = slices.Delete(t.saves, i, len(t.saves))
	return nil
}

// RollbackToSavepoint goes back to a savepoint, which stays.
func (t *Txn) RollbackToSavepoint(name string) error {
	i, err := t.find(name)
	if err != nil {
		return err
	}
	t.saves = t.saves[:i+1]
	t.RollbackTo(t.saves[i].mark)
	t.Failed = false
	t.saves[i].undo()
	return nil
}
