package eval

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// enumOf finds a user's enum.
func (e *Env) enumOf(t types.Type) (*catalog.EnumType, error) {
	if e == nil || e.Host == nil {
		return nil, pgerr.Unsupported("enum types need a catalog")
	}
	x := e.Host.Catalog().EnumByOID(t.OID)
	if x == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", t.OID)
	}
	return x, nil
}

// enumComparer orders an enum's values by their place among its labels.
func enumComparer(t types.Type, env *Env) rowCmp {
	place := map[string]int{}
	if x, err := env.enumOf(t); err == nil {
		for i, l := range x.Labels {
			place[l] = i
		}
	}
	return func(l *vec, i int, r *vec, j int) int {
		return place[l.str(i)] - place[r.str(j)]
	}
}

// enumParse reads labels.
func enumParse(to types.Type) impl {
	return try1(func(c *call, s string) (string, error) {
		x, err := c.env.enumOf(to)
		if err != nil {
			return "", err
		}
		for _, l := range x.Labels {
			if l == s {
				return l, nil
			}
		}
		return "", errLabel(x, s)
	})
}

func errLabel(x *catalog.EnumType, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", lex.QuoteName(x.Name), s)
}

// enumArrayParse reads arrays of labels.
func enumArrayParse(to types.Type) impl {
	return try1(func(c *call, s string) (types.Datum, error) {
		x, err := c.env.enumOf(to)
		if err != nil {
			return nil, err
		}
		d, err := types.ParseText(to, s, c.env.types())
		if err != nil {
			return nil, err
		}
		if l, ok := x.Stranger(d); ok {
			return nil, errLabel(x, l)
		}
		return d, nil
	})
}

// enumArrayComparer orders arrays as their enums are ordered.
func enumArrayComparer(t types.Type, env *Env) rowCmp {
	places, _ := types.ArrayOf(types.Int4)
	at := map[string]types.Datum{}
	if x, err := env.enumOf(t); err == nil {
		for i, l := range x.Labels {
			at[l] = int64(i)
		}
	}
	placed := func(d types.Datum) types.Datum {
		a, _ := d.(types.Array)
		out := types.Array{Elem: types.Int4, Elems: make([]types.Datum, len(a.Elems))}
		for i, e := range a.Elems {
			if s, ok := e.(string); ok {
				out.Elems[i] = at[s]
			}
		}
		return out
	}
	return func(l *vec, i int, r *vec, j int) int {
		return types.Compare(places, placed(l.datum(t, i)), placed(r.datum(t, j)))
	}
}

// addEnums registers enum_first, enum_last and enum_range, which look at the
// type of their argument only.
func addEnums(t table) {
	labels := func(f func(c *call, x *catalog.EnumType, a []types.Datum) (types.Datum, error)) maker {
		return always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
			x, err := c.env.enumOf(c.types[0])
			if err != nil {
				return nil, err
			}
			return f(c, x, a)
		}))
	}
	t.put("enum_first(anyenum)", labels(func(_ *call, x *catalog.EnumType, _ []types.Datum) (types.Datum, error) {
		if len(x.Labels) == 0 {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum %s contains no values", x.Name)
		}
		return x.Labels[0], nil
	}))
	t.put("enum_last(anyenum)", labels(func(_ *call, x *catalog.EnumType, _ []types.Datum) (types.Datum, error) {
		if len(x.Labels) == 0 {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum %s contains no values", x.Name)
		}
		return x.Labels[len(x.Labels)-1], nil
	}))
	t.puts(labels(func(c *call, x *catalog.EnumType, a []types.Datum) (types.Datum, error) {
		in := true
		if len(a) == 2 && a[0] != nil {
			in = false
		}
		out := types.Array{Elem: c.types[0]}
		for _, l := range x.Labels {
			in = in || len(a) == 2 && a[0] == l
			if in {
				out.Elems = append(out.Elems, l)
			}
			if len(a) == 2 && a[1] == l {
				break
			}
		}
		return out, nil
	}), "enum_range(anyenum)", "enum_range(anyenum,anyenum)")
}
