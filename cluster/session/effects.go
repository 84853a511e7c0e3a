package session

import (
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Some settings do more than being read: who the session is and what its transaction may
// are such. Their values in the Set are all there is: checkSetting is asked before one is
// set, by whatever way (SET, SET LOCAL, set_config, RESET, ALTER ROLE … SET, options of
// the connection), and settingChanged makes the session follow, also when a rollback, a
// savepoint or the end of SET LOCAL puts an old value back.

// checkSetting says whether a value may be set now.
func (s *Session) checkSetting(d *settings.Def, v string, from settings.Source) error {
	st := s.state()
	if err := d.Settable(from == settings.FromCatalog || st.Super(s.role)); err != nil {
		return err
	}
	switch d.Name {
	case "role":
		if v == "none" {
			return nil
		}
		r := st.RoleByName(v)
		if r == nil {
			return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", v)
		}
		if !st.MemberOf(s.user, r.OID) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role %q", v)
		}
		s.remember(v, r.OID)
	case "session_authorization":
		r := st.RoleByName(v)
		if r == nil {
			return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", v)
		}
		if r.OID != s.login && !st.Super(s.login) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
		}
		s.remember(v, r.OID)
	case "default_transaction_isolation":
		s.warnSerializable(v, from)
	case "transaction_isolation":
		if t := s.Txn(); t != nil && v != s.set.Value(d.Name) {
			switch {
			case t.Begun():
				return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
			case t.InSubtransaction():
				return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
			}
		}
		s.warnSerializable(v, from)
	case "transaction_read_only":
		if t := s.Txn(); t != nil && t.ReadOnly && v == "off" {
			switch {
			case t.InSubtransaction():
				return pgerr.New(pgerr.ActiveSQLTransaction, "cannot set transaction read-write mode inside a read-only transaction")
			case t.Begun():
				return pgerr.New(pgerr.ActiveSQLTransaction, "transaction read-write mode must be set before any query")
			}
		}
	}
	return nil
}

func (s *Session) warnSerializable(level string, from settings.Source) {
	if level == "serializable" && from == settings.FromClient {
		s.Warn(pgerr.Warning, "SERIALIZABLE transactions run as REPEATABLE READ")
	}
}

// settingChanged makes the session follow a value that is another now.
func (s *Session) settingChanged(d *settings.Def, v string) {
	switch d.Name {
	case "application_name":
		s.doing.appName.Store(v)
	case "client_encoding":
		s.setCharset(v)
	case "timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output":
		s.refreshEnv()
	case "role", "session_authorization":
		s.identify()
	case "transaction_isolation":
		if t := s.Txn(); t != nil {
			t.Isolation = txn.IsolationOf(v)
		}
	case "transaction_read_only":
		if t := s.Txn(); t != nil {
			t.ReadOnly = v == "on"
		}
	}
	if d.Report && s.connected && s.start.Notify != nil {
		s.start.Notify.Parameter(d.ShowName(), v)
	}
}

// identify makes the session who its settings say. A role keeps the OID it had when it was
// set: one that is dropped meanwhile leaves a session without any rights, and not with
// those of a new role of that name.
func (s *Session) identify() {
	s.user = s.roles[s.set.Value("session_authorization")]
	s.role = s.user
	if name := s.set.Value("role"); name != "none" {
		s.role = s.roles[name]
	}
	s.set.SetInternal("is_superuser", onOff(s.state().Super(s.role)))
}

func (s *Session) remember(name string, oid types.OID) {
	if s.roles == nil {
		s.roles = map[string]types.OID{}
	}
	s.roles[name] = oid
}

// state is the newest catalog that the session sees: its transaction's view, which knows
// the roles made there.
func (s *Session) state() *catalog.State {
	if t := s.Txn(); t != nil && t.Begun() {
		if st, err := t.State(); err == nil {
			return st
		}
	}
	return s.registry.cfg.Catalog.Current()
}
