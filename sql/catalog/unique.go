package catalog

import (
	"slices"

	"github.com/tributarydb/tributary/sql/types"
)

// keyLog records which keys recent commits claimed under one constraint.
//
//	floor        entries, by version
//	  │   v7: 3 hashes   v9: all   v12: 1 hash
//	  └─ commits up to here are forgotten: a reader of an older version must
//	     look again
type keyLog struct {
	table   types.OID
	floor   uint64
	entries []keyEntry
	hashes  int
	tail    *tail // of entries, as for a manifest's partitions
}

type keyEntry struct {
	version uint64
	all     bool
	hashes  []uint64 // sorted
	side    uint8
}

// Bounds of a log. A writer that falls behind only has to check again.
const (
	maxLogEntries = 2048
	maxLogHashes  = 128 << 10
)

func (c *UniqueKeys) apply(e *edit) error {
	if l := e.s.unique[c.Constraint]; l != nil {
		if c.ReadVersion < l.floor {
			return conflict("update")
		}
		at, _ := slices.BinarySearchFunc(l.entries, c.ReadVersion+1, func(x keyEntry, v uint64) int {
			if x.version < v {
				return -1
			}
			return 1
		})
		for _, x := range l.entries[at:] {
			if c.Side != 0 && c.Side == x.side {
				continue
			}
			if x.all || c.All || x.meets(c.Hashes) {
				return conflict("update")
			}
		}
	}
	e.keys = append(e.keys, c)
	return nil
}

func (x *keyEntry) meets(hashes []uint64) bool {
	for _, h := range hashes {
		if _, ok := slices.BinarySearch(x.hashes, h); ok {
			return true
		}
	}
	return false
}

// recordKeys logs the commit's claims. They are logged after all changes, so that a commit's
// changes do not conflict with each other. A transaction's own view logs nothing.
func (e *edit) recordKeys() {
	if !e.commit || len(e.keys) == 0 {
		return
	}
	logs := writable(e, mapUnique, &e.s.unique)
	type claim struct { // what the commit claims under a constraint, of a side
		keyEntry
		constraint types.OID
	}
	var fresh []*claim // a commit claims under few constraints
	for _, c := range e.keys {
		if e.s.relations[c.Table] == nil {
			continue
		}
		var x *claim
		if i := slices.IndexFunc(fresh, func(x *claim) bool { return x.constraint == c.Constraint && x.side == c.Side }); i >= 0 {
			x = fresh[i]
		} else {
			x = &claim{keyEntry{version: e.version, side: c.Side}, c.Constraint}
			fresh = append(fresh, x)
			l := keyLog{table: c.Table}
			if old := logs[c.Constraint]; old != nil {
				l = *old
			}
			logs[c.Constraint] = &l
		}
		x.all = x.all || c.All
		if x.all {
			x.hashes = nil
		} else {
			x.hashes = append(x.hashes, c.Hashes...)
		}
	}
	for _, x := range fresh {
		l := logs[x.constraint]
		slices.Sort(x.hashes)
		l.add(x.keyEntry)
		if len(l.entries) > maxLogEntries || l.hashes > maxLogHashes {
			l.trim()
		}
	}
}

func (l *keyLog) add(x keyEntry) {
	n := len(l.entries)
	if n < cap(l.entries) && l.tail != nil && l.tail.claimed.CompareAndSwap(int64(n), int64(n+1)) {
		l.entries = append(l.entries, x)
	} else {
		grown := make([]keyEntry, n, 2*n+8)
		copy(grown, l.entries)
		l.entries = append(grown, x)
		l.tail = &tail{}
		l.tail.claimed.Store(int64(n + 1))
	}
	l.hashes += len(x.hashes)
}

// trim removes the older half, by entries and by hashes.
func (l *keyLog) trim() {
	keep := len(l.entries)
	hashes := 0
	for keep > 0 && len(l.entries)-keep < maxLogEntries/2 {
		n := len(l.entries[keep-1].hashes)
		if hashes+n > maxLogHashes/2 {
			break
		}
		hashes += n
		keep--
	}
	if keep > 0 {
		l.floor = l.entries[keep-1].version
	}
	l.entries = slices.Clone(l.entries[keep:])
	l.hashes, l.tail = hashes, nil
}

// dropKeys removes the logs of a table.
func (e *edit) dropKeys(table types.OID) {
	for oid, l := range e.s.unique {
		if l.table == table {
			delete(writable(e, mapUnique, &e.s.unique), oid)
		}
	}
}
