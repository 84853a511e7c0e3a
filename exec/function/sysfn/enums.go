package sysfn

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addEnums registers enum_first, enum_last and enum_range, which depend only on the type of their
// argument.
func addEnums(t function.Table) {
	labels := func(f func(c *function.Call, x *catalog.EnumType, a []types.Datum) (types.Datum, error)) function.Maker {
		return function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
			x, err := c.Env.EnumOf(c.Types[0])
			if err != nil {
				return nil, err
			}
			return f(c, x, a)
		}))
	}
	t.Put("enum_first(anyenum)", labels(func(_ *function.Call, x *catalog.EnumType, _ []types.Datum) (types.Datum, error) {
		if len(x.Labels) == 0 {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum %s contains no values", x.Name)
		}
		return x.Labels[0], nil
	}))
	t.Put("enum_last(anyenum)", labels(func(_ *function.Call, x *catalog.EnumType, _ []types.Datum) (types.Datum, error) {
		if len(x.Labels) == 0 {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum %s contains no values", x.Name)
		}
		return x.Labels[len(x.Labels)-1], nil
	}))
	t.Puts(labels(func(c *function.Call, x *catalog.EnumType, a []types.Datum) (types.Datum, error) {
		in := true
		if len(a) == 2 && a[0] != nil {
			in = false
		}
		out := types.Array{Elem: c.Types[0]}
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
