package eval

import (
	"context"

	"github.com/tributarydb/tributary/sql/types"
)

// conversion brings columns of one type to another. How it does is chosen from
// the two types (castOf); the modifier of the target is applied after. It is for
// one goroutine.
type conversion struct {
	from, to types.Type
	run      impl
	memo     any
	// strings come by dictionaries: convert each entry once
	perEntry bool
}

func newConversion(from, to types.Type, run impl) *conversion {
	return &conversion{from: from, to: to, run: run, perEntry: kindOf(from) == kStr && kindOf(to) != kArr}
}

// apply converts the rows of v. The result lies in a.
func (x *conversion) apply(ctx context.Context, env *Env, a *arena, v *vec) (*vec, error) {
	if v.allNull() {
		return nullVec(v.n), nil
	}
	if x.perEntry && v.kind == kDict && !v.one && v.dict.n <= v.n {
		// an entry that no row uses may be bad: then row by row
		if res, err := x.rows(ctx, env, a, v.dict); err == nil {
			return takeEntries(a, res.spread(a), vals[int32](v), v.valid, x.to)
		}
	}
	return x.rows(ctx, env, a, v)
}

func (x *conversion) rows(ctx context.Context, env *Env, a *arena, v *vec) (*vec, error) {
	c := &call{ctx: ctx, env: env, a: a, types: []types.Type{x.from}, ret: x.to, n: v.stored(), memo: &x.memo}
	c.valid = v.valid
	out, err := x.run(c, []*vec{v})
	if err != nil {
		return nil, err
	}
	if v.one {
		w := *out
		w.one, w.n = true, v.n
		return &w, nil
	}
	return out, nil
}
