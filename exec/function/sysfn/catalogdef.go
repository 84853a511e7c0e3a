package sysfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/timefn"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addCatalog registers the functions that describe objects of the catalog.
func addCatalog(t function.Table) {
	addVisible(t)
	addDefinitions(t)
	addPrivileges(t)
	addInfoSchema(t)
	addIndexProperties(t)
	addObjects(t)
	addACL(t)
	addSizes(t)
	t.Put("format_type(oid,int4)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		o := types.OID(a[0].(int64))
		if o == 0 {
			return "-", nil
		}
		mod := int32(-1)
		if a[1] != nil {
			mod = int32(a[1].(int64))
		} else if o == types.BpcharOID {
			return "character", nil
		}
		if s, ok := objname.TypeName(c.Env.Host, o, mod); ok {
			return s, nil
		}
		return "???", nil
	})))
	t.Put("oidvectortypes(oidvector)", function.Always(function.Try1(func(c *function.Call, v types.Array) (string, error) {
		names := make([]string, len(v.Elems))
		for i, d := range v.Elems {
			names[i], _ = objname.TypeName(c.Env.Host, types.OID(d.(int64)), -1)
		}
		return strings.Join(names, ", "), nil
	})))
	t.Put("pg_get_userbyid(oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		return roleName(h, types.OID(a[0].(int64))), nil
	}))
	comment := func(h function.Host, o types.OID, col int16) types.Datum {
		if s := h.Catalog().Comment(catalog.Dep{OID: o, Column: col}); s != "" {
			return s
		}
		return nil
	}
	t.Puts(hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if len(a) == 2 && !classHas(h, a[1].(string), types.OID(a[0].(int64))) {
			return nil, nil
		}
		return comment(h, types.OID(a[0].(int64)), 0), nil
	}), "obj_description(oid)", "obj_description(oid,name)", "shobj_description(oid,name)")
	t.Put("col_description(oid,int4)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if a[1].(int64) == 0 {
			return nil, nil
		}
		return comment(h, types.OID(a[0].(int64)), int16(a[1].(int64))), nil
	}))
	for name, o := range map[string]types.OID{"to_regclass": types.RegclassOID, "to_regtype": types.RegtypeOID,
		"to_regnamespace": types.RegnamespaceOID, "to_regrole": types.RegroleOID, "to_regproc": types.RegprocOID,
		"to_regprocedure": types.RegprocedureOID, "to_regoper": types.RegoperOID, "to_regoperator": types.RegoperatorOID,
		"to_regcollation": types.RegcollationOID} {
		t.Put(name+"(text)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			s := a[0].(string)
			if s != "" && strings.Trim(s, "0123456789") == "" {
				d, err := number.ParseInt(64, s)
				return timefn.Micros(d, err)
			}
			oid, err := objname.RegIn(h, o, s)
			if err != nil {
				if missing(err) {
					return nil, nil
				}
				return nil, err
			}
			return int64(oid), nil
		}))
	}
}

// missing reports whether an error says that a named object does not exist.
func missing(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.UndefinedTable, pgerr.UndefinedObject, pgerr.UndefinedFunction, pgerr.InvalidSchemaName, pgerr.AmbiguousFunction:
		return true
	}
	return false
}

func addVisible(t function.Table) {
	t.Put("pg_table_is_visible(oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		o := types.OID(a[0].(int64))
		if r := h.Catalog().RelationByOID(o); r != nil {
			return objname.FindRelation(h, []string{r.Name}) == o, nil
		}
		if _, name, ok := objname.SystemRelationName(h, o); ok {
			return objname.FindRelation(h, []string{name}) == o, nil
		}
		return nil, nil
	}))
	t.Put("pg_type_is_visible(oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		o := types.OID(a[0].(int64))
		if _, ok := types.PgTypeOf(o); ok {
			return true, nil
		}
		st := h.Catalog()
		e := st.EnumByOID(o)
		if e == nil {
			if r := st.RelationByOID(o); r != nil {
				return objname.FindRelation(h, []string{r.Name}) == o, nil
			}
			return nil, nil
		}
		for _, s := range objname.SchemaPath(h.Session()) {
			if x := st.Enum(s, e.Name); x != nil {
				return x.OID == e.OID, nil
			}
		}
		return false, nil
	}))
	for _, f := range []string{"operator", "opclass", "opfamily", "collation", "conversion", "ts_config", "ts_dict", "ts_parser", "ts_template"} {
		t.Put("pg_"+f+"_is_visible(oid)", fixedAnswer(true))
	}
	t.Put("pg_statistics_obj_is_visible(oid)", fixedAnswer(nil))
}

// Printer is a host that prints the expressions and queries in the catalog.
type Printer interface {
	function.Host
	function.Deparser
}

// printed makes a function that prints a kept definition.
func printed(f func(h Printer, a []types.Datum) (types.Datum, error)) function.Maker {
	return hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		p, ok := h.(Printer)
		if !ok {
			return nil, pgerr.Unsupported("function %s is not supported here", c.Fn.Name)
		}
		return f(p, a)
	})
}

func addDefinitions(t function.Table) {
	expression := printed(func(h Printer, a []types.Datum) (types.Datum, error) {
		text, ok := a[0].(string)
		if !ok {
			return a[0], nil
		}
		rel, _ := a[1].(int64)
		pretty := len(a) > 2 && a[2] == true
		return h.ShowExpr(h.Catalog().RelationByOID(types.OID(rel)), text, pretty), nil
	})
	t.Puts(expression, "pg_get_expr(pg_node_tree,oid)", "pg_get_expr(pg_node_tree,oid,bool)")
	constraint := printed(func(h Printer, a []types.Datum) (types.Datum, error) {
		o := types.OID(a[0].(int64))
		for _, r := range h.Catalog().Relations() {
			for i := range r.Constraints {
				if r.Constraints[i].OID == o {
					return constraintDef(h, r, &r.Constraints[i], len(a) > 1 && a[1] == true), nil
				}
			}
		}
		return nil, nil
	})
	t.Puts(constraint, "pg_get_constraintdef(oid)", "pg_get_constraintdef(oid,bool)")
	index := printed(func(h Printer, a []types.Datum) (types.Datum, error) {
		ix := h.Catalog().RelationByOID(types.OID(a[0].(int64)))
		if ix == nil || ix.Index == nil {
			return nil, nil
		}
		tab := h.Catalog().RelationByOID(ix.Index.Table)
		if tab == nil {
			return nil, nil
		}
		if len(a) == 3 && a[1].(int64) != 0 {
			k := int(a[1].(int64)) - 1
			keys := IndexKeys(h, tab, ix.Index, false, len(a) == 3 && a[2].(bool))
			for _, c := range ix.Index.Include {
				keys = append(keys, columnName(tab, c))
			}
			if k < 0 || k >= len(keys) {
				return "", nil
			}
			return keys[k], nil
		}
		return indexDef(h, ix, tab, len(a) == 3 && a[2].(bool)), nil
	})
	t.Puts(index, "pg_get_indexdef(oid)", "pg_get_indexdef(oid,int4,bool)")
	view := printed(func(h Printer, a []types.Datum) (types.Datum, error) {
		var o types.OID
		if s, ok := a[0].(string); ok {
			p, err := objname.NameParts(s, catalog.RelationName)
			if err != nil {
				return nil, err
			}
			if o = objname.FindRelation(h, p); o == 0 {
				return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", objname.Dotted(p))
			}
		} else {
			o = types.OID(a[0].(int64))
		}
		r := h.Catalog().RelationByOID(o)
		if r == nil || r.Query == "" {
			return nil, nil
		}
		pretty, wrap := false, 0
		if len(a) > 1 {
			switch x := a[1].(type) {
			case bool:
				pretty = x
			case int64: // a width prints pretty
				pretty, wrap = true, int(x)
			}
		}
		return h.ViewDef(r, pretty, wrap), nil
	})
	t.Puts(view, "pg_get_viewdef(text)", "pg_get_viewdef(oid)", "pg_get_viewdef(text,bool)", "pg_get_viewdef(oid,bool)", "pg_get_viewdef(oid,int4)")
	none := fixedAnswer(nil)
	addFunctions(t)
	t.Puts(none, "pg_get_partition_constraintdef(oid)", "pg_get_partkeydef(oid)", "pg_get_replica_identity_index(regclass)", "pg_get_ruledef(oid)",
		"pg_get_ruledef(oid,bool)", "pg_get_statisticsobjdef_columns(oid)", "pg_get_statisticsobjdef_expressions(oid)",
		"pg_get_triggerdef(oid)", "pg_get_triggerdef(oid,bool)", "pg_partition_root(regclass)")
	t.Puts(function.Always(function.Loose(functionArguments)), "pg_get_function_arguments(oid)", "pg_get_function_identity_arguments(oid)")
	t.Put("pg_get_function_result(oid)", function.Always(function.Loose(functionResult)))
	t.Put("pg_get_serial_sequence(text,text)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		p, err := objname.NameParts(a[0].(string), catalog.RelationName)
		if err != nil {
			return nil, err
		}
		oid := objname.FindRelation(h, p)
		r := h.Catalog().RelationByOID(oid)
		if _, _, system := objname.SystemRelationName(h, oid); r == nil && system {
			return nil, nil
		}
		if r == nil {
			return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", objname.Dotted(p))
		}
		col := r.Column(a[1].(string))
		if col == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", a[1], r.Name)
		}
		for _, s := range h.Catalog().Relations() {
			if s.Kind == catalog.KindSequence && s.Seq.OwnedTable == r.OID && s.Seq.OwnedColumn == col.Num {
				return objname.Qualified(h, s.Schema, s.Name, false), nil
			}
		}
		return nil, nil
	}))
	updatable := func(h function.Host, d types.Datum) bool {
		r := h.Catalog().RelationByOID(types.OID(d.(int64)))
		return r != nil && r.Kind == catalog.KindTable
	}
	t.Put("pg_relation_is_updatable(regclass,bool)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if updatable(h, a[0]) {
			return int64(28), nil // INSERT, UPDATE, DELETE
		}
		return int64(0), nil
	}))
	t.Put("pg_column_is_updatable(regclass,int2,bool)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		return updatable(h, a[0]) && a[1].(int64) > 0, nil
	}))
	t.Put("pg_relation_is_publishable(regclass)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		r := h.Catalog().RelationByOID(types.OID(a[0].(int64)))
		if r == nil {
			return nil, nil
		}
		return r.Kind == catalog.KindTable && !r.Temp, nil
	}))
}

func columnName(r *catalog.Relation, num int16) string {
	for _, c := range r.Columns {
		if c.Num == num {
			return lex.QuoteName(c.Name)
		}
	}
	return "?"
}

func columnList(r *catalog.Relation, nums []int16) string {
	names := make([]string, len(nums))
	for i, n := range nums {
		names[i] = columnName(r, n)
	}
	return strings.Join(names, ", ")
}

func constraintDef(h Printer, r *catalog.Relation, c *catalog.Constraint, pretty bool) string {
	var b strings.Builder
	switch c.Kind {
	case 'p', 'u':
		b.WriteString("PRIMARY KEY ")
		if c.Kind == 'u' {
			b.Reset()
			b.WriteString("UNIQUE ")
			if c.NullsNotDistinct {
				b.WriteString("NULLS NOT DISTINCT ")
			}
		}
		b.WriteString("(" + columnList(r, c.Columns) + ")")
		if ix := h.Catalog().RelationByOID(c.Index); ix != nil && ix.Index != nil && len(ix.Index.Include) > 0 {
			b.WriteString(" INCLUDE (" + columnList(r, ix.Index.Include) + ")")
		}
	case 'c':
		b.WriteString("CHECK (" + h.ShowExpr(r, c.Check, pretty) + ")")
	case 'f':
		b.WriteString("FOREIGN KEY (" + columnList(r, c.Columns) + ") REFERENCES ")
		if ref := h.Catalog().RelationByOID(c.RefTable); ref != nil {
			b.WriteString(objname.Qualified(h, ref.Schema, ref.Name, objname.FindRelation(h, []string{ref.Name}) == ref.OID))
			b.WriteString("(" + columnList(ref, c.RefCols) + ")")
		}
		if c.MatchFull {
			b.WriteString(" MATCH FULL")
		}
		for _, x := range []struct {
			on  string
			act byte
		}{{"UPDATE", c.OnUpdate}, {"DELETE", c.OnDelete}} {
			if s := map[byte]string{'r': "RESTRICT", 'c': "CASCADE", 'n': "SET NULL", 'd': "SET DEFAULT"}[x.act]; s != "" {
				b.WriteString(" ON " + x.on + " " + s)
				if x.on == "DELETE" && len(c.SetColumns) > 0 {
					b.WriteString(" (" + columnList(r, c.SetColumns) + ")")
				}
			}
		}
	}
	if c.Deferrable {
		b.WriteString(" DEFERRABLE")
	}
	if c.InitiallyDeferred {
		b.WriteString(" INITIALLY DEFERRED")
	}
	if c.NotValid {
		b.WriteString(" NOT VALID")
	}
	return b.String()
}

// IndexKeys writes an index's keys as PostgreSQL shows them, expressions that are no calls
// in parentheses.
func IndexKeys(h Printer, tab *catalog.Relation, ix *catalog.Index, options, pretty bool) []string {
	var out []string
	n := max(len(ix.Columns), len(ix.Exprs))
	for i := range n {
		var k string
		if i < len(ix.Columns) && ix.Columns[i] != 0 {
			k = columnName(tab, ix.Columns[i])
		} else if i < len(ix.Exprs) {
			k = h.ShowExpr(tab, ix.Exprs[i], pretty)
			if full := h.ShowExpr(tab, ix.Exprs[i], false); !bareCall(full) {
				k = "(" + k + ")"
			}
		}
		if options && i < len(ix.Options) {
			desc, first := ix.Options[i]&1 != 0, ix.Options[i]&2 != 0
			switch {
			case desc && first:
				k += " DESC"
			case desc:
				k += " DESC NULLS LAST"
			case first:
				k += " NULLS FIRST"
			}
		}
		out = append(out, k)
	}
	return out
}

// bareCall reports whether an expression is a function call, which needs no
// parentheses.
func bareCall(s string) bool {
	i := strings.IndexByte(s, '(')
	return i > 0 && strings.HasSuffix(s, ")") && strings.Trim(s[:i], "abcdefghijklmnopqrstuvwxyz_0123456789.") == ""
}

func indexDef(h Printer, r, tab *catalog.Relation, pretty bool) string {
	ix := r.Index
	var b strings.Builder
	b.WriteString("CREATE ")
	if ix.Unique || ix.Primary {
		b.WriteString("UNIQUE ")
	}
	visible := pretty && objname.FindRelation(h, []string{tab.Name}) == tab.OID
	method := ix.Method
	if method == "" {
		method = "btree"
	}
	b.WriteString("INDEX " + lex.QuoteName(r.Name) + " ON " + objname.Qualified(h, tab.Schema, tab.Name, visible) +
		" USING " + method + " (" + strings.Join(IndexKeys(h, tab, ix, true, pretty), ", ") + ")")
	if len(ix.Include) > 0 {
		b.WriteString(" INCLUDE (" + columnList(tab, ix.Include) + ")")
	}
	if ix.NullsNotDistinct {
		b.WriteString(" NULLS NOT DISTINCT")
	}
	if ix.Where != "" {
		b.WriteString(" WHERE " + h.ShowExpr(tab, ix.Where, pretty))
	}
	return b.String()
}

// classHas reports whether an object is in the system catalog class. Objects whose kind is not
// known here pass.
func classHas(h function.Host, class string, o types.OID) bool {
	st := h.Catalog()
	var kind string
	switch {
	case st.RelationByOID(o) != nil:
		kind = "pg_class"
	case st.EnumByOID(o) != nil:
		kind = "pg_type"
	case st.Schema(o) != nil:
		kind = "pg_namespace"
	case st.Role(o) != nil:
		kind = "pg_authid"
	default:
		return true
	}
	return class == kind
}
