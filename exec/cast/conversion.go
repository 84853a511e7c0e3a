package cast

import (
	"context"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// Conversion converts columns of one type to another, by the function that
// Between chose. It is for one goroutine.
type Conversion struct {
	from, to types.Type
	run      function.Impl
	memo     any
	// strings come by dictionaries: convert each entry once
	perEntry bool
	nullOn   func(error) bool // errors of a value that make it NULL; nil: none
}

// New makes the conversion that run does.
func New(from, to types.Type, run function.Impl) *Conversion {
	return &Conversion{from: from, to: to, run: run, perEntry: from.Form() == vector.Str && (to.Form() != vector.Arr || to.IsArray())}
}

// Apply converts the rows of v. The result lies in a.
func (x *Conversion) Apply(ctx context.Context, env *function.Env, a *vector.Arena, v *vector.Vec) (*vector.Vec, error) {
	if v.AllNull() {
		return vector.NewNull(v.N), nil
	}
	if x.perEntry && v.Kind == vector.Dict && !v.One && v.Dict.N <= v.N {
		// the error may be of an entry that no row uses: convert row by row
		if res, err := x.rows(ctx, env, a, v.Dict); err == nil {
			return vector.TakeEntries(a, res.Spread(a), vector.Values[int32](v), v.Valid, x.to)
		}
	}
	return x.rows(ctx, env, a, v)
}

func (x *Conversion) rows(ctx context.Context, env *function.Env, a *vector.Arena, v *vector.Vec) (*vector.Vec, error) {
	c := &function.Call{Ctx: ctx, Env: env, Arena: a, Types: []types.Type{x.from}, Ret: x.to, N: v.Stored(), Memo: &x.memo, NullOn: x.nullOn}
	c.Valid = v.Valid
	out, err := x.run(c, []*vector.Vec{v})
	if err != nil {
		return nil, err
	}
	if v.One {
		w := *out
		w.One, w.N = true, v.N
		return &w, nil
	}
	return out, nil
}
