package coord

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
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

// path gives the schemas that exist of the search path, temporary ones first.
func (s *Session) path(st *catalog.State) []*catalog.Schema {
	var out []*catalog.Schema
	if t := st.Schema(s.temp); t != nil {
		out = append(out, t)
	}
	for _, n := range s.searchPath() {
		if n == "pg_temp" {
			continue
		}
		if sc := st.SchemaByName(n); sc != nil {
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

// isMember tells whether a role may act as another.
func (s *Session) isMember(st *catalog.State, role, of types.OID) bool {
	if role == of {
		return true
	}
	r := st.Role(role)
	if r == nil {
		return false
	}
	if r.Super {
		return true
	}
	seen := map[types.OID]bool{role: true}
	queue := []types.OID{role}
	for len(queue) > 0 {
		r := st.Role(queue[0])
		queue = queue[1:]
		if r == nil {
			continue
		}
		for _, m := range r.MemberOf {
			if m.Role == of {
				return true
			}
			if !seen[m.Role] {
				seen[m.Role] = true
				queue = append(queue, m.Role)
			}
		}
	}
	return false
}
