package sysview

import (
	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// The schemas ml and cluster, and what is in them, belong to one built-in extension: so
// PostgreSQL's tools recognise them as parts of the system, which a dump leaves out.
const (
	extensionOID   types.OID = 13990
	extensionName            = "tributary"
	classExtension types.OID = 3079
	classProc      types.OID = 1255
)

// ours reports whether schema is one of the extension's.
func ours(schema types.OID) bool {
	return schema == catalog.MLSchemaOID || schema == catalog.ClusterSchemaOID
}

func pgExtension(_ *view, put put) error {
	if err := put(extensionOID, extensionName, catalog.BootstrapRoleOID, catalog.PgCatalogOID, false, sysfn.Release, nil, nil); err != nil {
		return err
	}
	return put(statementsExtensionOID, StatementsExtension, catalog.BootstrapRoleOID, catalog.PgCatalogOID, false, statementsExtensionVers, nil, nil)
}

// extensionMembers produces the rows of pg_depend about the extension.
func extensionMembers(put put) error {
	for _, s := range []types.OID{catalog.MLSchemaOID, catalog.ClusterSchemaOID} {
		if err := put(classNamespace, s, 0, classExtension, extensionOID, 0, "e"); err != nil {
			return err
		}
	}
	for _, f := range fn.Described() {
		if f.Schema != "pg_catalog" {
			if err := put(classProc, f.OID, 0, classExtension, extensionOID, 0, "e"); err != nil {
				return err
			}
		}
	}
	if err := put(classClass, statementsRelation, 0, classExtension, statementsExtensionOID, 0, "e"); err != nil {
		return err
	}
	for _, sh := range shapes().list {
		if ours(sh.schema) {
			if err := put(classClass, sh.oid, 0, classExtension, extensionOID, 0, "e"); err != nil {
				return err
			}
		}
	}
	return nil
}

// pgInitPrivs produces the privileges that the system itself has granted, which a dump leaves out.
func pgInitPrivs(v *view, put put) error {
	kind := func(schema types.OID) string {
		if ours(schema) {
			return "e"
		}
		return "i"
	}
	for _, s := range catalog.New().Schemas() {
		if acl := v.aclText(s.Object()); acl != nil {
			if err := put(s.OID, classNamespace, 0, kind(s.OID), acl); err != nil {
				return err
			}
		}
	}
	for _, sh := range shapes().list {
		if err := put(sh.oid, classClass, 0, kind(sh.schema), v.aclText(catalog.Object{Class: catalog.ClassTable, Owner: catalog.BootstrapRoleOID, ACL: publicRead})); err != nil {
			return err
		}
	}
	return nil
}
