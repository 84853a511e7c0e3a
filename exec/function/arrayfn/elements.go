package arrayfn

import (
	"strconv"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The functions below read arrays as they lie: their elements are one column, and no row's are taken out of it one by one.

// listsAs returns a column of arrays of type t whose elements are held as those of arrays of type as.
func listsAs(c *function.Call, v *vector.Vec, t, as types.Type) (vector.Lists, error) {
	l := vector.ListsOf(c.Arena, v)
	from, _ := t.Elem()
	to, _ := as.Elem()
	elems, err := vector.Represented(c.Arena, l.Elems, from, to)
	l.Elems = elems
	return l, err
}

// valuesAs returns a column of values held as the elements of arrays of type as.
func valuesAs(c *function.Call, v *vector.Vec, t, as types.Type) (*vector.Vec, error) {
	to, _ := as.Elem()
	return vector.Represented(c.Arena, v, t, to)
}

func elemOf(t types.Type) types.Type {
	e, _ := t.Elem()
	return e
}

// appended adds the value of one argument at the end of the array of another that comes before it, else at its beginning.
func appended(list, value int) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l, err := listsAs(c, args[list], c.Types[list], c.Ret)
		if err != nil {
			return nil, err
		}
		v, err := valuesAs(c, args[value], c.Types[value], c.Ret)
		if err != nil {
			return nil, err
		}
		w := vector.NewListWriter(c.Arena, elemOf(c.Ret), c.N, l.Elems, v)
		for i := range c.N {
			from, to := l.Row(i)
			if value < list {
				w.One(1, i)
			}
			w.Add(0, from, to)
			if list < value {
				w.One(1, i)
			}
			w.End()
		}
		return w.Done()
	}
}

// concatenated is array_cat; a NULL adds nothing to an array.
func concatenated(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	l, err := listsAs(c, args[0], c.Types[0], c.Ret)
	if err != nil {
		return nil, err
	}
	r, err := listsAs(c, args[1], c.Types[1], c.Ret)
	if err != nil {
		return nil, err
	}
	w := vector.NewListWriter(c.Arena, elemOf(c.Ret), c.N, l.Elems, r.Elems)
	for i := range c.N {
		if args[0].Null(i) && args[1].Null(i) {
			w.Null()
			continue
		}
		from, to := l.Row(i)
		w.Add(0, from, to)
		from, to = r.Row(i)
		w.Add(1, from, to)
		w.End()
	}
	return w.Done()
}

// edited is array_remove and, with a third argument, array_replace: what equals the second argument is left out or
// becomes the third.
func edited(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	l, err := listsAs(c, args[0], c.Types[0], c.Ret)
	if err != nil {
		return nil, err
	}
	cols := []*vector.Vec{l.Elems}
	for k := 1; k < len(args); k++ {
		v, err := valuesAs(c, args[k], c.Types[k], c.Ret)
		if err != nil {
			return nil, err
		}
		cols = append(cols, v)
	}
	same, what := sameOrNull(elemOf(c.Ret)), cols[1]
	w := vector.NewListWriter(c.Arena, elemOf(c.Ret), c.N, cols...)
	for i := range c.N {
		if args[0].Null(i) {
			w.Null()
			continue
		}
		from, to := l.Row(i)
		c.Meter().Poll(vector.RowWork * (to - from))
		for j := from; j < to; j++ {
			switch {
			case !same(l.Elems, j, what, i):
				w.Add(0, j, j+1)
			case len(args) == 3:
				w.One(2, i)
			}
		}
		w.End()
	}
	return w.Done()
}

func trimmed(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	l, n := vector.ListsOf(c.Arena, args[0]), function.Arg[int64](c, args, 1)
	w := vector.NewListWriter(c.Arena, elemOf(c.Ret), c.N, l.Elems)
	for i := range c.N {
		if c.Skip(i) {
			w.Null()
			continue
		}
		from, to := l.Row(i)
		less := n(i)
		if less < 0 || less > int64(to-from) {
			err := pgerr.New(pgerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d", to-from)
			if c.NullOn == nil || !c.NullOn(err) {
				return nil, err
			}
			w.Null()
			continue
		}
		w.Add(0, from, to-int(less))
		w.End()
	}
	return w.Done()
}

// same tells whether two values that are not NULL are equal.
type same = func(l *vector.Vec, i int, r *vector.Vec, j int) bool

// sameOrNull is equality where a NULL equals a NULL.
func sameOrNull(t types.Type) same {
	equal := compare.Equaler(t)
	return func(l *vector.Vec, i int, r *vector.Vec, j int) bool {
		ln, rn := l.Null(i), r.Null(j)
		return ln && rn || !ln && !rn && equal(l, l.At(i), r, r.At(j))
	}
}

// row is the elements of an array: a part of a column.
type row struct {
	col      *vector.Vec
	from, to int
}

// compared applies a condition to the arrays of two arguments.
func compared(f func(l, r row, same same) bool) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l := vector.ListsOf(c.Arena, args[0])
		r, err := listsAs(c, args[1], c.Types[1], c.Types[0])
		if err != nil {
			return nil, err
		}
		same := compare.Equaler(elemOf(c.Types[0]))
		out := vector.Alloc[uint8](c.Arena, c.N)
		for i := range out {
			if c.Skip(i) {
				continue
			}
			x, y := row{col: l.Elems}, row{col: r.Elems}
			x.from, x.to = l.Row(i)
			y.from, y.to = r.Row(i)
			c.Meter().Poll(vector.RowWork + (x.to-x.from)*(y.to-y.from))
			out[i] = vector.ByteOf(f(x, y, same))
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// has reports whether a value that is not NULL is in a row.
func (r row) has(v *vector.Vec, at int, same same) bool {
	for i := r.from; i < r.to; i++ {
		if !r.col.Null(i) && same(r.col, i, v, at) {
			return true
		}
	}
	return false
}

// contains reports whether l has all elements of r; it has no NULL.
func contains(l, r row, same same) bool {
	for j := r.from; j < r.to; j++ {
		if r.col.Null(j) || !l.has(r.col, j, same) {
			return false
		}
	}
	return true
}

func overlap(l, r row, same same) bool {
	for j := r.from; j < r.to; j++ {
		if !r.col.Null(j) && l.has(r.col, j, same) {
			return true
		}
	}
	return false
}

func arrayPosition(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	l := vector.ListsOf(c.Arena, args[0])
	v, err := valuesAs(c, args[1], c.Types[1], c.Types[0])
	if err != nil {
		return nil, err
	}
	lo := LowerBound(c.Types[0])
	first := func(int) int64 { return lo }
	if len(args) == 3 {
		first = function.Arg[int64](c, args, 2)
	}
	same := sameOrNull(elemOf(c.Types[0]))
	return function.Each(c, func(i int) (int64, error) {
		if args[0].Null(i) {
			return 0, function.ErrNull
		}
		if len(args) == 3 && args[2].Null(i) {
			return 0, pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
		}
		from, to := l.Row(i)
		c.Meter().Poll(to - from)
		for k := max(0, first(i)-lo); k < int64(to-from); k++ {
			if same(l.Elems, from+int(k), v, i) {
				return k + lo, nil
			}
		}
		return 0, function.ErrNull
	})
}

func arrayToString(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	l, et := vector.ListsOf(c.Arena, args[0]), elemOf(c.Types[0])
	sep := function.Arg[string](c, args, 1)
	var null func(int) string
	if len(args) == 3 {
		null = function.Arg[string](c, args, 2)
	}
	var digits []byte
	text := func(i int) string { return c.TextOf(et, l.Elems.Datum(et, i)) }
	switch {
	case et.Form() == vector.Str:
		text = l.Elems.Str
	case et.IsInteger():
		text = func(i int) string {
			digits = strconv.AppendInt(digits[:0], vector.IntAt(l.Elems, i), 10)
			return vector.BytesString(digits)
		}
	}
	return function.Each(c, func(i int) (string, error) {
		if args[0].Null(i) || args[1].Null(i) {
			return "", function.ErrNull
		}
		b, first := c.Text(0), true
		from, to := l.Row(i)
		for j := from; j < to; j++ {
			none := l.Elems.Null(j)
			if none && (null == nil || args[2].Null(i)) {
				continue
			}
			if !first {
				b.WriteString(sep(i))
			}
			if first = false; none {
				b.WriteString(null(i))
			} else {
				b.WriteString(text(j))
			}
		}
		return b.String(), nil
	})
}
