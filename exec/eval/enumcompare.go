package eval

import (
	"github.com/tributarydb/tributary/sql/types"
)

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
