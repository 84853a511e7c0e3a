package query

import (
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/types"
)

// SystemNames resolves the names of system relations and functions. Hosts embed it: it implements
// objname.SystemRelations and objname.Procedures.
type SystemNames struct{}

// SystemRelation implements objname.SystemRelations.
func (SystemNames) SystemRelation(schema, name string) (types.OID, bool) {
	return sysview.RelationOID(schema, name)
}

// SystemRelationName implements objname.SystemRelations.
func (SystemNames) SystemRelationName(oid types.OID) (schema, name string, ok bool) {
	return sysview.RelationName(oid)
}

// Procedure implements objname.Procedures.
func (SystemNames) Procedure(name string) (types.OID, bool) { return sysview.ProcOID(name) }

// ProcedureName implements objname.Procedures.
func (SystemNames) ProcedureName(oid types.OID) (string, bool) { return sysview.ProcName(oid) }

// ProcedureArgs implements objname.Procedures.
func (SystemNames) ProcedureArgs(oid types.OID) []types.OID { return sysview.ProcArgs(oid) }
