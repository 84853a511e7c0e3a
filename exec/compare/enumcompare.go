package compare

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// enumComparer orders an enum's values by their place among its labels.
func enumComparer(t types.Type, env *function.Env) rowCmp {
	place := map[string]int{}
	if x, err := env.EnumOf(t); err == nil {
		for i, l := range x.Labels {
			place[l] = i
		}
	}
	return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
		return place[l.Str(i)] - place[r.Str(j)]
	}
}

// enumArrayComparer orders arrays as their enums are ordered.
func enumArrayComparer(t types.Type, env *function.Env) rowCmp {
	places, _ := types.ArrayOf(types.Int4)
	at := map[string]types.Datum{}
	if x, err := env.EnumOf(t); err == nil {
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
	return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
		return types.Compare(places, placed(l.Datum(t, i)), placed(r.Datum(t, j)))
	}
}
