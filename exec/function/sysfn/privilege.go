package sysfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type wantedPriv struct {
	letter byte
	option bool
}

var privLetters = map[string]byte{
	"INSERT": 'a', "SELECT": 'r', "UPDATE": 'w', "DELETE": 'd', "TRUNCATE": 'D', "REFERENCES": 'x', "TRIGGER": 't',
	"EXECUTE": 'X', "USAGE": 'U', "CREATE": 'C', "CONNECT": 'c', "TEMPORARY": 'T', "TEMP": 'T', "MEMBER": 'm', "SET": 's', "ALTER SYSTEM": 'A',
}

// parsePrivs reads a list of privileges such as "SELECT, INSERT WITH GRANT OPTION".
func parsePrivs(s, allowed string) ([]wantedPriv, error) {
	var out []wantedPriv
	for _, p := range strings.Split(s, ",") {
		w := strings.ToUpper(strings.TrimSpace(p))
		w, option := strings.CutSuffix(w, " WITH GRANT OPTION")
		if w2, ok := strings.CutSuffix(w, " WITH ADMIN OPTION"); ok {
			w, option = w2, true
		}
		l, ok := privLetters[w]
		if !ok || strings.IndexByte(allowed, l) < 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", strings.TrimSpace(p))
		}
		out = append(out, wantedPriv{l, option})
	}
	return out, nil
}

// roleArg resolves a role given by name or OID.
func roleArg(h function.Host, d types.Datum) (types.OID, error) {
	if s, ok := d.(string); ok {
		if s == "public" {
			return 0, nil
		}
		if r := h.Catalog().RoleByName(s); r != nil {
			return r.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", s)
	}
	return types.OID(d.(int64)), nil
}

// addPrivileges registers the has_…_privilege functions, in all their forms:
// with the role by name, by OID or the current one, the object by name or OID.
func addPrivileges(t function.Table) {
	for _, f := range fn.All() {
		kind, ok := strings.CutPrefix(f.Name, "has_")
		kind, ok2 := strings.CutSuffix(kind, "_privilege")
		if f.Kind != fn.Scalar || !(ok && ok2) && f.Name != "pg_has_role" {
			continue
		}
		objects := 1
		if kind == "column" {
			objects = 2
		}
		byRole := len(f.Args) == objects+2
		if f.Name == "pg_has_role" {
			t.Put(f.ID, hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) { return hasRole(h, a) }))
			continue
		}
		t.Put(f.ID, hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			role := h.Session().User
			if byRole {
				var err error
				if role, err = roleArg(h, a[0]); err != nil {
					return nil, err
				}
				a = a[1:]
			}
			return hasPrivilege(h, role, kind, a[:objects], a[objects].(string))
		}))
	}
}

func hasRole(h function.Host, a []types.Datum) (types.Datum, error) {
	role := h.Session().User
	if len(a) == 3 {
		var err error
		if role, err = roleArg(h, a[0]); err != nil {
			return nil, err
		}
		a = a[1:]
	}
	of, err := roleArg(h, a[0])
	if err != nil {
		return nil, err
	}
	want, err := parsePrivs(a[1].(string), "mU")
	if err != nil {
		return nil, err
	}
	st := h.Catalog()
	for _, w := range want {
		if w.letter == 'm' && st.MemberOf(role, of) || w.letter == 'U' && st.Inherits(role, of) {
			return true, nil
		}
	}
	return false, nil
}

func hasPrivilege(h function.Host, role types.OID, kind string, obj []types.Datum, privs string) (types.Datum, error) {
	st := h.Catalog()
	some := func(allowed string, has func(letter byte) bool, mayGrant func(letter byte) bool) (types.Datum, error) {
		want, err := parsePrivs(privs, allowed)
		if err != nil {
			return nil, err
		}
		for _, w := range want {
			if w.option && mayGrant(w.letter) || !w.option && has(w.letter) {
				return true, nil
			}
		}
		return false, nil
	}
	on := func(o catalog.Object) (types.Datum, error) {
		return some(o.Class.Privileges(), func(l byte) bool { return st.May(role, o, l) }, func(l byte) bool { return st.MayGrant(role, o, l) })
	}
	switch kind {
	case "table", "any_column", "column", "sequence":
		oid, err := relationArg(h, obj[0])
		if err != nil {
			return nil, err
		}
		allowed := map[string]string{"table": "arwdDxt", "any_column": "arwx", "column": "arwx", "sequence": "rwU"}[kind]
		r := st.RelationByOID(oid)
		if r == nil {
			if _, _, ok := objname.SystemRelationName(h, oid); ok {
				// everybody reads the system's relations
				want, err := parsePrivs(privs, allowed)
				if err != nil {
					return nil, err
				}
				for _, w := range want {
					if w.letter == 'r' && !w.option {
						return true, nil
					}
				}
				return st.Super(role), nil
			}
			return nil, nil
		}
		if kind == "sequence" && r.Kind != catalog.KindSequence {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", r.Name)
		}
		o := r.Object()
		switch kind {
		case "table":
			o.Class = catalog.ClassTable // whose privileges may be asked of any relation
			return on(o)
		case "sequence":
			return on(o)
		case "any_column":
			return some(allowed, func(l byte) bool { return st.MayAnyColumn(role, r, l) }, func(l byte) bool { return st.MayGrant(role, o, l) })
		}
		var c *catalog.Column
		if name, ok := obj[1].(string); ok {
			if c = r.Column(name); c == nil {
				return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, r.Name)
			}
		} else if c = r.ColumnNum(int16(obj[1].(int64))); c == nil {
			return nil, nil
		}
		return some(allowed, func(l byte) bool { return st.MayColumn(role, r, c, l) }, func(l byte) bool {
			return st.MayGrant(role, o, l) || st.MayGrant(role, c.Object(r), l)
		})
	case "schema":
		var s *catalog.Schema
		if name, ok := obj[0].(string); ok {
			if s = st.SchemaByName(name); s == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
			}
		} else if s = st.Schema(types.OID(obj[0].(int64))); s == nil {
			return nil, nil
		}
		return on(s.Object())
	case "database":
		if name, ok := obj[0].(string); ok && name != h.Session().Database {
			return nil, pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
		}
		return on(st.Database().Object())
	case "model":
		m, err := modelArg(h, obj[0])
		if m == nil {
			return nil, err
		}
		return on(m.Object())
	case "type", "language":
		return on(catalog.Object{Class: catalog.ClassType, Owner: catalog.BootstrapRoleOID})
	case "tablespace":
		return some("C", func(byte) bool { return st.Super(role) }, func(byte) bool { return st.Super(role) })
	case "function":
		oid, name := types.OID(0), ""
		switch x := obj[0].(type) {
		case string:
			name = x
			var err error
			if oid, err = objname.FindCallable(h, types.RegprocedureOID, name); err != nil {
				return nil, err
			}
		case int64:
			oid = types.OID(x)
		}
		if u := st.Function(oid); u != nil {
			return on(u.Object())
		}
		return on(catalog.Object{Class: catalog.ClassFunction, Owner: catalog.BootstrapRoleOID})
	}
	switch name, byName := obj[0].(string); {
	case kind == "server" && byName: // there are none
		return nil, pgerr.New(pgerr.UndefinedObject, "server \"%s\" does not exist", name)
	case kind == "foreign_data_wrapper" && byName:
		return nil, pgerr.New(pgerr.UndefinedObject, "foreign-data wrapper \"%s\" does not exist", name)
	case kind == "server" || kind == "foreign_data_wrapper":
		return nil, nil
	}
	return nil, pgerr.Unsupported("has_%s_privilege is not supported", kind)
}

func relationArg(h function.Host, d types.Datum) (types.OID, error) {
	s, ok := d.(string)
	if !ok {
		return types.OID(d.(int64)), nil
	}
	p, err := objname.NameParts(s, catalog.RelationName)
	if err != nil {
		return 0, err
	}
	if o := objname.FindRelation(h, p); o != 0 {
		return o, nil
	}
	return 0, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", objname.Dotted(p))
}

// modelArg resolves a model given by name or OID; nil where the OID is of none.
func modelArg(h function.Host, d types.Datum) (*catalog.Model, error) {
	st := h.Catalog()
	s, ok := d.(string)
	if !ok {
		return st.ModelByOID(types.OID(d.(int64))), nil
	}
	p, err := objname.NameParts(s, catalog.ObjectName)
	if err != nil {
		return nil, err
	}
	schemas := objname.SchemaPath(h.Session())
	if len(p) == 2 {
		schemas = nil
		if sc := st.SchemaByName(p[0]); sc != nil {
			schemas = []types.OID{sc.OID}
		}
	}
	for _, sc := range schemas {
		if m := st.Model(sc, p[len(p)-1]); m != nil {
			return m, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" does not exist", objname.Dotted(p))
}
