package write

import (
	"maps"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// CheckDeferred makes the checks that were put off, at the commit.
func (x *Statement) CheckDeferred() error { return x.checkDeferred(nil) }

// checkDeferred makes the checks that were put off: all where only is nil, else those
// of foreign keys that only picks.
func (x *Statement) checkDeferred(only func(fkey) bool) error {
	list := x.Txn.deferred
	x.Txn.deferred = nil
	for _, w := range list {
		rest, err := x.checkForeign(w, func(k fkey) bool { return k.Deferrable && (only == nil || only(k)) })
		if err != nil {
			return err
		}
		if rest && only != nil {
			x.Txn.deferred = append(x.Txn.deferred, w)
		}
	}
	return nil
}

// SetConstraints carries out SET CONSTRAINTS in a view.
func (x *Statement) SetConstraints(st *catalog.State, n *ast.ConstraintsSetStmt) error {
	m := &x.Txn.modes
	if n.Constraints == nil || len(n.Constraints.Items) == 0 {
		*m = constraintModes{all: &n.Deferred}
		if n.Deferred {
			return nil
		}
		return x.checkDeferred(func(fkey) bool { return true })
	}
	named := maps.Clone(m.named)
	if named == nil {
		named = map[types.OID]bool{}
	}
	for _, c := range n.Constraints.Items {
		rv, ok := c.(*ast.RangeVar)
		if !ok {
			continue
		}
		found, err := constraintsNamed(st, x.Caller.Schemas(st), rv)
		if err != nil {
			return err
		}
		for _, k := range found {
			if !k.Deferrable {
				return pgerr.New(pgerr.WrongObjectType, "constraint %q is not deferrable", k.Name)
			}
			named[k.OID] = n.Deferred
		}
	}
	m.named = named
	if n.Deferred {
		return nil
	}
	return x.checkDeferred(func(k fkey) bool { return !m.deferred(k) })
}

// constraintsNamed finds the constraints of a name: in the schema given, or in
// the first of the search path that has one.
func constraintsNamed(st *catalog.State, path []*catalog.Schema, rv *ast.RangeVar) ([]*catalog.Constraint, error) {
	if _, _, err := catalog.RelationName(rv.CatalogName, rv.SchemaName, rv.RelName); err != nil {
		return nil, err
	}
	if rv.SchemaName != "" {
		sc := st.SchemaByName(rv.SchemaName)
		if sc == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", rv.SchemaName)
		}
		path = []*catalog.Schema{sc}
	}
	for _, sc := range path {
		var out []*catalog.Constraint
		for _, r := range st.Relations() {
			for i := range r.Constraints {
				if k := &r.Constraints[i]; r.Schema == sc.OID && k.Name == rv.RelName {
					out = append(out, k)
				}
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "constraint %q does not exist", rv.RelName)
}
