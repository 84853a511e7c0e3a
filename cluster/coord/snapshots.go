package coord

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// snapshots are the states that open transactions of this gateway exported for
// others to read. A state lives in memory as long as someone holds it; mu keeps
// OldestRead from running between an importer's pin and an exporter's end.
type snapshots struct {
	mu     sync.Mutex
	states map[string]exported
}

type exported struct {
	of    *txn
	state *catalog.State
}

var snapshotID = regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]{1,9}$`)

// ExportSnapshot implements eval.SnapshotExporter.
func (h *host) ExportSnapshot() (string, error) {
	t := h.s.tx
	if len(t.saves) > 0 {
		return "", pgerr.New(pgerr.ActiveSQLTransaction, "cannot export a snapshot from a subtransaction")
	}
	e := &h.s.engine.snapshots
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.states == nil {
		e.states = map[string]exported{}
	}
	t.exports++
	id := fmt.Sprintf("%08X-%08X-%d", h.s.start.PID, uint32(t.xid), t.exports)
	e.states[id] = exported{t, t.base}
	return id, nil
}

// importSnapshot makes the open transaction read what another one exported.
func (s *Session) importSnapshot(id string) error {
	t := s.tx
	switch {
	case t.base != nil:
		return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	case t.iso != snapshot:
		return pgerr.Unsupported("a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	e := &s.engine.snapshots
	e.mu.Lock()
	defer e.mu.Unlock()
	from, ok := e.states[id]
	if !ok {
		err := pgerr.New(pgerr.InvalidParameterValue, "invalid snapshot identifier: \"%s\"", id)
		if snapshotID.MatchString(id) && s.engine.queries.Runner.Nodes() > 1 {
			err = err.WithHint("A snapshot is imported at the node that exported it, as long as the exporting transaction is open.")
		}
		return err
	}
	t.pin(from.state.Version())
	t.base, t.view = from.state, nil
	return nil
}

// end forgets what a transaction exported.
func (e *snapshots) end(t *txn) {
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
