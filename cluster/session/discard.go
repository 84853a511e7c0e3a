package session

import (
	"context"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// SetRole is SET ROLE.
func (s *Session) SetRole(name string) error {
	st := s.registry.cfg.Catalog.Current()
	if name == "none" {
		s.role = s.user
		s.set.SetInternal("role", "none")
		return nil
	}
	r := st.RoleByName(name)
	if r == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", name)
	}
	if !st.MemberOf(s.user, r.OID) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role %q", name)
	}
	s.role = r.OID
	s.set.SetInternal("role", name)
	s.set.SetInternal("is_superuser", onOff(r.Super))
	return nil
}

// SetSessionUser is SET SESSION AUTHORIZATION.
func (s *Session) SetSessionUser(name string) error {
	st := s.registry.cfg.Catalog.Current()
	login := st.RoleByName(s.start.User)
	if name == "default" {
		name = s.start.User
	}
	r := st.RoleByName(name)
	if r == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", name)
	}
	if login == nil || r.OID != login.OID && !login.Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	s.user, s.role = r.OID, r.OID
	s.set.SetInternal("session_authorization", name)
	s.set.SetInternal("role", "none")
	s.set.SetInternal("is_superuser", onOff(r.Super))
	return nil
}

// DiscardAll is DISCARD ALL, in a transaction of its own.
func (s *Session) DiscardAll(ctx context.Context) error {
	s.cursors.CloseAll()
	clear(s.statements)
	if err := s.SetSessionUser("default"); err != nil {
		return err
	}
	s.set.ResetAll()
	s.sequences.Discard()
	s.locks.Release(ctx, advisory.Both)
	return s.DropTemp(ctx)
}

// DropTemp drops the session's temporary tables in its transaction.
func (s *Session) DropTemp(ctx context.Context) error {
	return define.DropTemp(ctx, s.Txn(), s.registry.cfg.Catalog, s.temp)
}
