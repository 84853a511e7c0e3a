package sysfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The catalogs that an object's class names, by OID.
const (
	classType       = 1247
	classProc       = 1255
	classRelation   = 1259
	classRole       = 1260
	classDatabase   = 1262
	classConstraint = 2606
	classNamespace  = 2615
)

// object is what pg_describe_object and its kin tell of one.
type object struct {
	kind, schema, name string // schema and name where the name alone identifies it
	identity           string
	names, args        []string
	described          string
}

func (o *object) row() types.Row {
	return types.Row{o.kind, orNull(o.schema), orNull(o.name), o.identity}
}

func orNull(s string) types.Datum {
	if s == "" {
		return nil
	}
	return s
}

var relationWords = map[catalog.RelKind]string{catalog.KindTable: "table", catalog.KindView: "view", catalog.KindMatView: "materialized view",
	catalog.KindSequence: "sequence", catalog.KindIndex: "index", catalog.KindComposite: "composite type"}

// find returns nil for an object that is not there.
func findObject(h function.Host, class, oid types.OID, sub int64) (*object, error) {
	st := h.Catalog()
	named := func(kind, schema, name, short string) *object {
		return &object{kind: kind, schema: schema, name: name, identity: lex.QuoteName(schema) + "." + lex.QuoteName(name),
			names: []string{schema, name}, described: kind + " " + short}
	}
	part := func(r *catalog.Relation, kind, name string) *object {
		s := st.Schema(r.Schema).Name
		return &object{kind: kind, identity: lex.QuoteName(s) + "." + lex.QuoteName(r.Name) + "." + lex.QuoteName(name), names: []string{s, r.Name, name}}
	}
	switch class {
	case classRelation:
		short, _ := objname.RegOut(h, types.RegclassOID, oid)
		if schema, name, ok := objname.SystemRelationName(h, oid); ok {
			kind := "table"
			if schema != "pg_catalog" || strings.HasPrefix(name, "pg_stat") {
				kind = "view"
			}
			return named(kind, schema, name, short), nil
		}
		r := st.RelationByOID(oid)
		if r == nil {
			return nil, nil
		}
		o := named(relationWords[r.Kind], st.Schema(r.Schema).Name, r.Name, short)
		if sub == 0 {
			return o, nil
		}
		for _, c := range r.Live() {
			if int64(c.Num) == sub {
				p := part(r, o.kind+" column", c.Name)
				p.schema, p.name, p.described = o.schema, r.Name, "column "+c.Name+" of "+o.described
				return p, nil
			}
		}
		return nil, nil
	case classConstraint:
		for _, r := range st.Relations() {
			for _, c := range r.Constraints {
				if c.OID != oid {
					continue
				}
				short, _ := objname.RegOut(h, types.RegclassOID, r.OID)
				o := part(r, "table constraint", c.Name)
				o.schema, o.described = o.names[0], "constraint "+c.Name+" on table "+short
				o.identity = lex.QuoteName(c.Name) + " on " + lex.QuoteName(o.names[0]) + "." + lex.QuoteName(r.Name)
				return o, nil
			}
		}
		return nil, nil
	case classNamespace:
		if s := st.Schema(oid); s != nil {
			return &object{kind: "schema", name: s.Name, identity: lex.QuoteName(s.Name), names: []string{s.Name}, described: "schema " + s.Name}, nil
		}
		return nil, nil
	case classRole:
		if r := st.Role(oid); r != nil {
			return &object{kind: "role", name: r.Name, identity: lex.QuoteName(r.Name), names: []string{r.Name}, described: "role " + r.Name}, nil
		}
		return nil, nil
	case classType:
		name, ok := objname.RegOut(h, types.RegtypeOID, oid)
		if !ok {
			return nil, nil
		}
		o := &object{kind: "type", schema: "pg_catalog", name: name, identity: name, described: "type " + name}
		if e := st.EnumByOID(oid); e != nil {
			o.schema, o.name = st.Schema(e.Schema).Name, e.Name
			o.identity = lex.QuoteName(o.schema) + "." + lex.QuoteName(o.name)
		} else if base, ok := types.BaseName(oid); ok {
			o.name = base
		}
		o.names = []string{o.identity}
		return o, nil
	case classProc:
		f := objname.FunctionOf(h, oid)
		if f == nil {
			return nil, nil
		}
		space := f.Schema
		if f.User != nil {
			space = st.Schema(f.User.Schema).Name
		}
		kind := "function"
		if f.Kind == fn.Aggregate {
			kind = "aggregate"
		}
		short, _ := objname.RegOut(h, types.RegprocedureOID, oid)
		o := &object{kind: kind, schema: space, names: []string{space, f.Shown()}, described: kind + " " + short}
		list := ""
		for i, a := range f.Args {
			name := types.TypeName(a)
			if base, ok := types.BaseName(a); ok && base == name {
				name = "pg_catalog." + name
			}
			if o.args = append(o.args, name); i > 0 {
				list += ","
			}
			list += name
		}
		o.identity = space + "." + lex.QuoteName(f.Shown()) + "(" + list + ")"
		return o, nil
	case classDatabase:
		return &object{kind: "database", name: h.Session().Database, identity: lex.QuoteName(h.Session().Database), names: []string{h.Session().Database},
			described: "database " + h.Session().Database}, nil
	}
	if schema, _, ok := objname.SystemRelationName(h, class); ok && schema == "pg_catalog" {
		return nil, pgerr.Unsupported("descriptions of objects of class %d are not supported", class)
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized object class: %d", class)
}

// addObjects registers pg_describe_object.
func addObjects(t function.Table) {
	t.Put("pg_describe_object(oid,oid,int4)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if a[0] == nil || a[1] == nil || a[2] == nil || a[0] == int64(0) && a[1] == int64(0) {
			return nil, nil
		}
		o, err := findObject(h, types.OID(a[0].(int64)), types.OID(a[1].(int64)), a[2].(int64))
		if o == nil {
			return nil, err
		}
		return o.described, nil
	}))
}

func texts(list []string) types.Datum {
	out := types.Array{Elem: types.Text}
	for _, s := range list {
		out.Elems = append(out.Elems, s)
	}
	return out
}

// AddObjects registers the functions that return an object's parts as a row.
func AddObjects(m map[string]function.SetMaker) {
	row := func(show func(*object) types.Row, none types.Row) function.SetMaker {
		return func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			if c.Env.Host == nil {
				return nil, pgerr.Unsupported("function %s is not supported here", c.Call.Fn.Name)
			}
			o, err := findObject(c.Env.Host, types.OID(a[0].(int64)), types.OID(a[1].(int64)), a[2].(int64))
			if err != nil {
				return nil, err
			}
			if o == nil {
				return c.List([]types.Datum{none}), nil
			}
			return c.List([]types.Datum{show(o)}), nil
		}
	}
	m["pg_identify_object(oid,oid,int4)"] = row((*object).row, types.Row{nil, nil, nil, nil})
	m["pg_identify_object_as_address(oid,oid,int4)"] = row(func(o *object) types.Row { return types.Row{o.kind, texts(o.names), texts(o.args)} }, types.Row{nil, nil, nil})
	m["pg_get_object_address(text,text[],text[])"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		if c.Env.Host == nil {
			return nil, pgerr.Unsupported("function pg_get_object_address is not supported here")
		}
		r, err := objectAddress(c.Env.Host, a[0].(string), a[1])
		if err != nil {
			return nil, err
		}
		return c.List([]types.Datum{r}), nil
	}
	m["pg_tablespace_databases(oid)"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		const pgDefault = 1663
		var rows []types.Datum
		if a[0] == int64(pgDefault) {
			rows = append(rows, int64(catalog.DatabaseOID))
		}
		return c.List(rows), nil
	}
}

func objectAddress(h function.Host, kind string, list types.Datum) (types.Row, error) {
	var names []string
	if arr, ok := list.(types.Array); ok {
		for _, e := range arr.Elems {
			s, ok := e.(string)
			if !ok {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "name or argument lists may not contain nulls")
			}
			names = append(names, s)
		}
	}
	st := h.Catalog()
	missing := func(code pgerr.Code, what string) error {
		return pgerr.New(code, "%s \"%s\" does not exist", what, objname.Dotted(names))
	}
	column := strings.HasSuffix(kind, " column")
	word := strings.TrimSuffix(kind, " column")
	for k, w := range relationWords {
		if w != word || k == catalog.KindComposite {
			continue
		}
		of, col := names, ""
		if column && len(names) > 0 {
			of, col = names[:len(names)-1], names[len(names)-1]
		}
		if len(of) < 1 || len(of) > 2 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "name list length must be at least %d", 1)
		}
		oid := objname.FindRelation(h, of)
		r := st.RelationByOID(oid)
		if oid == 0 || r != nil && r.Kind != k {
			return nil, missing(pgerr.UndefinedTable, "relation")
		}
		if !column {
			return types.Row{int64(classRelation), int64(oid), int64(0)}, nil
		}
		if r != nil {
			if c := r.Column(col); c != nil {
				return types.Row{int64(classRelation), int64(oid), int64(c.Num)}, nil
			}
		}
		return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", col, objname.Dotted(of))
	}
	if len(names) != 1 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "name list length must be exactly %d", 1)
	}
	var oid types.OID
	var err error
	class := 0
	switch kind {
	case "schema":
		class = classNamespace
		oid, err = objname.RegIn(h, types.RegnamespaceOID, lex.QuoteName(names[0]))
	case "role":
		class = classRole
		oid, err = objname.RegIn(h, types.RegroleOID, lex.QuoteName(names[0]))
	case "type":
		class = classType
		oid, err = objname.RegIn(h, types.RegtypeOID, names[0])
	default:
		return nil, pgerr.Unsupported("addresses of objects of type \"%s\" are not supported", kind)
	}
	return types.Row{int64(class), int64(oid), int64(0)}, err
}
