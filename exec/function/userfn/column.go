package userfn

import (
	"fmt"
	"math"
	"sort"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tributarydb/tributary/exec/vector"
)

// batch is the rows of a call of def f(batch): its columns by name, as batch.a or batch["a"], and their number
// as len(batch).
type batch struct {
	n     int
	cols  []*column
	names []string
	at    map[string]int
}

var (
	_ starlark.HasAttrs = (*batch)(nil)
	_ starlark.Mapping  = (*batch)(nil)
)

func (b *batch) String() string        { return fmt.Sprintf("batch(%d)", b.n) }
func (b *batch) Type() string          { return "batch" }
func (b *batch) Freeze()               {}
func (b *batch) Truth() starlark.Bool  { return b.n > 0 }
func (b *batch) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: batch") }
func (b *batch) Len() int              { return b.n }
func (b *batch) AttrNames() []string   { return b.names }

func (b *batch) Attr(name string) (starlark.Value, error) {
	if k, ok := b.at[name]; ok {
		return b.cols[k], nil
	}
	return nil, nil
}

func (b *batch) Get(k starlark.Value) (starlark.Value, bool, error) {
	if s, ok := starlark.AsString(k); ok {
		i, ok := b.at[s]
		if !ok {
			return nil, false, nil
		}
		return b.cols[i], true, nil
	}
	var i int
	if err := starlark.AsInt(k, &i); err != nil || i < 0 || i >= len(b.cols) {
		return nil, false, nil
	}
	return b.cols[i], true, nil
}

type kind uint8

const (
	floats kind = iota
	ints
	bools
	values
)

// column is the values of many rows. Its operators and methods work on each; NULL stays NULL. A column never
// changes. There is nothing that depends on several rows: which rows are in a batch is not determined.
type column struct {
	kind kind
	n    int
	f    []float64
	i    []int64
	b    []bool
	v    []starlark.Value
	null []bool // nil: none is; of values they are None
	// room is where what is computed of the column lies: the call's, which ends before it is reused.
	room *vector.Arena
}

var (
	_ starlark.HasBinary = (*column)(nil)
	_ starlark.HasUnary  = (*column)(nil)
	_ starlark.HasAttrs  = (*column)(nil)
	_ starlark.Indexable = (*column)(nil)
	_ starlark.Sequence  = (*column)(nil)
)

func (c *column) String() string        { return fmt.Sprintf("column(%d)", c.n) }
func (c *column) Type() string          { return "column" }
func (c *column) Freeze()               {}
func (c *column) Truth() starlark.Bool  { return c.n > 0 }
func (c *column) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: column") }
func (c *column) Len() int              { return c.n }

func (c *column) isNull(i int) bool {
	if c.kind == values {
		return c.v[i] == starlark.None
	}
	return c.null != nil && c.null[i]
}

func (c *column) Index(i int) starlark.Value {
	if c.null != nil && c.null[i] {
		return starlark.None
	}
	switch c.kind {
	case floats:
		return starlark.Float(c.f[i])
	case ints:
		return starlark.MakeInt64(c.i[i])
	case bools:
		return starlark.Bool(c.b[i])
	}
	return c.v[i]
}

type columnIterator struct {
	c *column
	i int
}

func (it *columnIterator) Next(p *starlark.Value) bool {
	if it.i >= it.c.n {
		return false
	}
	*p = it.c.Index(it.i)
	it.i++
	return true
}
func (it *columnIterator) Done() {}

func (c *column) Iterate() starlark.Iterator { return &columnIterator{c: c} }

// operand is a column, or a scalar as one: of length 1, which every row reads.
func operand(v starlark.Value) (*column, bool) {
	switch v := v.(type) {
	case *column:
		return v, true
	case starlark.Float:
		return &column{kind: floats, n: 1, f: []float64{float64(v)}}, true
	case starlark.Int:
		if i, ok := v.Int64(); ok {
			return &column{kind: ints, n: 1, i: []int64{i}}, true
		}
	case starlark.Bool:
		return &column{kind: bools, n: 1, b: []bool{bool(v)}}, true
	case starlark.NoneType:
		return &column{kind: floats, n: 1, f: []float64{0}, null: []bool{true}}, true
	case starlark.String, decimal, moment, starlark.Bytes:
		return &column{kind: values, n: 1, v: []starlark.Value{v}}, true
	}
	return nil, false
}

// number returns the values as floats.
func (c *column) number() ([]float64, bool) {
	switch c.kind {
	case floats:
		return c.f, true
	case ints:
		out := vector.Alloc[float64](c.room, c.n)
		for i, x := range c.i {
			out[i] = float64(x)
		}
		return out, true
	}
	return nil, false
}

// nulls are the rows where one of two operands is NULL.
func nulls(a, b *column, n int) []bool {
	if a.null == nil && b.null == nil && a.kind != values && b.kind != values {
		return nil
	}
	out := vector.Alloc[bool](roomOf(a, b), n)
	for i := range out {
		out[i] = a.isNull(at(a, i)) || b.isNull(at(b, i))
	}
	return out
}

func at(c *column, i int) int {
	if c.n == 1 {
		return 0
	}
	return i
}

func roomOf(a, b *column) *vector.Arena {
	if a.room != nil {
		return a.room
	}
	return b.room
}

// blockRows is how many values a kernel computes at a time: few enough that a value that stands for all rows is
// written out for them.
const blockRows = 256

// each computes n values of x and y, either of which may be one for all rows, by a loop over blocks of both.
func each[T, R any](room *vector.Arena, n int, x, y []T, kernel func(out []R, x, y []T)) []R {
	out := vector.Alloc[R](room, n)
	var same [2][blockRows]T
	part := func(k int, v []T, from, to int) []T {
		if len(v) == 1 && n != 1 {
			return same[k][:to-from]
		}
		return v[from:to]
	}
	for k, v := range [2][]T{x, y} {
		if len(v) == 1 {
			for i := range same[k] {
				same[k][i] = v[0]
			}
		}
	}
	for from := 0; from < n; from += blockRows {
		to := min(n, from+blockRows)
		kernel(out[from:to], part(0, x, from, to), part(1, y, from, to))
	}
	return out
}

// arithmetic are the kernels of numbers that cannot fail.
var arithmetic = map[syntax.Token]func(out, x, y []float64){
	syntax.PLUS: func(out, x, y []float64) {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] + y[i]
		}
	},
	syntax.MINUS: func(out, x, y []float64) {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] - y[i]
		}
	},
	syntax.STAR: func(out, x, y []float64) {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] * y[i]
		}
	},
	syntax.SLASH: func(out, x, y []float64) {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] / y[i]
		}
	},
	syntax.SLASHSLASH: func(out, x, y []float64) {
		for i := range out {
			out[i] = math.Floor(x[i] / y[i])
		}
	},
	syntax.PERCENT: func(out, x, y []float64) {
		for i := range out {
			m := math.Mod(x[i], y[i])
			if m != 0 && (m < 0) != (y[i] < 0) {
				m += y[i]
			}
			out[i] = m
		}
	},
}

// comparisons are the kernels of comparisons.
var comparisons = map[syntax.Token]func(out []bool, x, y []float64){
	syntax.EQL: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] == y[i]
		}
	},
	syntax.NEQ: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] != y[i]
		}
	},
	syntax.LT: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] < y[i]
		}
	},
	syntax.LE: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] <= y[i]
		}
	},
	syntax.GT: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] > y[i]
		}
	},
	syntax.GE: func(out []bool, x, y []float64) {
		for i := range out {
			out[i] = x[i] >= y[i]
		}
	},
}

// logical are the kernels of masks.
var logical = map[syntax.Token]func(out, x, y []bool){
	syntax.AMP: func(out, x, y []bool) {
		for i := range out {
			out[i] = x[i] && y[i]
		}
	},
	syntax.PIPE: func(out, x, y []bool) {
		for i := range out {
			out[i] = x[i] || y[i]
		}
	},
	syntax.CIRCUMFLEX: func(out, x, y []bool) {
		for i := range out {
			out[i] = x[i] != y[i]
		}
	},
}

func (c *column) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	o, ok := operand(y)
	if !ok {
		return nil, nil
	}
	a, b := c, o
	if side == starlark.Right {
		a, b = o, c
	}
	return combine(op, a, b)
}

func pair(a, b *column) (int, error) {
	n := max(a.n, b.n)
	if a.n != n && a.n != 1 || b.n != n && b.n != 1 {
		return 0, fmt.Errorf("columns of %d and %d rows", a.n, b.n)
	}
	return n, nil
}

func combine(op syntax.Token, a, b *column) (starlark.Value, error) {
	n, err := pair(a, b)
	if err != nil {
		return nil, err
	}
	null, room := nulls(a, b, n), roomOf(a, b)
	if a.kind == bools && b.kind == bools {
		if kernel := logical[op]; kernel != nil {
			return &column{kind: bools, n: n, null: null, room: room, b: each(room, n, a.b, b.b, kernel)}, nil
		}
		return nil, nil
	}
	if a.kind == ints && b.kind == ints && op != syntax.SLASH {
		return combineInts(op, a, b, n, null)
	}
	x, ok1 := a.number()
	y, ok2 := b.number()
	if !ok1 || !ok2 {
		return elementwise(n, a, b, func(x, y starlark.Value) (starlark.Value, error) {
			if x == starlark.None || y == starlark.None {
				return starlark.None, nil
			}
			return starlark.Binary(op, x, y)
		})
	}
	kernel := arithmetic[op]
	if kernel == nil {
		return nil, nil
	}
	return &column{kind: floats, n: n, null: null, room: room, f: each(room, n, x, y, kernel)}, nil
}

// combineInts computes with integers; an overflow or a division by zero is an error.
func combineInts(op syntax.Token, a, b *column, n int, null []bool) (starlark.Value, error) {
	out := &column{kind: ints, n: n, null: null, room: roomOf(a, b), i: vector.Alloc[int64](roomOf(a, b), n)}
	for i := range n {
		out.i[i] = 0
		if null != nil && null[i] {
			continue
		}
		x, y := a.i[at(a, i)], b.i[at(b, i)]
		z, ok := int64(0), true
		switch op {
		case syntax.PLUS:
			z = x + y
			ok = (z > x) == (y > 0)
		case syntax.MINUS:
			z = x - y
			ok = (z < x) == (y > 0)
		case syntax.STAR:
			z = x * y
			ok = x == 0 || z/x == y && !(x == -1 && y == math.MinInt64)
		case syntax.SLASHSLASH, syntax.PERCENT:
			if y == 0 {
				return nil, fmt.Errorf("division by zero")
			}
			if x == math.MinInt64 && y == -1 {
				ok = op == syntax.PERCENT
				break
			}
			q, m := x/y, x%y
			if m != 0 && (m < 0) != (y < 0) {
				q, m = q-1, m+y
			}
			if z = q; op == syntax.PERCENT {
				z = m
			}
		default:
			return nil, nil
		}
		if !ok {
			return nil, fmt.Errorf("integer out of range")
		}
		out.i[i] = z
	}
	return out, nil
}

// elementwise computes with values.
func elementwise(n int, a, b *column, f func(x, y starlark.Value) (starlark.Value, error)) (starlark.Value, error) {
	out := &column{kind: values, n: n, v: make([]starlark.Value, n)}
	for i := range n {
		v, err := f(a.Index(at(a, i)), b.Index(at(b, i)))
		if err != nil {
			return nil, err
		}
		out.v[i] = v
	}
	return out, nil
}

func (c *column) Unary(op syntax.Token) (starlark.Value, error) {
	switch {
	case op == syntax.TILDE && c.kind == bools:
		return &column{kind: bools, n: c.n, null: c.null, room: c.room, b: each(c.room, c.n, c.b, []bool{true}, logical[syntax.CIRCUMFLEX])}, nil
	case op == syntax.MINUS && (c.kind == floats || c.kind == ints):
		return combine(syntax.STAR, c, &column{kind: ints, n: 1, i: []int64{-1}})
	}
	return nil, nil
}

// compared are the methods that compare, as Starlark's operators return one bool.
var compared = map[string]syntax.Token{"eq": syntax.EQL, "ne": syntax.NEQ, "lt": syntax.LT, "le": syntax.LE, "gt": syntax.GT, "ge": syntax.GE}

// floatMethods are functions of each value.
var floatMethods = map[string]func(float64) float64{"sqrt": math.Sqrt, "exp": math.Exp, "log": math.Log, "log1p": math.Log1p, "floor": math.Floor, "ceil": math.Ceil,
	"round": math.RoundToEven, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "tanh": math.Tanh, "abs": math.Abs}

func (c *column) AttrNames() []string {
	out := []string{"clip", "fillna", "float", "isnull", "map"}
	for k := range compared {
		out = append(out, k)
	}
	for k := range floatMethods {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (c *column) Attr(name string) (starlark.Value, error) {
	method := func(least int, f func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error)) (starlark.Value, error) {
		return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if len(args) < least || len(kwargs) > 0 {
				return nil, fmt.Errorf("%s: got %d arguments, want %d", name, len(args), least)
			}
			chargerOf(t).charge(9 * c.n)
			return f(t, args)
		}), nil
	}
	if op, ok := compared[name]; ok {
		return method(1, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) { return c.compare(op, args[0]) })
	}
	if f, ok := floatMethods[name]; ok && (c.kind == floats || c.kind == ints) {
		return method(0, func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) {
			x, _ := c.number()
			out := &column{kind: floats, n: c.n, null: c.null, room: c.room, f: vector.Alloc[float64](c.room, c.n)}
			for i, v := range x {
				out.f[i] = f(v)
			}
			return out, nil
		})
	}
	switch name {
	case "isnull":
		return method(0, func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) {
			out := &column{kind: bools, n: c.n, room: c.room, b: vector.Alloc[bool](c.room, c.n)}
			for i := range out.b {
				out.b[i] = c.isNull(i)
			}
			return out, nil
		})
	case "fillna":
		return method(1, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			is := &column{kind: bools, n: c.n, room: c.room, b: vector.Alloc[bool](c.room, c.n)}
			for i := range is.b {
				is.b[i] = c.isNull(i)
			}
			return choose(is, args[0], c)
		})
	case "clip":
		return method(2, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			x, ok := c.number()
			lo, ok1 := starlark.AsFloat(args[0])
			hi, ok2 := starlark.AsFloat(args[1])
			if !ok || !ok1 || !ok2 {
				return nil, fmt.Errorf("clip: want numbers")
			}
			out := &column{kind: floats, n: c.n, null: c.null, room: c.room, f: vector.Alloc[float64](c.room, c.n)}
			for i, v := range x {
				out.f[i] = min(max(v, lo), hi)
			}
			return out, nil
		})
	case "float":
		return method(0, func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) {
			x, ok := c.number()
			if !ok {
				return nil, fmt.Errorf("float: want numbers")
			}
			return &column{kind: floats, n: c.n, null: c.null, room: c.room, f: x}, nil
		})
	case "map":
		return method(1, func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			out := &column{kind: values, n: c.n, v: make([]starlark.Value, c.n)}
			for i := range out.v {
				v, err := starlark.Call(t, args[0], starlark.Tuple{c.Index(i)}, nil)
				if err != nil {
					return nil, err
				}
				out.v[i] = v
			}
			return out, nil
		})
	}
	return nil, nil
}

// compare compares each value; NULL gives NULL.
func (c *column) compare(op syntax.Token, y starlark.Value) (starlark.Value, error) {
	o, ok := operand(y)
	if !ok {
		return nil, fmt.Errorf("a column cannot be compared with %s", y.Type())
	}
	n, err := pair(c, o)
	if err != nil {
		return nil, err
	}
	out := &column{kind: bools, n: n, null: nulls(c, o, n), room: roomOf(c, o)}
	x, ok1 := c.number()
	z, ok2 := o.number()
	if !ok1 || !ok2 {
		out.b = make([]bool, n)
		for i := range n {
			if out.null != nil && out.null[i] {
				continue
			}
			b, err := starlark.Compare(op, c.Index(at(c, i)), o.Index(at(o, i)))
			if err != nil {
				return nil, err
			}
			out.b[i] = b
		}
		return out, nil
	}
	out.b = each(out.room, n, x, z, comparisons[op])
	return out, nil
}

// choose takes a where the mask is true, and else b.
func choose(mask *column, x, y starlark.Value) (starlark.Value, error) {
	a, ok1 := operand(x)
	b, ok2 := operand(y)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("where: want columns or values")
	}
	n := mask.n
	if a.n != n && a.n != 1 || b.n != n && b.n != 1 {
		return nil, fmt.Errorf("where: columns of %d, %d and %d rows", n, a.n, b.n)
	}
	room := mask.room
	if fa, ok := a.number(); ok && a.null == nil && b.null == nil {
		if fb, ok := b.number(); ok {
			m := mask.b
			if mask.null != nil {
				m = each(room, n, mask.b, mask.null, func(out, x, null []bool) {
					for i := range out {
						out[i] = x[i] && !null[i]
					}
				})
			}
			at := 0
			f := each(room, n, fa, fb, func(out, x, y []float64) {
				pick(out, m[at:at+len(out)], x, y)
				at += len(out)
			})
			return &column{kind: floats, n: n, room: room, f: f}, nil
		}
	}
	yes := func(i int) bool { return mask.b[i] && !mask.isNull(i) }
	if fa, ok := a.number(); ok {
		if fb, ok := b.number(); ok {
			out := &column{kind: floats, n: n, room: room, f: vector.Alloc[float64](room, n)}
			if a.null != nil || b.null != nil {
				out.null = make([]bool, n)
			}
			for i := range n {
				if yes(i) {
					out.f[i] = fa[at(a, i)]
					if out.null != nil {
						out.null[i] = a.isNull(at(a, i))
					}
				} else {
					out.f[i] = fb[at(b, i)]
					if out.null != nil {
						out.null[i] = b.isNull(at(b, i))
					}
				}
			}
			return out, nil
		}
	}
	out := &column{kind: values, n: n, v: make([]starlark.Value, n)}
	for i := range n {
		if yes(i) {
			out.v[i] = a.Index(at(a, i))
		} else {
			out.v[i] = b.Index(at(b, i))
		}
	}
	return out, nil
}

// pick takes x where the mask is true, and else y. As integers, of which the processor chooses one without a branch: a
// mask is as good as random.
func pick(out []float64, mask []bool, x, y []float64) {
	n := len(out)
	bits := func(v []float64) []uint64 { return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), n) }
	o, a, b := bits(out), bits(x), bits(y)
	mask, a, b = mask[:n], a[:n], b[:n]
	for i := range o {
		v, w := b[i], a[i]
		if mask[i] {
			v = w
		}
		o[i] = v
	}
}

// addColumns adds where(mask, a, b).
func addColumns(add func(name string, f func(r charger, args starlark.Tuple) (starlark.Value, error))) {
	add("where", func(r charger, a starlark.Tuple) (starlark.Value, error) {
		if len(a) != 3 {
			return nil, fmt.Errorf("where: got %d arguments, want 3", len(a))
		}
		mask, ok := a[0].(*column)
		if !ok || mask.kind != bools {
			return nil, fmt.Errorf("where: the condition must be a column of bools, as batch.a.gt(0) returns")
		}
		r.charge(32 * mask.n)
		return choose(mask, a[1], a[2])
	})
}
