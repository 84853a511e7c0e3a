package coord

import (
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// regNames resolves the text forms of reg* types for a session, outside of a
// statement's expressions.
type regNames struct{ s *Session }

// host is the session as name resolution sees it.
func (n regNames) host() *host {
	st := n.s.engine.cfg.Meta.Current()
	if n.s.tx != nil && n.s.tx.view != nil {
		st = n.s.tx.view
	}
	h := &host{s: n.s, st: st}
	h.session = eval.Session{User: n.s.role, SessionUser: n.s.user, Database: catalog.DatabaseName, Temp: n.s.temp}
	for _, sc := range n.s.path(st) {
		h.session.Path = append(h.session.Path, sc.OID)
	}
	return h
}

// RegIn implements types.Names.
func (n regNames) RegIn(t types.OID, name string) (types.OID, error) {
	return eval.RegIn(n.host(), t, name)
}

// RegOut implements types.Names.
func (n regNames) RegOut(t types.OID, oid types.OID) (string, bool) {
	return eval.RegOut(n.host(), t, oid)
}

// SystemRelation implements eval.SystemRelations.
func (h *host) SystemRelation(schema, name string) (types.OID, bool) {
	return sysview.RelationOID(schema, name)
}

// SystemRelationName implements eval.SystemRelations.
func (h *host) SystemRelationName(oid types.OID) (schema, name string, ok bool) {
	return sysview.RelationName(oid)
}

// Procedure implements eval.Procedures.
func (h *host) Procedure(name string) (types.OID, bool) { return sysview.ProcOID(name) }

// ProcedureName implements eval.Procedures.
func (h *host) ProcedureName(oid types.OID) (string, bool) { return sysview.ProcName(oid) }
