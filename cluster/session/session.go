package session

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Session is one connection's state. One goroutine at a time calls it, but for
// the methods that say otherwise.
type Session struct {
	registry *Registry
	start    Startup
	set      *settings.Set
	user     types.OID // who logged in, or SET SESSION AUTHORIZATION
	role     types.OID // SET ROLE
	started  time.Time

	tx        *transaction
	cursors   cursor.Set
	temp      types.OID // its schema for temporary tables, 0 until the first
	env       *types.Env
	knows     *known // nil before it is first asked for
	sequences sequence.Session
	locks     *advisory.Holder

	activity atomic.Pointer[Activity]
	pool     atomic.Pointer[mem.Pool]        // of the running statement
	queued   atomic.Pointer[query.Admission] // the running statement's
	asleep   int                             // portals that wait for their client
	text     *mem.Account                    // what the last text's trees take; nil if little
	appName  atomic.Value                    // string
	reading  txn.Pin                         // the state the transaction reads
	closed   bool

	interrupts
	statements
}

// init applies the role's and the client's settings.
func (s *Session) init(role *catalog.Role) error {
	s.appName.Store("")
	s.set.SetInternal("session_authorization", role.Name)
	s.set.SetInternal("is_superuser", onOff(role.Super))
	s.set.Shared = s.registry.cfg.Shared
	st := s.registry.cfg.Catalog.Current()
	for _, v := range st.Settings() {
		if d := settings.Find(v.Name); d != nil && d.OfSession() {
			if err := s.set.SetStart(v.Name, v.Value); err != nil {
				return err
			}
		}
	}
	for _, d := range settings.All() {
		if v, ok := role.Settings[d.Name]; ok && d.OfSession() {
			if err := s.set.SetStart(d.Name, v); err != nil {
				return err
			}
		}
	}
	for _, p := range s.start.Params {
		name, value := p[0], p[1]
		switch {
		case name == "options":
			given, err := startupOptions(value)
			if err != nil {
				return err
			}
			for _, o := range given {
				if err := s.set.SetStart(o[0], o[1]); err != nil {
					return err
				}
			}
		case name == "replication":
			return pgerr.Unsupported("replication connections are not supported")
		case strings.HasPrefix(name, "_pq_."):
		default:
			if err := s.set.SetStart(name, value); err != nil {
				return err
			}
		}
	}
	s.set.OnChange = s.settingChanged
	s.appName.Store(s.set.Value("application_name"))
	s.refreshEnv()
	return nil
}

func (s *Session) settingChanged(d *settings.Def, v string) {
	switch d.Name {
	case "application_name":
		s.appName.Store(v)
	case "timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output":
		s.refreshEnv()
	}
	if d.Report && s.start.Notify != nil {
		s.start.Notify.Parameter(d.ShowName(), v)
	}
}

// refreshEnv makes the environment of values anew; statements keep the one
// they began with.
func (s *Session) refreshEnv() {
	s.env = query.Values(s.set, regNames{s})
}

// Env is how values are written as text now.
func (s *Session) Env() *types.Env { return s.env }

// Parameters are the values to report when a connection starts.
func (s *Session) Parameters() [][2]string {
	var out [][2]string
	for _, d := range settings.All() {
		if d.Report {
			out = append(out, [2]string{d.ShowName(), s.set.Value(d.Name)})
		}
	}
	return out
}

// Notice sends a message beside the result, if the client wants it.
func (s *Session) Notice(e *pgerr.Error) {
	if e.Severity == "" || e.Severity == pgerr.SevError {
		e.Severity = pgerr.SevNotice
	}
	rank := map[string]int{"debug5": 0, "debug4": 0, "debug3": 0, "debug2": 0, "debug1": 0, "log": 0, "notice": 1, "warning": 2, "error": 3}
	level := map[pgerr.Severity]int{pgerr.SevNotice: 1, pgerr.SevWarning: 2, pgerr.SevInfo: 9}[e.Severity]
	if s.start.Notify != nil && level >= rank[s.set.Value("client_min_messages")] {
		s.start.Notify.Notice(e)
	}
}

// Warn is a WARNING with a code.
func (s *Session) Warn(code pgerr.Code, format string, args ...any) {
	s.Notice(pgerr.New(code, format, args...).WithSeverity(pgerr.SevWarning))
}

// Txn is the open transaction, nil for none.
func (s *Session) Txn() *txn.Txn {
	if s.tx == nil {
		return nil
	}
	return s.tx.Txn.Txn
}

// TxStatus is 'I', 'T' or 'E'.
func (s *Session) TxStatus() byte {
	switch {
	case s.tx == nil || !s.tx.Explicit:
		return 'I'
	case s.tx.Failed:
		return 'E'
	}
	return 'T'
}

// InBlock reports whether the session is between BEGIN and COMMIT.
func (s *Session) InBlock() bool { return s.tx != nil && s.tx.Explicit }

// Sequences are the values that it took last.
func (s *Session) Sequences() *sequence.Session { return &s.sequences }

// Settings are its run-time parameters.
func (s *Session) Settings() *settings.Set { return s.set }

// Temp is its schema for temporary tables, 0 until the first is made.
func (s *Session) Temp() *types.OID { return &s.temp }

// PID is the session's key.
func (s *Session) PID() uint32 { return s.start.PID }

// IdleLimit is how long the session may wait for its client now, and the error
// that ends it then; 0 is for ever.
func (s *Session) IdleLimit() (time.Duration, error) {
	k := s.known()
	limit, code, what := k.idle, pgerr.IdleSessionTimeout, "idle-session"
	if s.TxStatus() != 'I' {
		limit, code, what = k.idleInBlock, pgerr.IdleInTransactionSessionTimeout, "idle-in-transaction"
	}
	if limit <= 0 {
		return 0, nil
	}
	return limit, pgerr.New(code, "terminating connection due to %s timeout", what).WithSeverity(pgerr.SevFatal)
}

// Close rolls back and frees everything. It may be called twice.
func (s *Session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.cursors.CloseAll()
	s.freeText()
	if s.tx != nil {
		s.Rollback()
	}
	s.locks.Release(advisory.Both)
	err := s.dropTemp(context.Background())
	e := s.registry
	e.mu.Lock()
	if e.sessions[s.start.PID] == s {
		delete(e.sessions, s.start.PID)
	}
	e.mu.Unlock()
	return err
}

func (s *Session) setActivity(state, query string) {
	old := s.activity.Load()
	a := &Activity{State: state, Query: old.Query, Since: time.Now(), QueryStart: old.QueryStart}
	if query != "" {
		a.Query, a.QueryStart = query, a.Since
	}
	if s.tx != nil {
		a.XactStart = s.tx.Start
	}
	s.activity.Store(a)
}

// dropTemp drops the session's temporary tables and schema when it ends.
func (s *Session) dropTemp(ctx context.Context) error {
	m := s.registry.cfg.Catalog
	if s.temp == 0 || m.Current().Schema(s.temp) == nil {
		return nil
	}
	t := s.newTxn()
	if err := define.DropTemp(ctx, t, m, s.temp); err != nil {
		return err
	}
	if _, err := t.Add(&catalog.DropSchema{OID: s.temp}); err != nil {
		return err
	}
	return m.Commit(ctx, t.Changes())
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
