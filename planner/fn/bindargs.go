package fn

import "github.com/tributarydb/tributary/sql/types"

// BindArgs returns the physical types of the arguments and the result type of a
// call whose arguments have been coerced to the declared types (to a common
// type where those are anycompatible). It is Bind where the function has one.
func (f *Func) BindArgs(args []types.Type) (physical []types.Type, ret types.Type) {
	if f.Bind != nil {
		return f.Bind(args)
	}
	physical = make([]types.Type, len(args))
	for i, a := range args {
		physical[i] = variable(a)
	}
	return physical, f.result(physical)
}

// result returns the result type for physical argument types.
func (f *Func) result(args []types.Type) types.Type {
	elem := f.element(args)
	t := f.resolve(f.Ret, elem)
	if f.Rec != nil {
		rec := &types.Record{Fields: make([]types.Field, len(f.Rec.Fields))}
		for i, fl := range f.Rec.Fields {
			rec.Fields[i] = types.Field{Name: fl.Name, Type: f.resolve(fl.Type.OID, elem)}
		}
		t.Rec = rec
	}
	return t
}

// element returns the type that the polymorphic arguments stand for.
func (f *Func) element(args []types.Type) types.Type {
	for i, a := range args {
		switch f.ArgType(i).Class() {
		case types.ClassAnyElement, types.ClassAnyCompatible:
			if a.OID != types.UnknownOID {
				return plain(a)
			}
		case types.ClassAnyArray, types.ClassAnyCompatibleArray:
			if e, ok := a.Elem(); ok {
				return plain(e)
			}
		}
	}
	return types.Text
}

func (f *Func) resolve(o types.OID, elem types.Type) types.Type {
	switch o.Class() {
	case types.ClassAnyElement, types.ClassAnyCompatible:
		return elem
	case types.ClassAnyArray, types.ClassAnyCompatibleArray:
		if elem.IsArray() {
			return elem // array_agg of arrays
		}
		a, ok := types.ArrayOf(elem)
		if !ok {
			a = types.Type{OID: types.AnyArrayOID, Mod: -1}
		}
		return a
	}
	return types.Type{OID: o, Mod: -1}
}

// ArgType returns the declared type of argument i, which may be in the tail of a VARIADIC function.
func (f *Func) ArgType(i int) types.OID {
	if f.Variadic != 0 && i >= len(f.Args)-1 {
		return f.Variadic
	}
	if i < len(f.Args) {
		return f.Args[i]
	}
	return types.AnyOID
}

// plain drops the visible part of the modifier and keeps the physical representation.
func plain(t types.Type) types.Type {
	t.Mod = -1
	return t
}

// variable returns t with numerics in the variable representation.
func variable(t types.Type) types.Type {
	if t.Prec == 0 {
		return t
	}
	t.Prec, t.Scale = 0, 0
	return t
}
