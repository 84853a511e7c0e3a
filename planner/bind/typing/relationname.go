package typing

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func RelationName(n *ast.RangeVar) (schema, name string, err error) {
	return catalog.RelationName(n.CatalogName, n.SchemaName, n.RelName)
}

// Relation finds a relation of the catalog as a statement names it; nil if there is none. Computed
// relations are not in the catalog.
func (s *Names) Relation(n *ast.RangeVar) (*catalog.Relation, error) {
	schema, name, err := RelationName(n)
	if err != nil {
		return nil, err
	}
	if err := s.MayLookIn(schema); err != nil {
		return nil, err
	}
	for _, sc := range s.schemas(schema, s.SearchPath, true) {
		if r := s.State.Relation(sc.OID, name); r != nil {
			return r, nil
		}
	}
	return nil, nil
}

// MayLookIn fails with 42501 unless the role may look names up in a schema that a statement names.
// The schemas of the search path were checked already.
func (s *Names) MayLookIn(schema string) error {
	sc := s.State.SchemaByName(schema)
	if sc == nil || s.Trusted || sc.OID == s.TempSchema || s.State.May(s.Role, sc.Object(), 'U') {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", schema)
}

// schemas returns the schemas to search for a name: the one given, or the path's, the temporary
// schema first.
func (s *Names) schemas(schema string, path []string, temp bool) []*catalog.Schema {
	st := s.State
	if schema == "pg_temp" {
		if s := st.Schema(s.TempSchema); s != nil {
			return []*catalog.Schema{s}
		}
		return nil
	}
	if schema != "" {
		if s := st.SchemaByName(schema); s != nil {
			return []*catalog.Schema{s}
		}
		return nil
	}
	out := make([]*catalog.Schema, 0, len(path)+1)
	if s := st.Schema(s.TempSchema); s != nil && temp {
		out = append(out, s)
	}
	for _, n := range path {
		if n == "pg_temp" {
			continue
		}
		if s := st.SchemaByName(n); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// ObjectName splits the name of a function, type, operator or collation.
func (b *Resolver) ObjectName(l *ast.NodeList, pos func(name string) Position) (schema, name string, err error) {
	schema, name, err = catalog.ObjectName(Strs(l)...)
	if err != nil {
		_, name = Qualified(l)
		err = b.At(err, pos(name))
	}
	return schema, name, err
}

// ColumnName removes the database from a column's name, which has at most four parts.
func (b *Resolver) ColumnName(names []string) ([]string, error) {
	if len(names) < 4 {
		return names, nil
	}
	if len(names) == 4 && names[0] == catalog.DatabaseName {
		return names[1:], nil
	}
	err := pgerr.Unsupported("cross-database references are not implemented: %s", dotted(names))
	if len(names) > 4 {
		err = pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s", dotted(names))
	}
	return nil, err.At(b.PosIdent(names...))
}

// Qualified returns a name's last part and the schema before it. The name must be one that
// ObjectName accepts.
func Qualified(l *ast.NodeList) (schema, name string) {
	parts := Strs(l)
	if len(parts) == 0 {
		return "", ""
	}
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	return schema, parts[len(parts)-1]
}

// ---- errors of name resolution ----

func dotted(names []string) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += "."
		}
		s += n
	}
	return s
}
