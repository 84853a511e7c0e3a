package sysview

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// The languages of functions.
const (
	sqlLanguage      types.OID = 14
	starlarkLanguage types.OID = 13991
)

// userProcs produces the rows of pg_proc of users' functions.
func userProcs(v *view, put put) error {
	for _, u := range v.st.Functions() {
		f := fn.Of(u)
		language, src := sqlLanguage, any(u.Body)
		if u.Language == catalog.LanguageStarlark {
			language = starlarkLanguage
		}
		var sqlBody any
		if u.Parsed {
			src, sqlBody = "", sysfn.ParsedBody(u)
		}
		var all []types.OID
		var modes []byte
		var names []string
		named, out := false, false
		for _, a := range u.Args {
			all, modes, names = append(all, a.Type.OID), append(modes, a.Mode), append(names, a.Name)
			named, out = named || a.Name != "", out || a.Mode != 'i'
		}
		if !out {
			all, modes = nil, nil
		}
		if !named {
			names = nil
		}
		var defaults any
		if len(f.Defaults) > 0 {
			defaults = strings.Join(f.Defaults, ", ")
		}
		var config any
		if len(u.Config) > 0 {
			list := []string{}
			for _, c := range u.Config {
				list = append(list, c.Name+"="+c.Value)
			}
			config = list
		}
		kind := "f"
		if u.Aggregate != nil {
			kind, language = "a", internalLanguage
		}
		err := put(u.OID, u.Name, u.Schema, u.Owner, language, u.Cost, u.Rows, f.Variadic, 0, kind, u.Definer, u.Leakproof,
			u.Strict, u.Set, string(rune(u.Volatility)), string(rune(u.Parallel)), len(f.Args), len(f.Defaults), u.Ret.OID, u.InputTypes(), all, modes, names, defaults,
			nil, src, nil, sqlBody, config, v.aclText(u.Object()))
		if err != nil {
			return err
		}
	}
	return nil
}

// userAggregates produces the rows of pg_aggregate of users' aggregates.
func userAggregates(v *view, put put) error {
	for _, u := range v.st.Functions() {
		a := u.Aggregate
		if a == nil {
			continue
		}
		var first any
		if a.Init != nil {
			first = *a.Init
		}
		if err := put(u.OID, "n", 0, a.Next, a.Final, a.Combine, 0, 0, 0, 0, 0, a.FinalExtra, false, string(rune(a.FinalModify)), "r", 0,
			a.State.OID, a.Space, 0, 0, first, nil); err != nil {
			return err
		}
	}
	return nil
}

// userDepends produces the rows of pg_depend about users' functions.
func userDepends(v *view, put put) error {
	for _, u := range v.st.Functions() {
		if err := put(classProc, u.OID, 0, classNamespace, u.Schema, 0, "n"); err != nil {
			return err
		}
		for _, d := range u.DependsOn {
			if err := put(classProc, u.OID, 0, classOf(v, d.OID), d.OID, d.Column, "n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// classOf is the catalog that an object is in.
func classOf(v *view, oid types.OID) types.OID {
	switch {
	case v.st.Function(oid) != nil:
		return classProc
	case v.st.EnumByOID(oid) != nil:
		return classType
	}
	return classClass
}

// typeOf sets the columns that name a type.
func typeOf(v *view, r *fields, prefix string, t types.OID) {
	data, space, name := types.TypeName(t), "pg_catalog", layout(t).Name
	if e := v.st.EnumByOID(t); e != nil {
		data, space, name = "USER-DEFINED", v.schemaName(e.Schema), e.Name
		if e.ArrayOID == t {
			data, name = "ARRAY", "_"+name
		}
	} else if layout(t).Category == 'A' {
		data = "ARRAY"
	}
	r.set("data_type", data).set(prefix+"udt_catalog", catalog.DatabaseName).set(prefix+"udt_schema", space).set(prefix+"udt_name", name)
}

// seesFunction reports whether information_schema shows a function to the session's role.
func seesFunction(v *view, u *catalog.Function) bool {
	return v.owns(u.Owner) || v.may(u.Object(), "X")
}

func userRoutines(v *view, put put) error {
	for _, u := range v.st.Functions() {
		if !seesFunction(v, u) || u.Aggregate != nil {
			continue
		}
		specific := u.Name + "_" + itoa(int64(u.OID))
		r := v.fields().set("specific_catalog", catalog.DatabaseName).set("specific_schema", v.schemaName(u.Schema)).set("specific_name", specific).
			set("routine_catalog", catalog.DatabaseName).set("routine_schema", v.schemaName(u.Schema)).set("routine_name", u.Name)
		r.set("routine_type", "FUNCTION").set("is_null_call", yesNo(u.Strict))
		typeOf(v, r, "type_", u.Ret.OID)
		body, language := "EXTERNAL", strings.ToUpper(u.Language)
		if u.Language == catalog.LanguageSQL {
			body = "SQL"
		}
		if v.owns(u.Owner) {
			r.set("routine_definition", u.Body)
		}
		security := "INVOKER"
		if u.Definer {
			security = "DEFINER"
		}
		r.set("dtd_identifier", "0").set("routine_body", body).set("external_language", language).set("parameter_style", "GENERAL").
			set("is_deterministic", yesNo(u.Volatility == 'i')).set("sql_data_access", "MODIFIES").set("schema_level_routine", "YES").
			set("max_dynamic_result_sets", 0).set("security_type", security).set("as_locator", "NO").set("is_udt_dependent", "NO")
		if err := put(r.row...); err != nil {
			return err
		}
	}
	return nil
}

func userParameters(v *view, put put) error {
	modes := map[byte]string{'i': "IN", 'v': "IN", 'o': "OUT", 't': "OUT", 'b': "INOUT"}
	for _, u := range v.st.Functions() {
		if !seesFunction(v, u) {
			continue
		}
		for i, a := range u.Args {
			r := v.fields().set("specific_catalog", catalog.DatabaseName).set("specific_schema", v.schemaName(u.Schema)).
				set("specific_name", u.Name+"_"+itoa(int64(u.OID))).set("ordinal_position", i+1).set("parameter_mode", modes[a.Mode]).
				set("is_result", "NO").set("as_locator", "NO").set("parameter_name", text(a.Name)).set("dtd_identifier", itoa(int64(i+1)))
			typeOf(v, r, "", a.Type.OID)
			if a.Default != "" && v.owns(u.Owner) {
				r.set("parameter_default", a.Default)
			}
			if err := put(r.row...); err != nil {
				return err
			}
		}
	}
	return nil
}

// userRoutineGrants shows EXECUTE of users' functions: what everybody sees, or what concerns the roles that the
// session's is a member of.
func userRoutineGrants(v *view, put put, all bool) error {
	for _, u := range v.st.Functions() {
		for _, g := range u.Object().Grants() {
			mine := v.owns(g.Grantor) || g.Role != 0 && v.owns(g.Role)
			if !mine && !(all && g.Role == 0) || !all && g.Role == 0 {
				continue
			}
			grantee := "PUBLIC"
			if g.Role != 0 {
				grantee = v.roleName(g.Role)
			}
			err := eachPriv(g.Privs, func(_ byte, grantable bool) error {
				return put(v.roleName(g.Grantor), grantee, catalog.DatabaseName, v.schemaName(u.Schema), u.Name+"_"+itoa(int64(u.OID)),
					catalog.DatabaseName, v.schemaName(u.Schema), u.Name, "EXECUTE", yesNo(grantable || g.Role == u.Owner))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
