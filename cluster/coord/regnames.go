package coord

import (
	"strings"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// SystemNames knows the relations that are computed; Virtuals may implement it.
type SystemNames interface {
	RelationOID(schema, name string) (types.OID, bool)
	RelationName(oid types.OID) (schema, name string, ok bool)
}

// regNames resolves the text forms of reg* types for a session.
type regNames struct{ s *Session }

func (n regNames) state() *catalog.State {
	if n.s.tx != nil && n.s.tx.view != nil {
		return n.s.tx.view
	}
	return n.s.engine.cfg.Meta.Current()
}

// RegIn implements types.Names.
func (n regNames) RegIn(t types.OID, name string) (types.OID, error) {
	st := n.state()
	parts := identParts(name)
	last := parts[len(parts)-1]
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	switch t {
	case types.RegclassOID:
		if schema != "" {
			if sc := st.SchemaByName(schema); sc != nil {
				if r := st.Relation(sc.OID, last); r != nil {
					return r.OID, nil
				}
			}
		} else {
			for _, sc := range n.s.path(st) {
				if r := st.Relation(sc.OID, last); r != nil {
					return r.OID, nil
				}
			}
		}
		if sys, ok := n.s.engine.cfg.Virtual.(SystemNames); ok {
			for _, sc := range []string{schema, "pg_catalog"} {
				if oid, ok := sys.RelationOID(sc, last); ok && (schema == "" || schema == sc) {
					return oid, nil
				}
			}
		}
		return 0, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(parts, "."))
	case types.RegtypeOID:
		for _, sc := range n.s.path(st) {
			if schema != "" && sc.Name != schema {
				continue
			}
			if e := st.Enum(sc.OID, last); e != nil {
				return e.OID, nil
			}
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", strings.Join(parts, "."))
	case types.RegnamespaceOID:
		if sc := st.SchemaByName(last); sc != nil {
			return sc.OID, nil
		}
		return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", last)
	case types.RegroleOID:
		if r := st.RoleByName(last); r != nil {
			return r.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", last)
	case types.RegprocOID, types.RegprocedureOID:
		if i := strings.IndexByte(last, '('); i > 0 {
			last = last[:i]
		}
		fs := fn.Lookup(last)
		switch {
		case len(fs) == 1 || len(fs) > 1 && t == types.RegprocedureOID:
			return fs[0].OID, nil
		case len(fs) > 1:
			return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one function named \"%s\"", last)
		}
		return 0, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", last)
	}
	return 0, pgerr.Unsupported("names of this type are not supported")
}

// RegOut implements types.Names.
func (n regNames) RegOut(t types.OID, oid types.OID) (string, bool) {
	st := n.state()
	switch t {
	case types.RegclassOID:
		if r := st.RelationByOID(oid); r != nil {
			sc := st.Schema(r.Schema)
			for _, p := range n.s.path(st) {
				if x := st.Relation(p.OID, r.Name); x != nil {
					if x.OID == oid {
						return quotePath(r.Name), true
					}
					break
				}
			}
			if sc != nil {
				return quotePath(sc.Name) + "." + quotePath(r.Name), true
			}
		}
		if sys, ok := n.s.engine.cfg.Virtual.(SystemNames); ok {
			if schema, name, ok := sys.RelationName(oid); ok {
				if schema == "pg_catalog" {
					return name, true
				}
				return schema + "." + name, true
			}
		}
	case types.RegtypeOID:
		if e := st.EnumByOID(oid); e != nil {
			if e.ArrayOID == oid {
				return quotePath(e.Name) + "[]", true
			}
			return quotePath(e.Name), true
		}
	case types.RegnamespaceOID:
		if sc := st.Schema(oid); sc != nil {
			return quotePath(sc.Name), true
		}
	case types.RegroleOID:
		if r := st.Role(oid); r != nil {
			return quotePath(r.Name), true
		}
	case types.RegprocOID:
		for _, f := range fn.All() {
			if f.OID == oid {
				return f.Name, true
			}
		}
	}
	return "", false
}

// identParts splits a qualified name, folding what is not quoted.
func identParts(s string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' && quoted && i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			out = append(out, b.String())
			b.Reset()
		case !quoted && c >= 'A' && c <= 'Z':
			b.WriteByte(c + 32)
		default:
			b.WriteByte(c)
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}
