package eval

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

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
