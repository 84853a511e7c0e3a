package session

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Login is what authentication needs of a role; see wire/session.Login.
type Login struct {
	Exists, CanLogin bool
	Verifier         string
	Super            bool
	Groups           []string
	TrustLoopback    bool
}

// Authenticate finds a role's verifier. A role without a password is trusted over
// loopback, whatever passwords others have; one that is not there is asked for a
// password as one that has one.
func (r *Registry) Authenticate(ctx context.Context, role string, fresh bool) (Login, error) {
	if fresh {
		// A role that was made on another node a moment ago is there, and a password
		// that was changed there holds. Where there is no majority to ask, what is
		// known here must do: a session can look, if not read tables.
		ask, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := r.cfg.Catalog.Barrier(ask); err != nil {
			r.cfg.Log.Debug("login without a barrier", "role", role, "error", err)
		}
	}
	st := r.cfg.Catalog.Current()
	of := st.RoleByName(role)
	if of == nil {
		return Login{}, nil
	}
	l := Login{Exists: true, CanLogin: of.Login, Super: of.Super, Verifier: of.Password, TrustLoopback: of.Password == ""}
	for _, group := range st.Roles() {
		if group.OID != of.OID && !of.Super && st.MemberOf(of.OID, group.OID) {
			l.Groups = append(l.Groups, group.Name)
		}
	}
	if !of.ValidUntil.IsZero() && time.Now().After(of.ValidUntil) {
		l.Verifier = ""
	}
	return l, nil
}

// Connect opens a session for an authenticated role.
func (r *Registry) Connect(ctx context.Context, st Startup) (*Session, error) {
	fatal := func(err *pgerr.Error) error { return err.WithSeverity(pgerr.SevFatal) }
	if st.Database == "" {
		st.Database = st.User
	}
	state := r.cfg.Catalog.Current()
	role := state.RoleByName(st.User)
	if role == nil {
		return nil, fatal(pgerr.New(pgerr.InvalidAuthorizationSpecification, "role %q does not exist", st.User))
	}
	if !role.Login && !st.Own {
		return nil, fatal(pgerr.New(pgerr.InvalidAuthorizationSpecification, "role %q is not permitted to log in", st.User))
	}
	// A client that names no database asks for one named after its user.
	if st.Database != catalog.DatabaseName && st.Database != "postgres" && st.Database != "template1" {
		return nil, fatal(pgerr.New(pgerr.InvalidCatalogName, "database %q does not exist", st.Database))
	}
	if !st.Own && !state.May(role.OID, state.Database().Object(), 'c') {
		return nil, fatal(pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %q", st.Database).WithDetail("User does not have CONNECT privilege."))
	}
	s := &Session{
		registry: r,
		start:    st,
		set:      settings.NewSet(),
		login:    role.OID,
		user:     role.OID,
		role:     role.OID,
		started:  time.Now(),
		kept:     &kept{pool: r.cfg.Pool},
	}
	s.statements = statements{byName: map[string]*named{}, kept: s.kept}
	s.set.Charge = s.kept.change
	s.interrupts.wake = st.Wake
	s.locks = r.cfg.Locks.Holder(st.PID, s.terminate)
	s.interrupts.timeout = func() time.Duration {
		return resource.Tighter(s.known().statement, groupOf(s).Limits().StatementTimeout)
	}
	s.interrupts.transaction = func() time.Duration {
		since := time.Now()
		if s.tx != nil {
			since = s.tx.Start
		}
		left, _ := s.known().leftOf(since)
		return left
	}
	s.doing.activity.Store(&Activity{State: "idle", Since: s.started})
	if err := s.init(role); err != nil {
		return nil, fatal(pgerr.From(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fatal(pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down"))
	}
	free := s.set.Int("max_connections") - int64(len(r.sessions))
	switch {
	case free <= 0:
		return nil, fatal(pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already"))
	case free <= s.set.Int("superuser_reserved_connections") && !role.Super:
		return nil, fatal(pgerr.New(pgerr.TooManyConnections, "remaining connection slots are reserved for roles with the SUPERUSER attribute"))
	}
	if role.ConnLimit >= 0 && !role.Super {
		n := 0
		for _, o := range r.sessions {
			if o.login == role.OID {
				n++
			}
		}
		if n >= role.ConnLimit {
			return nil, fatal(pgerr.New(pgerr.TooManyConnections, "too many connections for role %q", st.User))
		}
	}
	s.counts = r.cfg.Observe.Session()
	r.sessions[st.PID] = s
	return s, nil
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
	s.kept.shrink(s.kept.bytes)
	s.say(nil, 0)
	s.counts.Close()
	s.locks.Release(context.Background(), advisory.Both)
	s.registry.sequences.Release(context.Background(), &s.sequences)
	err := s.dropTemp(context.Background())
	e := s.registry
	e.mu.Lock()
	if e.sessions[s.start.PID] == s {
		delete(e.sessions, s.start.PID)
	}
	e.mu.Unlock()
	return err
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
