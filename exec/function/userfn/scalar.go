package userfn

import (
	"context"

	"go.starlark.net/starlark"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Scalar makes the implementation of a user's function for one program of expressions.
func Scalar(f *fn.Func) (function.Impl, error) {
	p, err := load(f.User)
	if err != nil {
		return nil, err
	}
	return func(c *function.Call, args []*vector.Vec) (v *vector.Vec, err error) {
		r, ok := (*c.Memo).(*running)
		if !ok {
			if r, err = p.start(f.User); err != nil {
				return nil, err
			}
			*c.Memo = r
		}
		defer caught(f.User, &err)
		done := false
		defer func() { // out of memory: the thread is in the middle of a call
			if !done {
				*c.Memo = nil
			}
		}()
		r.ctx, r.meter = c.Ctx, c.Meter()
		if p.batch {
			v, err = r.byBatch(c, args)
		} else {
			v, err = r.byRow(c, args)
		}
		r.ctx, r.meter, done = context.Background(), nil, true
		return v, err
	}, nil
}

// byRow calls the function for each row.
func (r *running) byRow(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	env := c.Env.TypesEnv()
	read := make([]func(i int) (starlark.Value, error), len(args))
	for k, v := range args {
		read[k] = reader(c, v, c.Types[k], env)
	}
	values := make(starlark.Tuple, len(args))
	run := func(i int) (starlark.Value, error) {
		for k, f := range read {
			v, err := f(i)
			if err != nil {
				return nil, err
			}
			values[k] = v
		}
		return r.call(values)
	}
	return results(c, run)
}

// results collects what get returns for each row as the column of the result.
func results(c *function.Call, get func(i int) (starlark.Value, error)) (*vector.Vec, error) {
	env := c.Env.TypesEnv()
	other := func(v starlark.Value) (types.Datum, error) {
		c.Meter().Scratch(printed(v, 0))
		d, err := toDatum(c.Ret, v, env, 0)
		if err == nil && d == nil {
			err = function.ErrNull
		}
		return d, err
	}
	switch class := c.Ret.Class(); {
	case c.Ret.Form() == types.FormFloat64:
		return function.Each(c, func(i int) (float64, error) {
			v, err := get(i)
			if err != nil {
				return 0, err
			}
			if f, ok := v.(starlark.Float); ok {
				return float64(f), nil
			}
			d, err := other(v)
			if err != nil {
				return 0, err
			}
			return d.(float64), nil
		})
	case class == types.ClassInteger:
		return function.Each(c, func(i int) (int64, error) {
			v, err := get(i)
			if err != nil {
				return 0, err
			}
			d, err := other(v)
			if err != nil {
				return 0, err
			}
			return d.(int64), nil
		})
	case class == types.ClassBool:
		return function.Each(c, func(i int) (bool, error) {
			v, err := get(i)
			if err != nil {
				return false, err
			}
			if b, ok := v.(starlark.Bool); ok {
				return bool(b), nil
			}
			d, err := other(v)
			if err != nil {
				return false, err
			}
			return d.(bool), nil
		})
	}
	at := 0
	loose := function.Loose(func(c *function.Call, _ []types.Datum) (types.Datum, error) {
		for c.Skip(at) {
			at++
		}
		v, err := get(at)
		at++
		if err != nil {
			return nil, err
		}
		return other(v)
	})
	return loose(c, nil)
}

// reader reads an argument's values.
func reader(c *function.Call, v *vector.Vec, t types.Type, env *types.Env) func(i int) (starlark.Value, error) {
	orNull := func(f func(i int) starlark.Value) func(i int) (starlark.Value, error) {
		if v.Valid == nil && v.Kind != vector.Null {
			return func(i int) (starlark.Value, error) { return f(i), nil }
		}
		return func(i int) (starlark.Value, error) {
			if v.Null(i) {
				return starlark.None, nil
			}
			return f(i), nil
		}
	}
	if v.Kind == vector.Null {
		return func(int) (starlark.Value, error) { return starlark.None, nil }
	}
	switch t.Class() {
	case types.ClassFloat:
		x := vector.Reader[float64](v, t)
		return orNull(func(i int) starlark.Value { return starlark.Float(x(i)) })
	case types.ClassInteger:
		x := vector.IntReader(v)
		return orNull(func(i int) starlark.Value { return starlark.MakeInt64(x(i)) })
	case types.ClassBool:
		x := vector.Reader[bool](v, t)
		return orNull(func(i int) starlark.Value { return starlark.Bool(x(i)) })
	}
	return func(i int) (starlark.Value, error) {
		if v.Null(i) {
			return starlark.None, nil
		}
		c.Boxed(v, i)
		d := v.Datum(t, i)
		c.Meter().Scratch(boxed * int(types.DatumBytes(d)))
		return toValue(t, d, env)
	}
}

// boxed is how many bytes a byte of a value may take as a function sees it: in JSON a digit of a list.
const boxed = 16

// byBatch calls the function once for all rows.
func (r *running) byBatch(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	env := c.Env.TypesEnv()
	b := &batch{n: c.N, at: map[string]int{}}
	for k, v := range args {
		r.charge(16 * c.N)
		col, err := columnOf(c, v, c.Types[k], env)
		if err != nil {
			return nil, err
		}
		if in := r.f.Inputs(); k < len(in) && in[k].Name != "" {
			b.at[in[k].Name] = k
			b.names = append(b.names, in[k].Name)
		}
		b.cols = append(b.cols, col)
	}
	v, err := r.call(starlark.Tuple{b})
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case *column:
		if x.n != c.N {
			return nil, r.wrongLength(x.n, c.N)
		}
		if v := x.vector(c); v != nil {
			return v, nil
		}
		return results(c, func(i int) (starlark.Value, error) { return x.Index(i), nil })
	case *starlark.List:
		if x.Len() != c.N {
			return nil, r.wrongLength(x.Len(), c.N)
		}
		return results(c, func(i int) (starlark.Value, error) { return x.Index(i), nil })
	}
	return results(c, func(int) (starlark.Value, error) { return v, nil })
}

// vector is a column that has the form of the result, as it lies; nil for others.
func (x *column) vector(c *function.Call) *vector.Vec {
	valid := c.Valid
	if x.null != nil {
		valid = vector.Alloc[byte](c.Arena, (x.n+7)/8)
		clear(valid)
		for i, null := range x.null {
			if !null && !c.Skip(i) {
				valid[i>>3] |= 1 << (i & 7)
			}
		}
	}
	switch {
	case x.kind == floats && c.Ret.OID == types.Float8OID:
		return vector.NewFixed(vector.F64, x.f, valid)
	case x.kind == ints && c.Ret.OID == types.Float8OID:
		f, _ := x.number()
		return vector.NewFixed(vector.F64, f, valid)
	case x.kind == ints && c.Ret.OID == types.Int8OID:
		return vector.NewFixed(vector.I64, x.i, valid)
	case x.kind == bools && c.Ret.OID == types.BoolOID:
		return vector.NewFixed(vector.Bool, x.b, valid)
	}
	return nil
}

func (r *running) wrongLength(got, want int) error {
	return pgerr.New(pgerr.ExternalRoutineException, "Starlark function %s returned %d values for %d rows", r.f.Name, got, want)
}

// columnOf is an argument of all rows.
func columnOf(c *function.Call, v *vector.Vec, t types.Type, env *types.Env) (*column, error) {
	col := &column{n: c.N, room: c.Arena}
	if v.Kind == vector.Null || v.Valid != nil {
		col.null = vector.Alloc[bool](c.Arena, c.N)
		for i := range col.null {
			col.null[i] = v.Null(i)
		}
	}
	switch t.Class() {
	case types.ClassFloat:
		if col.kind = floats; v.Kind == vector.F64 && !v.One {
			col.f = vector.Values[float64](v) // as it lies: columns never change
			break
		}
		col.f = make([]float64, c.N)
		if v.Kind != vector.Null {
			x := vector.Reader[float64](v, t)
			for i := range col.f {
				col.f[i] = x(i)
			}
		}
	case types.ClassInteger:
		if col.kind = ints; v.Kind == vector.I64 && !v.One {
			col.i = vector.Values[int64](v)
			break
		}
		col.i = make([]int64, c.N)
		if v.Kind != vector.Null {
			x := vector.IntReader(v)
			for i := range col.i {
				col.i[i] = x(i)
			}
		}
	case types.ClassBool:
		col.kind, col.b = bools, make([]bool, c.N)
		if v.Kind != vector.Null {
			x := vector.Reader[bool](v, t)
			for i := range col.b {
				col.b[i] = x(i)
			}
		}
	default:
		col.kind, col.v, col.null = values, make([]starlark.Value, c.N), nil
		read := reader(c, v, t, env)
		for i := range col.v {
			x, err := read(i)
			if err != nil {
				return nil, err
			}
			col.v[i] = x
		}
	}
	return col, nil
}

// Set starts a set-returning function for an input row.
func Set(f *fn.Func) (function.SetMaker, error) {
	p, err := load(f.User)
	if err != nil {
		return nil, err
	}
	var r *running
	return func(c *function.SetCall, args []types.Datum) (function.Generator, error) {
		if r == nil {
			var err error
			if r, err = p.start(f.User); err != nil {
				return nil, err
			}
		}
		done := false
		defer func() {
			if !done {
				r = nil
			}
		}()
		env := c.Env.TypesEnv()
		in := make(starlark.Tuple, len(args))
		for i, d := range args {
			c.Meter.Scratch(boxed * int(types.DatumBytes(d)))
			v, err := toValue(c.Types[i], d, env)
			if err != nil {
				return nil, err
			}
			in[i] = v
		}
		if c.Meter.Ctx != nil {
			r.ctx = c.Meter.Ctx
		}
		r.meter = c.Meter
		v, err := r.call(in)
		if err != nil {
			done = true
			return nil, err
		}
		rows, err := rowsOf(c, v, env)
		done = true
		r.ctx, r.meter = context.Background(), nil
		if err != nil {
			return nil, err
		}
		return c.List(rows), nil
	}, nil
}

// rowsOf are the rows that a set-returning function returned: a list of values, or of tuples or dicts.
func rowsOf(c *function.SetCall, v starlark.Value, env *types.Env) ([]types.Datum, error) {
	if v == starlark.None {
		return nil, nil
	}
	it, ok := v.(starlark.Iterable)
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "a set-returning function must return a list, not a value of Starlark type %s", v.Type())
	}
	cols := c.Call.Cols
	c.Meter.Scratch(max(0, starlark.Len(v)) * valueBytes)
	var rows []types.Datum
	for x := range starlark.Elements(it) {
		c.Meter.Scratch(printed(x, 0))
		if len(cols) == 1 && c.Call.Fn.Rec == nil {
			d, err := toDatum(cols[0].Type, x, env, 0)
			if err != nil {
				return nil, err
			}
			rows = append(rows, d)
			continue
		}
		row := make(types.Row, len(cols))
		seq, isSeq := x.(starlark.Indexable)
		m, isMap := x.(*starlark.Dict)
		if isSeq && seq.Len() != len(cols) || !isSeq && !isMap {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "a row of the result must be a tuple of %d values, or a dict", len(cols))
		}
		for i, col := range cols {
			e := starlark.Value(starlark.None)
			if isMap {
				if y, found, err := m.Get(starlark.String(col.Name)); err == nil && found {
					e = y
				}
			} else {
				e = seq.Index(i)
			}
			d, err := toDatum(col.Type, e, env, 0)
			if err != nil {
				return nil, err
			}
			row[i] = d
		}
		rows = append(rows, row)
	}
	return rows, nil
}
