package catalog

import (
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// RelationName takes a relation's dotted name apart: schema is "" where it has
// none. A name of three parts begins with the database, which must be this one.
// Empty leading parts are left out.
func RelationName(parts ...string) (schema, name string, err error) {
	return nameOf(parts, "relation", `"`)
}

// ObjectName is RelationName of what is no relation: a type, function, model.
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
