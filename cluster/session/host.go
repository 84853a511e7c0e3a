package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/deparse"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// host is what functions ask of the session they run in. Threads call it from
// several goroutines while the session's own waits, so what they may change is
// behind mu.
type host struct {
	query.SystemNames
	s       *Session
	mu      sync.Mutex
	st      *catalog.State
	session function.Session
	caller  *query.Caller // whose schemas the session's path is, until it is asked for
	// identity are the sequences of the identity columns of tables that the
	// statement writes: filling those in takes no privilege of its own.
	identity map[types.OID]bool
	// taken is how many values the statement took off each sequence so far.
	taken map[types.OID]int64
}

// How many values of a sequence are taken ahead: so many times what the statement took so
// far, and at most mostAhead.
const (
	aheadOfTaken = 8
	mostAhead    = 1 << 20
)

// Caller is what a text means that the session gives now, without parameters.
func (s *Session) Caller() *query.Caller {
	c, _ := s.callerOf(nil, nil)
	return c
}

// callerOf is Caller with parameters, and its host.
func (s *Session) callerOf(params []types.Datum, of []types.Type) (*query.Caller, *host) {
	at := time.Now()
	if s.tx != nil {
		at = s.tx.Start
	}
	h := &host{s: s}
	return s.known().caller.At(at, h, params, of), h
}

// Reload implements function.Reloader.
func (h *host) Reload() {
	if f := h.s.registry.cfg.Reload; f != nil {
		f()
	}
}

// Enter implements write.Host.
func (h *host) Enter(x *write.Statement, st *catalog.State) {
	s := h.s
	if s.cursors.Len() > 0 || s.asleep > 0 || s.locks.Holds() {
		x.Admission.SkipQueue() // they hold what others may wait for
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.st = st
	h.session, h.caller = x.Caller.Session(), x.Caller
	h.session.PID, h.session.Client, h.session.Server = int32(s.start.PID), s.start.Remote, s.start.Local
	h.session.StatementStart, h.session.ServerStart = time.Now(), s.registry.started
	if s.tx != nil {
		h.session.XID = int64(s.tx.ID)
	}
	if x.Text != nil {
		h.session.Query = x.Text.Public()
	}
}

// Within implements write.Host.
func (h *host) Within() write.Host { return &host{s: h.s} }

func (h *host) Catalog() *catalog.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.st == nil {
		return h.s.registry.cfg.Catalog.Current()
	}
	return h.st
}

func (h *host) Session() *function.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.caller != nil {
		h.session.Path, h.caller = h.caller.SearchPath(h.st), nil
	}
	s := h.session
	return &s
}

func (h *host) Setting(name string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, err := query.Show(h.s.set, name)
	return v, err == nil
}

func (h *host) Set(name string, value *string, local bool) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if value == nil {
		err = h.s.set.Reset(name, local)
	} else {
		err = h.s.set.Set(name, *value, local)
	}
	if err != nil {
		return "", err
	}
	return query.Show(h.s.set, name)
}

func (h *host) Scorer(ctx context.Context, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error) {
	return h.s.registry.cfg.Models.Scorer(ctx, h.Catalog(), ref, pool)
}

func (h *host) Nextval(ctx context.Context, seq types.OID, out []int64) error {
	h.mu.Lock()
	identity := h.identity[seq]
	h.mu.Unlock()
	if !identity {
		if err := h.maySequence(seq, "Uw"); err != nil {
			return err
		}
	}
	if err := h.mayAdvance(seq, "nextval()"); err != nil {
		return err
	}
	// A statement that comes again with a batch will come with more: a multiple of
	// those there were so far are taken ahead, for a commit takes as long as thousands of rows.
	h.mu.Lock()
	ahead := min(aheadOfTaken*h.taken[seq], mostAhead)
	h.mu.Unlock()
	n, err := h.s.registry.sequences.Next(ctx, &h.s.sequences, h.s.Txn(), seq, out, ahead)
	if n > 0 {
		h.mu.Lock()
		if h.taken == nil {
			h.taken = map[types.OID]int64{}
		}
		h.taken[seq] += int64(n)
		h.mu.Unlock()
	}
	return err
}

// close gives back what was taken ahead, at the end of the statement.
func (h *host) close(ctx context.Context) {
	h.mu.Lock()
	taken := h.taken
	h.taken = nil
	h.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	for _, seq := range slices.Sorted(maps.Keys(taken)) {
		h.s.registry.sequences.GiveBack(ctx, seq)
	}
}

// mayAdvance refuses to move a sequence in a read-only transaction, unless it
// is a temporary one.
func (h *host) mayAdvance(seq types.OID, what string) error {
	if r := h.Catalog().RelationByOID(seq); r != nil && (r.Temp || r.Schema == h.s.temp) {
		return nil
	}
	return h.s.Txn().Writable(what)
}

// Writes implements write.Host.
func (h *host) Writes(rel *catalog.Relation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range rel.Columns {
		if c.Identity != 0 {
			if h.identity == nil {
				h.identity = map[types.OID]bool{}
			}
			h.identity[c.Sequence] = true
		}
	}
}

// maySequence checks that the role has one of the privileges on a sequence.
func (h *host) maySequence(seq types.OID, letters string) error {
	st, role := h.Catalog(), h.Session().User
	r := st.RelationByOID(seq)
	if r == nil || r.Kind != catalog.KindSequence {
		return nil // which the caller finds out
	}
	for i := range len(letters) {
		if st.May(role, r.Object(), letters[i]) {
			return nil
		}
	}
	return plan.Denied(r)
}

func (h *host) Currval(seq types.OID) (int64, error) {
	if err := h.maySequence(seq, "rU"); err != nil {
		return 0, err
	}
	v, ok := h.s.sequences.Currval(seq)
	if !ok {
		name := "?"
		if r := h.Catalog().RelationByOID(seq); r != nil {
			name = r.Name
		}
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "currval of sequence %q is not yet defined in this session", name)
	}
	return v, nil
}

// SequenceAt implements function.Sequences.
func (h *host) SequenceAt(seq types.OID) catalog.SeqValue {
	return h.s.registry.sequences.At(h.Catalog(), seq)
}

func (h *host) Lastval() (int64, error) {
	last, v := h.s.sequences.Lastval()
	if err := h.maySequence(last, "rU"); err != nil {
		return 0, err
	}
	if last == 0 || h.Catalog().RelationByOID(last) == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	return v, nil
}

func (h *host) Setval(ctx context.Context, seq types.OID, value int64, called bool) error {
	r := h.Catalog().RelationByOID(seq)
	if r == nil || r.Kind != catalog.KindSequence {
		return pgerr.New(pgerr.UndefinedTable, "relation with OID %d is not a sequence", seq)
	}
	if err := h.maySequence(seq, "w"); err != nil {
		return err
	}
	if err := h.mayAdvance(seq, "setval()"); err != nil {
		return err
	}
	if value < r.Seq.Min || value > r.Seq.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence %q (%d..%d)", value, r.Name, r.Seq.Min, r.Seq.Max)
	}
	return h.s.registry.sequences.Set(ctx, &h.s.sequences, h.s.Txn(), seq, catalog.SeqValue{Last: value, Called: called})
}

// AdvisoryLock implements function.AdvisoryLocker.
func (h *host) AdvisoryLock(ctx context.Context, key function.AdvisoryKey, mode function.AdvisoryMode) (bool, error) {
	return h.s.locks.Lock(ctx, key, mode, time.Duration(h.s.set.Int("lock_timeout"))*time.Millisecond)
}

// LockRow implements write.Host. The locks are those of sessions that ask for them by SKIP LOCKED or
// NOWAIT, among themselves.
func (h *host) LockRow(ctx context.Context, l plan.Lock, seg *catalog.Segment, row uint32) (locked, there bool, err error) {
	key := advisory.Key{Table: l.Table}
	if m := h.s.registry.cfg.Catalog.Current().Manifest(l.Table); m != nil {
		id, at := m.Origin(seg.ID, row)
		key.A = int64(write.RowHash(id, at))
	}
	locked, err = h.s.locks.Lock(ctx, key, function.AdvisoryMode{Shared: l.Share, Xact: true, Try: true}, 0)
	if !locked {
		return false, false, err
	}
	// What those who had the lock before have committed is in the newest state: they gave it back after that.
	one, err := roaring.BitmapOf(row).ToBytes()
	if err != nil {
		return true, false, err
	}
	_, changed := h.s.registry.cfg.Catalog.Current().Apply([]catalog.Change{&catalog.LockRows{Table: l.Table, Segment: seg.ID, Rows: one}})
	return true, changed == nil, nil
}

// LockedRows implements write.Host.
func (h *host) LockedRows(table types.OID) int { return h.s.registry.cfg.Locks.InTable(table) }

// AdvisoryUnlock implements function.AdvisoryLocker.
func (h *host) AdvisoryUnlock(key function.AdvisoryKey, shared bool) (bool, error) {
	held := h.s.locks.Unlock(context.Background(), key, shared)
	if !held {
		h.s.Warn(pgerr.Warning, "you don't own a lock of type %s", map[bool]string{true: "ShareLock", false: "ExclusiveLock"}[shared])
	}
	return held, nil
}

// AdvisoryUnlockAll implements function.AdvisoryLocker.
func (h *host) AdvisoryUnlockAll() error {
	h.s.locks.Release(context.Background(), advisory.Session)
	return nil
}

// Past implements query.Historian. What was committed before the statement is known here since it began.
func (h *host) Past(at time.Time) (*catalog.State, error) {
	past, ok := h.s.registry.cfg.Catalog.(txn.Historian)
	if !ok {
		return nil, pgerr.Unsupported("reading the past is not supported here")
	}
	return past.Past(context.Background(), at, h.s.OpenTxn().Hold)
}

// ExportSnapshot implements function.SnapshotExporter.
func (h *host) ExportSnapshot() (string, error) {
	return h.s.registry.snapshots.Export(h.s.Txn(), h.s.start.PID)
}

// Signal is pg_cancel_backend and pg_terminate_backend, of a session of any node.
func (h *host) Signal(pid int32, terminate bool) (bool, error) {
	s := Signal{PID: uint32(pid), By: h.s.role, Terminate: terminate}
	found, err := h.s.registry.Signal(s)
	if !found && err == nil {
		found, err = h.s.registry.cfg.Elsewhere(s)
	}
	if !found && err == nil {
		h.s.Warn(pgerr.Warning, "PID %d is not a PostgreSQL server process", pid)
	}
	return found, err
}

// ForgetStatements implements function.StatementCounter.
func (h *host) ForgetStatements(role types.OID, fingerprint int64) error {
	return h.s.registry.cfg.Forget(role, fingerprint)
}

// Warning is a WARNING beside the statement's result.
func (h *host) Warning(text string) { h.s.Warn(pgerr.Warning, "%s", text) }

// SettingRows implements query.Host.
func (h *host) SettingRows() []sysview.SettingRow { return query.SettingRows(h.s.set) }

// PreparedRows implements query.Host.
func (h *host) PreparedRows() []sysview.PreparedRow { return h.s.statements.rows() }

// CursorRows implements query.Host.
func (h *host) CursorRows() (out []sysview.CursorRow) {
	for c := range h.s.cursors.All() {
		out = append(out, sysview.CursorRow{Name: c.Name, Statement: c.Text, Holdable: c.Hold, Scrollable: c.Scroll > 0, At: c.At})
	}
	return out
}

// ShowExpr implements function.Deparser.
func (h *host) ShowExpr(over *catalog.Relation, text string, pretty bool) string {
	return deparse.ShowExpr(h, over, text, pretty)
}

// ViewDef implements function.Deparser.
func (h *host) ViewDef(view *catalog.Relation, pretty bool, wrap int) string {
	return deparse.ViewDef(h, view, pretty, wrap)
}
