package txn

import (
	"fmt"
	"iter"
	"regexp"
	"sync"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Snapshots are the states that open transactions of a node exported for others to
// read. A state lives in memory as long as someone holds it; mu keeps Oldest from
// running between an importer's pin and the exporter's end: it might see neither.
type Snapshots struct {
	Nodes func() int // how many the cluster has

	mu     sync.Mutex
	states map[string]exported
}

type exported struct {
	of    *Txn
	state *catalog.State
}

var snapshotID = regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]{1,9}$`)

// Export makes the snapshot of a transaction of session pid available to others and
// returns its name.
func (e *Snapshots) Export(t *Txn, pid uint32) (string, error) {
	if len(t.saves) > 0 {
		return "", pgerr.New(pgerr.ActiveSQLTransaction, "cannot export a snapshot from a subtransaction")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.states == nil {
		e.states = map[string]exported{}
	}
	t.exports++
	id := fmt.Sprintf("%08X-%08X-%d", pid, uint32(t.ID), t.exports)
	e.states[id] = exported{t, t.base}
	return id, nil
}

// Import makes a transaction use a snapshot that another one exported.
func (e *Snapshots) Import(t *Txn, id string) error {
	switch {
	case t.base != nil:
		return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	case t.Isolation != RepeatableRead:
		return pgerr.Unsupported("a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	from, ok := e.states[id]
	if !ok {
		err := pgerr.New(pgerr.InvalidParameterValue, "invalid snapshot identifier: \"%s\"", id)
		if snapshotID.MatchString(id) && e.Nodes() > 1 {
			err = err.WithHint("A snapshot is imported at the node that exported it, as long as the exporting transaction is open.")
		}
		return err
	}
	t.pin.hold(from.state.Version())
	t.base, t.view = from.state, nil
	return nil
}

// End drops the snapshots that a transaction exported.
func (e *Snapshots) End(t *Txn) {
	if t.exports == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, x := range e.states {
		if x.of == t {
			delete(e.states, id)
		}
	}
}

// Oldest returns the oldest pinned version; 0 for none.
func (e *Snapshots) Oldest(pins iter.Seq[*Pin]) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var oldest uint64
	for p := range pins {
		if v := p.version.Load(); v != 0 && (oldest == 0 || v < oldest) {
			oldest = v
		}
	}
	return oldest
}
