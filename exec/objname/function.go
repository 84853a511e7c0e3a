package objname

import (
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// FunctionOf finds a function by its OID, a user's too; nil if there is none.
func FunctionOf(h function.Host, oid types.OID) *fn.Func {
	if f := fn.ByOID(oid); f != nil || h == nil {
		return f
	}
	if u := h.Catalog().Function(oid); u != nil {
		return fn.Of(u)
	}
	return nil
}

// Overloads are the functions of a name, which is of one part or two: the system's first.
func Overloads(h function.Host, parts []string) (out []*fn.Func) {
	name := parts[len(parts)-1]
	if len(parts) == 1 || parts[0] == "pg_catalog" {
		out = slices.Clone(fn.Lookup(name))
	}
	st := h.Catalog()
	schemas := SchemaPath(h.Session())
	if len(parts) > 1 {
		schemas = nil
		if sc := st.SchemaByName(parts[0]); sc != nil {
			schemas = []types.OID{sc.OID}
		}
	}
	for _, sc := range schemas {
		for _, u := range st.FunctionsNamed(sc, name) {
			f := fn.Of(u)
			if !slices.ContainsFunc(out, func(o *fn.Func) bool { return slices.Equal(o.Args, f.Args) }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// FunctionVisible reports whether a user's function is found without its schema.
func FunctionVisible(h function.Host, u *catalog.Function) bool {
	for _, f := range Overloads(h, []string{u.Name}) {
		if f.User != nil && f.User.OID == u.OID {
			return true
		}
	}
	return false
}
