package catalog

import (
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// RelationName splits a relation's dotted name: schema is "" where it has none. A name of three
// parts begins with the database, which must be this one. Empty leading parts are left out.
func RelationName(parts ...string) (schema, name string, err error) {
	return nameOf(parts, "relation", `"`)
}

// ObjectName is RelationName for other objects: types, functions, models.
func ObjectName(parts ...string) (schema, name string, err error) {
	return nameOf(parts, "qualified", "")
}

// nameOf words its errors as PostgreSQL does, which quotes a relation's name only.
func nameOf(parts []string, what, quote string) (schema, name string, err error) {
	for len(parts) > 1 && parts[0] == "" {
		parts = parts[1:]
	}
	switch n := len(parts); {
	case n == 0:
		return "", "", nil
	case n == 1:
		return "", parts[0], nil
	case n > 3:
		return "", "", pgerr.New(pgerr.SyntaxError, "improper %s name (too many dotted names): %s", what, strings.Join(parts, "."))
	case n == 3 && parts[0] != DatabaseName:
		return "", "", pgerr.Unsupported("cross-database references are not implemented: %s", quote+strings.Join(parts, ".")+quote)
	default:
		return parts[n-2], parts[n-1], nil
	}
}

// SplitName reads a possibly qualified name as an SQL identifier list.
func SplitName(s string) ([]string, error) {
	bad := func() error { return pgerr.New(pgerr.InvalidName, "invalid name syntax") }
	var out []string
	rest := strings.TrimSpace(s)
	for {
		var part string
		if strings.HasPrefix(rest, `"`) {
			var b strings.Builder
			i := 1
			for ; ; i++ {
				if i >= len(rest) {
					return nil, bad()
				}
				if rest[i] == '"' {
					if i+1 < len(rest) && rest[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(rest[i])
			}
			part, rest = b.String(), rest[i+1:]
		} else {
			i := 0
			for i < len(rest) && rest[i] != '.' && rest[i] != ' ' && rest[i] != '"' {
				i++
			}
			part, rest = strings.ToLower(rest[:i]), rest[i:]
		}
		if part == "" {
			return nil, bad()
		}
		out = append(out, types.TruncateName(part))
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return out, nil
		}
		if rest[0] != '.' {
			return nil, bad()
		}
		rest = strings.TrimLeft(rest[1:], " ")
	}
}
