package main

import (
	"context"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/wire/auth"
)

// superusers knows who may read the metrics and profiles of a node.
type superusers struct{ n *node.Node }

// allow reports whether a password is that of a superuser.
func (d superusers) allow(user, password string) bool {
	r := d.n.Catalog().RoleByName(user)
	return r != nil && r.Super && d.proves(r, password)
}

// watch reports whether a password is that of a superuser or of a member of pg_monitor.
func (d superusers) watch(user, password string) bool {
	st := d.n.Catalog()
	r := st.RoleByName(user)
	return r != nil && (r.Super || st.Inherits(r.OID, catalog.MonitorOID)) && d.proves(r, password)
}

// proves reports whether a password is that of a role that may log in.
func (d superusers) proves(r *catalog.Role, password string) bool {
	if !r.Login {
		return false
	}
	l, err := d.n.Engine().Authenticate(context.Background(), r.Name, false)
	return err == nil && auth.Check(l.Verifier, password)
}

// open reports whether a superuser may log in without a password, over loopback: then
// the page need not ask for one.
func (d superusers) open() bool {
	for _, r := range d.n.Catalog().Roles() {
		if r.Super && r.Login && r.Password == "" {
			return true
		}
	}
	return false
}
