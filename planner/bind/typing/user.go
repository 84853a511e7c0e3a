package typing

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// overloads are the functions that a call's name may mean: of several with the same parameters the one
// whose schema comes first on the path.
func overloads(b *Resolver, inv *Invocation) ([]*fn.Func, error) {
	user := UserFunctions(b, inv.Schema, inv.Name)
	switch inv.Schema {
	case "":
		list := fn.Lookup(inv.Name)
		if len(user) == 0 {
			return list, nil
		}
		first := slices.Index(b.Path, "pg_catalog") // where it is named, schemas before it hide its functions
		out, after := []*fn.Func(nil), []*catalog.Function(nil)
		for _, u := range user {
			if at := slices.Index(b.Path, b.State.Schema(u.Schema).Name); first < 0 || at > first {
				after = append(after, u)
			} else {
				out = append(out, fn.Of(u))
			}
		}
		add := func(f *fn.Func) {
			if !slices.ContainsFunc(out, func(o *fn.Func) bool { return slices.Equal(o.Args, f.Args) && o.Variadic == f.Variadic }) {
				out = append(out, f)
			}
		}
		for _, f := range list {
			add(f)
		}
		for _, u := range after {
			add(fn.Of(u))
		}
		return out, nil
	case "pg_catalog", "information_schema", "ml":
		return fn.Lookup(inv.Name), nil
	}
	if b.State.SchemaByName(inv.Schema) == nil && inv.Schema != "pg_temp" {
		return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", inv.Schema).At(b.PosFunc(inv.Name))
	}
	if len(user) > 0 {
		if err := b.MayLookIn(inv.Schema); err != nil {
			return nil, err
		}
	}
	var out []*fn.Func
	for _, u := range user {
		out = append(out, fn.Of(u))
	}
	return out, nil
}

// UserFunctions are the users' functions of a name, in the order of the path; those that others before them
// hide are left out. A schema for temporary tables is not searched for functions that are not written with it.
func UserFunctions(b *Resolver, schema, name string) (out []*catalog.Function) {
	for _, sc := range b.Schemas(schema) {
		if schema == "" && sc.OID == b.TempSchema {
			continue
		}
		for _, f := range b.State.FunctionsNamed(sc.OID, name) {
			in := f.InputTypes()
			if !slices.ContainsFunc(out, func(o *catalog.Function) bool { return slices.Equal(o.InputTypes(), in) }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// gathered coerces the arguments of a VARIADIC function of a user, whose last ones are the elements of its array.
func gathered(b *Resolver, c Candidate, args []expr.Expr, pos Position) ([]expr.Expr, types.Type, error) {
	f := c.Func
	fixed := len(f.Args) - 1
	args, ret, err := b.Arguments(f, c.Args, args, pos)
	if err != nil {
		return nil, ret, err
	}
	elems, t, err := b.Unify("ARRAY", args[fixed:], pos)
	if err != nil {
		return nil, ret, err
	}
	a, ok := b.ArrayOf(t)
	if !ok {
		return nil, ret, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(t)).At(pos.At())
	}
	return append(args[:fixed:fixed], &expr.ArrayCtor{Elems: elems, Typ: a}), ret, nil
}

// Result is a function's declared result, a row of a relation as the record that it is.
func Result(b *Resolver, ret types.Type) types.Type {
	if rel, array, ok := types.RowTypeOf(ret.OID); ok && !array && b.State.EnumByOID(ret.OID) == nil {
		if r := b.State.RelationByOID(rel); r != nil {
			return rowType(r)
		}
	}
	return ret
}
