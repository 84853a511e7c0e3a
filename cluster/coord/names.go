package coord

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// searchPath gives the names of the schemas searched for unqualified names, as
// they are set; pg_catalog and temporary tables come before them unasked.
func (s *Session) searchPath() []string {
	var out []string
	for _, w := range splitIdents(s.set.Value("search_path")) {
		if w == "$user" {
			if r := s.engine.cfg.Meta.Current().Role(s.role); r != nil {
				w = r.Name
			}
		}
		out = append(out, w)
	}
	return out
}

// splitIdents reads a list of identifiers as SplitIdentifierString does.
func splitIdents(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == ',' || c == '\t' || c == '\n':
			i++
		case c == '"':
			var b strings.Builder
			for i++; i < len(text); i++ {
				if text[i] == '"' {
					if i+1 < len(text) && text[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(text[i])
			}
			i++
			out = append(out, b.String())
		default:
			j := i
			for j < len(text) && text[j] != ',' && text[j] != ' ' && text[j] != '"' {
				j++
			}
			out = append(out, strings.ToLower(text[i:j]))
			i = j
		}
	}
	return out
}

// path gives the schemas of the search path that exist and that the role may
// use, temporary ones first.
func (s *Session) path(st *catalog.State) []*catalog.Schema {
	var out []*catalog.Schema
	if t := st.Schema(s.temp); t != nil {
		out = append(out, t)
	}
	for _, n := range s.searchPath() {
		if n == "pg_temp" {
			continue
		}
		if sc := st.SchemaByName(n); sc != nil && sc.OID != s.temp && st.May(s.role, sc.Object(), 'U') {
			out = append(out, sc)
		}
	}
	return out
}

// findRelation finds a relation as a statement names it.
func (s *Session) findRelation(st *catalog.State, rv *ast.RangeVar) (*catalog.Relation, error) {
	r, err := s.binding(st, nil, nil).Relation(rv)
	if err != nil || r != nil {
		return r, err
	}
	name := rv.RelName
	if rv.SchemaName != "" {
		name = rv.SchemaName + "." + name
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}
