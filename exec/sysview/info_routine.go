package sysview

import (
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func specificName(f *fn.Func) string { return f.Name + "_" + itoa(int64(f.OID)) }

func infoRoutines(v *view, put put) error {
	for _, f := range fn.Described() {
		r := v.fields().set("specific_catalog", catalog.DatabaseName).set("specific_schema", f.Schema).set("specific_name", specificName(f)).
			set("routine_catalog", catalog.DatabaseName).set("routine_schema", f.Schema).set("routine_name", f.Name)
		if f.Kind == fn.Scalar || f.Kind == fn.SetReturning {
			r.set("routine_type", "FUNCTION")
		}
		data := types.TypeName(f.Ret)
		if layout(f.Ret).Category == 'A' {
			data = "ARRAY"
		}
		r.set("data_type", data).set("type_udt_catalog", catalog.DatabaseName).set("type_udt_schema", "pg_catalog").
			set("type_udt_name", layout(f.Ret).Name).set("dtd_identifier", "0").set("routine_body", "EXTERNAL").set("external_language", "INTERNAL").
			set("parameter_style", "GENERAL").set("is_deterministic", yesNo(f.Vol == fn.Immutable)).set("sql_data_access", "MODIFIES").
			set("is_null_call", yesNo(f.Strict)).set("schema_level_routine", "YES").set("max_dynamic_result_sets", 0).set("security_type", "INVOKER").
			set("as_locator", "NO").set("is_udt_dependent", "NO")
		if err := put(r.row...); err != nil {
			return err
		}
	}
	return userRoutines(v, put)
}

func infoParameters(v *view, put put) error {
	for _, f := range fn.Described() {
		for i, a := range f.Args {
			r := v.fields().set("specific_catalog", catalog.DatabaseName).set("specific_schema", f.Schema).set("specific_name", specificName(f)).
				set("ordinal_position", i+1).set("parameter_mode", "IN").set("is_result", "NO").set("as_locator", "NO")
			if i < len(f.ArgNames) {
				r.set("parameter_name", text(f.ArgNames[i]))
			}
			data := types.TypeName(a)
			if layout(a).Category == 'A' {
				data = "ARRAY"
			}
			r.set("data_type", data).set("udt_catalog", catalog.DatabaseName).set("udt_schema", "pg_catalog").set("udt_name", layout(a).Name).
				set("dtd_identifier", itoa(int64(i+1)))
			if d := i - (len(f.Args) - len(f.Defaults)); d >= 0 {
				r.set("parameter_default", f.Defaults[d])
			}
			if err := put(r.row...); err != nil {
				return err
			}
		}
	}
	return userParameters(v, put)
}

func infoRoutinePrivileges(v *view, put put) error {
	if err := v.routineGrants(put, "PUBLIC"); err != nil {
		return err
	}
	return userRoutineGrants(v, put, true)
}

func infoRoleRoutineGrants(v *view, put put) error {
	if v.owns(catalog.BootstrapRoleOID) {
		if err := v.routineGrants(put, v.roleName(catalog.BootstrapRoleOID)); err != nil {
			return err
		}
	}
	return userRoutineGrants(v, put, false)
}

func (v *view) routineGrants(put put, grantee string) error {
	for _, f := range fn.Described() {
		err := put(v.roleName(catalog.BootstrapRoleOID), grantee, catalog.DatabaseName, f.Schema, specificName(f),
			catalog.DatabaseName, f.Schema, f.Name, "EXECUTE", yesNo(grantee != "PUBLIC"))
		if err != nil {
			return err
		}
	}
	return nil
}
