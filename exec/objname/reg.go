package objname

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// SystemRelations is a Host that knows the relations computed at the gateway
// (pg_catalog, information_schema, ml, cluster).
type SystemRelations interface {
	SystemRelation(schema, name string) (types.OID, bool)
	SystemRelationName(oid types.OID) (schema, name string, ok bool)
}

// Procedures is a Host that knows procedures that no statement can call, such
// as array_in, by name.
type Procedures interface {
	Procedure(name string) (types.OID, bool)
	ProcedureName(oid types.OID) (string, bool)
	ProcedureArgs(oid types.OID) []types.OID
}

// systemCatalogs are catalogs whose OID is fixed, for hosts that know no more.
var systemCatalogs = map[string]types.OID{
	"pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_authid": 1260, "pg_auth_members": 1261,
	"pg_database": 1262, "pg_tablespace": 1213, "pg_shdepend": 1214, "pg_am": 2601, "pg_attrdef": 2604, "pg_cast": 2605,
	"pg_constraint": 2606, "pg_conversion": 2607, "pg_depend": 2608, "pg_description": 2609, "pg_index": 2610, "pg_inherits": 2611,
	"pg_language": 2612, "pg_namespace": 2615, "pg_opclass": 2616, "pg_operator": 2617, "pg_rewrite": 2618, "pg_statistic": 2619,
	"pg_trigger": 2620, "pg_opfamily": 2753, "pg_extension": 3079, "pg_collation": 3456, "pg_enum": 3501, "pg_range": 3541,
	"pg_sequence": 2224, "pg_shdescription": 2396, "pg_aggregate": 2600, "pg_foreign_server": 1417, "pg_foreign_table": 3118,
	"pg_partitioned_table": 3350, "pg_policy": 3256, "pg_publication": 6104, "pg_subscription": 6100, "pg_ts_config": 3602,
}

// NameParts is catalog.SplitName without the database: one part or two.
func NameParts(s string, take func(...string) (string, string, error)) ([]string, error) {
	parts, err := catalog.SplitName(s)
	if err != nil {
		return nil, err
	}
	schema, name, err := take(parts...)
	if err != nil {
		return nil, err
	}
	if schema == "" {
		return []string{name}, nil
	}
	return []string{schema, name}, nil
}

// Dotted joins a name's parts.
func Dotted(parts []string) string { return strings.Join(parts, ".") }

// SchemaPath returns the schemas searched for an unqualified name: the temporary one, pg_catalog,
// and the path.
func SchemaPath(s *function.Session) []types.OID {
	var out []types.OID
	if s.Temp != 0 {
		out = append(out, s.Temp)
	}
	implied := true
	for _, o := range s.Path {
		implied = implied && o != catalog.PgCatalogOID
	}
	if implied {
		out = append(out, catalog.PgCatalogOID)
	}
	for _, o := range s.Path {
		if o != s.Temp {
			out = append(out, o)
		}
	}
	return out
}

// FindRelation finds a relation by the parts of its name; 0 if there is none.
func FindRelation(h function.Host, parts []string) types.OID {
	st := h.Catalog()
	if len(parts) == 2 {
		if sys, ok := SystemRelation(h, parts[0], parts[1]); ok {
			return sys
		}
		sc := st.SchemaByName(parts[0])
		if parts[0] == "pg_temp" {
			sc = st.Schema(h.Session().Temp)
		}
		if sc == nil {
			return 0
		}
		if r := st.Relation(sc.OID, parts[1]); r != nil {
			return r.OID
		}
		return 0
	}
	for _, o := range SchemaPath(h.Session()) {
		if r := st.Relation(o, parts[0]); r != nil {
			return r.OID
		}
		if sc := st.Schema(o); sc != nil {
			if sys, ok := SystemRelation(h, sc.Name, parts[0]); ok {
				return sys
			}
		} else if o == catalog.PgCatalogOID {
			if sys, ok := SystemRelation(h, "pg_catalog", parts[0]); ok {
				return sys
			}
		}
	}
	return 0
}

// SystemRelation finds a relation that is computed at the gateway.
func SystemRelation(h function.Host, schema, name string) (types.OID, bool) {
	if s, ok := h.(SystemRelations); ok {
		return s.SystemRelation(schema, name)
	}
	if schema == "pg_catalog" {
		o, ok := systemCatalogs[name]
		return o, ok
	}
	return 0, false
}

// SystemRelationName names a relation that is computed at the gateway.
func SystemRelationName(h function.Host, oid types.OID) (schema, name string, ok bool) {
	if s, is := h.(SystemRelations); is {
		return s.SystemRelationName(oid)
	}
	for n, o := range systemCatalogs {
		if o == oid {
			return "pg_catalog", n, true
		}
	}
	return "", "", false
}

// RegIn returns the object that a name denotes, for the input of the reg* types.
func RegIn(h function.Host, t types.OID, name string) (types.OID, error) {
	st := h.Catalog()
	switch t {
	case types.RegtypeOID:
		return findType(h, name)
	case types.RegprocedureOID, types.RegoperatorOID:
		if err := operatorSchema(st, t, name); err != nil {
			return 0, err
		}
		return FindCallable(h, t, name)
	case types.RegoperOID:
		if err := operatorSchema(st, t, name); err != nil {
			return 0, err
		}
		return findOperatorName(name)
	}
	var parts []string
	var err error
	switch t {
	case types.RegnamespaceOID, types.RegroleOID:
		parts, err = catalog.SplitName(name)
	case types.RegclassOID:
		parts, err = NameParts(name, catalog.RelationName)
	default:
		parts, err = NameParts(name, catalog.ObjectName)
	}
	if err != nil {
		return 0, err
	}
	if len(parts) == 2 && parts[0] != "pg_temp" && st.SchemaByName(parts[0]) == nil {
		switch t {
		case types.RegclassOID, types.RegprocOID, types.RegcollationOID:
			return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", parts[0])
		}
	}
	switch t {
	case types.RegclassOID:
		if o := FindRelation(h, parts); o != 0 {
			return o, nil
		}
		return 0, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", Dotted(parts))
	case types.RegnamespaceOID:
		if len(parts) > 1 {
			return 0, pgerr.New(pgerr.InvalidName, "invalid name syntax")
		}
		if s := st.SchemaByName(parts[0]); s != nil {
			return s.OID, nil
		}
		return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", parts[0])
	case types.RegroleOID:
		if len(parts) > 1 {
			return 0, pgerr.New(pgerr.InvalidName, "invalid name syntax")
		}
		if r := st.RoleByName(parts[0]); r != nil {
			return r.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", parts[0])
	case types.RegprocOID:
		list := Overloads(h, parts)
		switch len(list) {
		case 0:
			if p, ok := h.(Procedures); ok && (len(parts) == 1 || parts[0] == "pg_catalog") {
				if o, ok := p.Procedure(parts[len(parts)-1]); ok {
					return o, nil
				}
			}
			return 0, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", Dotted(parts))
		case 1:
			return list[0].OID, nil
		}
		return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one function named \"%s\"", Dotted(parts))
	case types.RegcollationOID:
		for n, o := range collations {
			if n == parts[len(parts)-1] {
				return o, nil
			}
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", Dotted(parts))
	case types.RegconfigOID:
		return 0, pgerr.New(pgerr.UndefinedObject, "text search configuration \"%s\" does not exist", Dotted(parts))
	}
	return 0, pgerr.Unsupported("names of type %s are not supported", types.TypeName(t))
}

var collations = map[string]types.OID{"default": 100, "C": 950, "POSIX": 951, "c": 950, "posix": 951, "ucs_basic": 12341}

// findType finds a type by its SQL name or pg_type name.
func findType(h function.Host, name string) (types.OID, error) {
	missing := pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", strings.TrimSpace(name))
	base, mods, hasMods := strings.Cut(name, "(")
	if hasMods {
		if i := strings.IndexByte(mods, ')'); i >= 0 {
			base += mods[i+1:]
		}
	}
	if o, ok := types.ByName(base); ok {
		return o, nil
	}
	array := false
	s := strings.TrimSpace(name)
	for strings.HasSuffix(s, "[]") {
		s, array = strings.TrimSuffix(s, "[]"), true
	}
	parts, err := NameParts(s, catalog.ObjectName)
	if err != nil {
		return 0, err
	}
	st := h.Catalog()
	schemas := SchemaPath(h.Session())
	if len(parts) == 2 {
		if parts[0] == "pg_catalog" {
			base := parts[1]
			if array {
				base += "[]"
			}
			if o, ok := types.ByName(base); ok {
				return o, nil
			}
		}
		sc := st.SchemaByName(parts[0])
		if sc == nil {
			return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", parts[0])
		}
		schemas = []types.OID{sc.OID}
	}
	last := parts[len(parts)-1]
	for _, o := range schemas {
		if e := st.Enum(o, last); e != nil {
			if array {
				return e.ArrayOID, nil
			}
			return e.OID, nil
		}
		if r := st.Relation(o, last); r != nil && r.HasRowType() {
			if array {
				return types.RowArray(r.OID), nil
			}
			return types.RowType(r.OID), nil
		}
	}
	return 0, missing
}

// FindCallable finds a function or operator by name(argument types).
func FindCallable(h function.Host, t types.OID, text string) (types.OID, error) {
	head, args, ok := strings.Cut(text, "(")
	args, closed := strings.CutSuffix(strings.TrimSpace(args), ")")
	if !ok || !closed {
		return 0, pgerr.New(pgerr.InvalidTextRepresentation, "expected a left parenthesis")
	}
	var oids []types.OID
	if strings.TrimSpace(args) != "" {
		for _, a := range strings.Split(args, ",") {
			a = strings.TrimSpace(a)
			if strings.EqualFold(a, "none") {
				oids = append(oids, 0)
				continue
			}
			o, ok := types.ByName(a)
			if !ok && a == `"any"` {
				o, ok = types.AnyOID, true
			}
			if !ok {
				var err error
				if o, err = findType(h, a); err != nil {
					return 0, err
				}
			}
			oids = append(oids, o)
		}
	}
	name := strings.TrimSpace(head)
	name = strings.TrimPrefix(name, "pg_catalog.")
	if t == types.RegoperatorOID {
		if len(oids) != 2 {
			return 0, pgerr.New(pgerr.UndefinedParameter, "missing argument").WithHint("Use NONE to denote the missing argument of a unary operator.")
		}
		if op := fn.FindOperator(name, oids[0], oids[1]); op != nil {
			return op.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", text)
	}
	parts, err := NameParts(name, catalog.ObjectName)
	if err != nil {
		return 0, err
	}
next:
	for _, f := range Overloads(h, parts) {
		if len(f.Args) != len(oids) {
			continue
		}
		for i, o := range oids {
			if f.Args[i] != o {
				continue next
			}
		}
		return f.OID, nil
	}
	if ps, ok := h.(Procedures); ok {
		if oid, ok := ps.Procedure(parts[len(parts)-1]); ok && slices.Equal(ps.ProcedureArgs(oid), oids) {
			return oid, nil
		}
	}
	return 0, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", text)
}

// signature is a function's name as regprocedure prints it.
// functionName is a function's name, with its schema where that is not always searched.
func functionName(h function.Host, f *fn.Func) string {
	if f.User != nil {
		return Qualified(h, f.User.Schema, f.User.Name, FunctionVisible(h, f.User))
	}
	if f.Schema == "pg_catalog" {
		return lex.QuoteName(f.Name)
	}
	return lex.QuoteName(f.Schema) + "." + lex.QuoteName(f.Name)
}

// argList is the types of arguments, in parentheses.
func argList(h function.Host, of []types.OID) string {
	args := make([]string, len(of))
	for i, a := range of {
		args[i] = types.TypeName(a)
		if _, system := types.PgTypeOf(a); !system {
			if s, ok := TypeName(h, a, -1); ok {
				args[i] = s
			}
		}
	}
	return "(" + strings.Join(args, ",") + ")"
}

// operatorSchema fails if the name of an operator, or of a function with its
// arguments, is qualified with a schema that is not there or has none.
func operatorSchema(st *catalog.State, t types.OID, name string) error {
	head, _, _ := strings.Cut(strings.TrimSpace(name), "(")
	schema, op, ok := strings.Cut(head, ".")
	if !ok || schema == "" || op == "" || !strings.ContainsAny(schema[:1], `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"`) {
		return nil
	}
	parts, err := catalog.SplitName(schema)
	if err != nil {
		return err
	}
	switch {
	case st.SchemaByName(parts[0]) == nil && t != types.RegoperatorOID:
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", parts[0])
	case parts[0] != "pg_catalog" && t != types.RegprocedureOID: // there are no operators of users
		return pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", strings.TrimSpace(name))
	}
	return nil
}

func findOperatorName(name string) (types.OID, error) {
	n := strings.TrimPrefix(strings.TrimSpace(name), "pg_catalog.")
	list := append(append([]*fn.Operator(nil), fn.Operators(n)...), fn.Prefix(n)...)
	switch len(list) {
	case 0:
		return 0, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", name)
	case 1:
		return list[0].OID, nil
	}
	return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one operator named %s", name)
}

// RegOut returns the name of an object as the reg* types print it: qualified where
// the search path would not find it.
func RegOut(h function.Host, t types.OID, oid types.OID) (string, bool) {
	st := h.Catalog()
	switch t {
	case types.RegclassOID:
		if r := st.RelationByOID(oid); r != nil {
			return Qualified(h, r.Schema, r.Name, FindRelation(h, []string{r.Name}) == r.OID), true
		}
		if schema, name, ok := SystemRelationName(h, oid); ok {
			if schema == "pg_catalog" || FindRelation(h, []string{name}) == oid {
				return lex.QuoteName(name), true
			}
			return lex.QuoteName(schema) + "." + lex.QuoteName(name), true
		}
	case types.RegtypeOID:
		if _, ok := types.PgTypeOf(oid); ok {
			return types.TypeName(oid), true // bpchar without a length is bpchar to format_type() alone
		}
		return TypeName(h, oid, -1)
	case types.RegnamespaceOID:
		if s := st.Schema(oid); s != nil {
			return lex.QuoteName(s.Name), true
		}
	case types.RegroleOID:
		if r := st.Role(oid); r != nil {
			return lex.QuoteName(r.Name), true
		}
	case types.RegprocOID:
		if f := FunctionOf(h, oid); f != nil {
			return functionName(h, f), true
		}
		if p, ok := h.(Procedures); ok {
			return p.ProcedureName(oid)
		}
	case types.RegprocedureOID:
		if f := FunctionOf(h, oid); f != nil {
			return functionName(h, f) + argList(h, f.Args), true
		}
		if ps, ok := h.(Procedures); ok {
			if name, ok := ps.ProcedureName(oid); ok {
				return lex.QuoteName(name) + argList(h, ps.ProcedureArgs(oid)), true
			}
		}
	case types.RegoperOID, types.RegoperatorOID:
		for _, o := range fn.AllOperators() {
			if o.OID != oid {
				continue
			}
			if t == types.RegoperOID {
				return o.Name, true
			}
			left := "NONE"
			if o.Left != 0 {
				left = types.TypeName(o.Left)
			}
			return o.Name + "(" + left + "," + types.TypeName(o.Right) + ")", true
		}
	case types.RegcollationOID:
		for _, n := range []string{"default", "C", "POSIX"} {
			if collations[n] == oid {
				return lex.QuoteName(n), true
			}
		}
	}
	return "", false
}

// Qualified puts a schema before a name, both quoted where need be.
func Qualified(h function.Host, schema types.OID, name string, visible bool) string {
	if !visible {
		if s := h.Catalog().Schema(schema); s != nil {
			return lex.QuoteName(s.Name) + "." + lex.QuoteName(name)
		}
	}
	return lex.QuoteName(name)
}

// TypeName returns the result of format_type(): for built-in types, then for a user's.
func TypeName(h function.Host, oid types.OID, mod int32) (string, bool) {
	if _, ok := types.PgTypeOf(oid); ok {
		return types.Type{OID: oid, Mod: mod}.String(), true
	}
	if h == nil {
		return "", false
	}
	st := h.Catalog()
	if e := st.EnumByOID(oid); e != nil {
		visible := false
		for _, s := range SchemaPath(h.Session()) {
			if x := st.Enum(s, e.Name); x != nil {
				visible = x.OID == e.OID
				break
			}
		}
		n := Qualified(h, e.Schema, e.Name, visible)
		if e.ArrayOID == oid {
			n += "[]"
		}
		return n, true
	}
	if rel, array, ok := types.RowTypeOf(oid); ok {
		if r := st.RelationByOID(rel); r != nil && r.HasRowType() {
			n := Qualified(h, r.Schema, r.Name, FindRelation(h, []string{r.Name}) == r.OID)
			if array {
				n += "[]"
			}
			return n, true
		}
	}
	return "", false
}
