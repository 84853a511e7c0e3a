package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// try is try_cast: a value that the cast refuses becomes NULL.
func try(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
	conv, err := Between(at[0], ret, true)
	if err != nil {
		return func(*function.Call, []*vector.Vec) (*vector.Vec, error) { return nil, err }
	}
	if conv == nil {
		return func(_ *function.Call, args []*vector.Vec) (*vector.Vec, error) { return args[0], nil }
	}
	x := New(at[0], ret, conv)
	x.nullOn = ofData
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := args[0]
		out, err := x.Apply(c.Ctx, c.Env, c.Arena, v)
		if err == nil || !ofData(err) {
			return out, err
		}
		if v.One {
			return vector.NewNull(v.N), nil
		}
		// A kernel that converts all rows at once: the rows that fail are found by halves.
		rows := vector.Alloc[int32](c.Arena, v.N)
		for i := range rows {
			rows[i] = int32(i)
		}
		var parts []vector.Part
		if parts, err = x.halves(c, v, rows, nil); err != nil {
			return nil, err
		}
		if len(parts) == 0 {
			return vector.NewNull(v.N), nil
		}
		return vector.Scatter(c.Arena, v.N, x.to, parts)
	}
}

// halves appends the results of rows of v, some of which fail.
func (x *Conversion) halves(c *function.Call, v *vector.Vec, rows []int32, parts []vector.Part) ([]vector.Part, error) {
	for _, half := range [][]int32{rows[:len(rows)/2], rows[len(rows)/2:]} {
		if len(half) == 0 {
			continue
		}
		some, err := vector.TakeVec(c.Arena, v, half, x.from)
		if err != nil {
			return nil, err
		}
		out, err := x.Apply(c.Ctx, c.Env, c.Arena, some)
		switch {
		case err == nil:
			parts = append(parts, vector.Part{Rows: half, V: out})
		case !ofData(err):
			return nil, err
		case len(half) > 1:
			if parts, err = x.halves(c, v, half, parts); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// ofData reports whether an error says that a value is none of the type: class 22.
func ofData(err error) bool {
	code := string(pgerr.From(err).Code)
	return len(code) == 5 && code[:2] == "22"
}
