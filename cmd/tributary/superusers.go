package main

import (
	"context"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/wire/auth"
)

// superusers knows who may read the metrics and profiles of a node.
type superusers struct{ n *node.Node }

// allow reports whether a password is that of a superuser.
func (d superusers) allow(user, password string) bool {
	r := d.n.Catalog().RoleByName(user)
	if r == nil || !r.Super || !r.Login {
		return false
	}
	l, err := d.n.Engine().Authenticate(context.Background(), user, false)
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
