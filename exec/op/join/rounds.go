package join

import "github.com/tributarydb/tributary/exec/mem"

// Kept holds the table of a join that is made again for each round of a recursion, where its right side is the
// same in all rounds: the first join builds the table, and leaves it to those that follow. They read no right
// rows. It serves joins of one thread whose right rows do not go out by themselves. A table that was spilled is
// not kept.
type Kept struct {
	table *hashTable // nil: none yet
	room  int64
	accts []*mem.Account // of the table and its rows
}

// lend gives the table, if there is one, to a join of the next round.
func (k *Kept) lend(s *shared) bool {
	if k == nil || k.table == nil {
		return false
	}
	s.table, s.room = k.table, k.room
	return true
}

// take keeps the table that a join has built, and reports whether it did. The join then closes neither the
// table nor these accounts.
func (k *Kept) take(s *shared, accts ...*mem.Account) bool {
	if k == nil || !s.built || k.table != nil {
		return false
	}
	k.table, k.room, k.accts = s.table, s.room, accts
	return true
}

// Close frees the table.
func (k *Kept) Close() {
	if k == nil || k.table == nil {
		return
	}
	k.table.copy.free()
	for _, a := range k.accts {
		a.Close()
	}
	k.table = nil
}
