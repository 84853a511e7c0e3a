package session

import (
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/sql/types"
)

// regNames resolves the text forms of reg* types for a session, outside of a
// statement's expressions.
type regNames struct{ s *Session }

// host is the session as name resolution sees it.
func (n regNames) host() *host {
	st := n.s.registry.cfg.Catalog.Current()
	if t := n.s.Txn(); t != nil && t.Known() != nil {
		st = t.Known()
	}
	c := n.s.Caller()
	return &host{s: n.s, st: st, session: c.Session(), caller: c}
}

// RegIn implements types.Names.
func (n regNames) RegIn(t types.OID, name string) (types.OID, error) {
	return objname.RegIn(n.host(), t, name)
}

// RegOut implements types.Names.
func (n regNames) RegOut(t types.OID, oid types.OID) (string, bool) {
	return objname.RegOut(n.host(), t, oid)
}
