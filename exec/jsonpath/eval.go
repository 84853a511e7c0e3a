package jsonpath

import (
	"context"

	"github.com/tributarydb/tributary/sql/json"
	path "github.com/tributarydb/tributary/sql/jsonpath"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Query is one evaluation.
type Query struct {
	Path *path.Path
	Root json.Value
	Vars json.Value // an object
	// Match reports whether a text matches a POSIX expression with its flags.
	Match func(text, pattern, flags string) (bool, error)

	// last is the index of the last element of the innermost array that is
	// being subscripted.
	last      int
	forgiving bool // a missing member or element is no error
	objects   int64
	steps     int
}

// Items returns what the path selects. With an error come the items before it.
// Errors for which Silent is true depend on the values, the others on the path
// and its variables.
func (q *Query) Items(ctx context.Context) ([]json.Value, error) {
	q.forgiving = !q.Path.Strict
	r := run{Query: q, ctx: ctx}
	err := r.item(q.Path.Expr, q.Root, r.lax())
	return r.out, err
}

// Silent reports whether an error of Items is one that the argument silent of
// the functions, and the operators @? and @@, suppress.
func Silent(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.SQLJSONMemberNotFound, pgerr.SQLJSONArrayNotFound, pgerr.SQLJSONObjectNotFound, pgerr.SQLJSONNumberNotFound,
		pgerr.NonNumericSQLJSONItem, pgerr.SingletonSQLJSONItemRequired, pgerr.InvalidSQLJSONSubscript,
		pgerr.DivisionByZero, pgerr.NumericValueOutOfRange:
		return true
	}
	return false
}

// run collects the items of an expression. at is what @ stands for.
type run struct {
	*Query
	ctx context.Context
	at  json.Value
	out []json.Value
}

func (q *Query) lax() bool { return !q.Path.Strict }

// checkEvery is after how many steps cancellation is looked for.
const checkEvery = 1024

func (r *run) step() error {
	if r.steps++; r.steps%checkEvery == 0 {
		return r.ctx.Err()
	}
	return nil
}

// item evaluates n over v and applies what follows n to each result. With
// unwrap an array is replaced by its elements where n does not accept arrays.
func (r *run) item(n *path.Node, v json.Value, unwrap bool) error {
	if err := r.step(); err != nil {
		return err
	}
	switch n.Kind {
	case path.Null:
		return r.next(n, json.Value{})
	case path.True, path.False:
		return r.next(n, json.BoolOf(n.Kind == path.True))
	case path.String:
		return r.next(n, json.StringOf(n.Text))
	case path.Number:
		d, err := number.ParseDecimal(n.Text)
		if err != nil {
			return err
		}
		return r.next(n, json.NumberOf(d))
	case path.Variable:
		x, ok := r.Vars.Get(n.Text)
		if !ok {
			return pgerr.New(pgerr.UndefinedObject, "could not find jsonpath variable \"%s\"", n.Text)
		}
		return r.next(n, x)
	case path.Root:
		return r.next(n, r.Root)
	case path.Current:
		return r.next(n, r.at)
	case path.Last:
		return r.next(n, json.NumberOf(number.DecimalFromInt64(int64(r.last), 0)))
	case path.Key, path.AnyKey, path.Filter:
		if v.Kind == json.Array && unwrap {
			return r.each(n, v)
		}
		return r.member(n, v)
	case path.AnyElem, path.Index:
		return r.elements(n, v)
	case path.AnyLevel:
		return r.levels(n, v, 0)
	case path.Method:
		return r.method(n, v, unwrap)
	case path.Add, path.Sub, path.Mul, path.Div, path.Mod:
		return r.binary(n, v)
	case path.Plus, path.Minus:
		return r.sign(n, v)
	}
	t, err := r.truth(n, v)
	if err != nil {
		return err
	}
	if t == unknown {
		return r.next(n, json.Value{})
	}
	return r.next(n, json.BoolOf(t == yes))
}

// next applies what follows n to v.
func (r *run) next(n *path.Node, v json.Value) error {
	if n.Next != nil {
		return r.item(n.Next, v, r.lax())
	}
	r.out = append(r.out, v)
	return nil
}

// each applies n to the elements of an array, arrays among them as they are.
func (r *run) each(n *path.Node, v json.Value) error {
	for _, e := range v.Elems {
		if err := r.item(n, e, false); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) member(n *path.Node, v json.Value) error {
	switch {
	case n.Kind == path.Filter:
		t, err := r.within(n.L, v)
		if err != nil || t != yes {
			return err
		}
		return r.next(n, v)
	case v.Kind != json.Object:
		switch {
		case r.forgiving:
			return nil
		case n.Kind == path.AnyKey:
			return pgerr.New(pgerr.SQLJSONObjectNotFound, "jsonpath wildcard member accessor can only be applied to an object")
		}
		return pgerr.New(pgerr.SQLJSONMemberNotFound, "jsonpath member accessor can only be applied to an object")
	case n.Kind == path.AnyKey:
		for _, e := range v.Elems {
			if err := r.next(n, e); err != nil {
				return err
			}
		}
		return nil
	}
	x, ok := v.Get(n.Text)
	switch {
	case ok:
		return r.next(n, x)
	case r.forgiving:
		return nil
	}
	return pgerr.New(pgerr.SQLJSONMemberNotFound, "JSON object does not contain key \"%s\"", n.Text)
}

// elements is [*] and [subscripts]; in lax mode a value that is no array is
// treated as an array of one element.
func (r *run) elements(n *path.Node, v json.Value) error {
	elems := v.Elems
	if v.Kind != json.Array {
		switch {
		case r.lax():
			elems = []json.Value{v}
		case r.forgiving:
			return nil
		case n.Kind == path.AnyElem:
			return pgerr.New(pgerr.SQLJSONArrayNotFound, "jsonpath wildcard array accessor can only be applied to an array")
		default:
			return pgerr.New(pgerr.SQLJSONArrayNotFound, "jsonpath array accessor can only be applied to an array")
		}
	}
	if n.Kind == path.AnyElem {
		for _, e := range elems {
			if err := r.next(n, e); err != nil {
				return err
			}
		}
		return nil
	}
	outer := r.last
	defer func() { r.last = outer }()
	for _, s := range n.Subs {
		r.last = len(elems) - 1
		from, err := r.subscript(s.From, v)
		if err != nil {
			return err
		}
		to := from
		if s.To != nil {
			if to, err = r.subscript(s.To, v); err != nil {
				return err
			}
		}
		if !r.forgiving && (from < 0 || from > to || to >= len(elems)) {
			return pgerr.New(pgerr.InvalidSQLJSONSubscript, "jsonpath array subscript is out of bounds")
		}
		for i := max(from, 0); i <= min(to, len(elems)-1); i++ {
			if err := r.next(n, elems[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) subscript(n *path.Node, v json.Value) (int, error) {
	items, err := r.sub(n, v, false)
	if err != nil {
		return 0, err
	}
	if len(items) != 1 || items[0].Kind != json.Number {
		return 0, pgerr.New(pgerr.InvalidSQLJSONSubscript, "jsonpath array subscript is not a single numeric value")
	}
	i, ok := items[0].Num.Trunc(0).Int64()
	if !ok || i != int64(int32(i)) {
		return 0, pgerr.New(pgerr.InvalidSQLJSONSubscript, "jsonpath array subscript is out of integer range")
	}
	return int(i), nil
}

// levels is .**: v itself, at level 0, and what is within it.
func (r *run) levels(n *path.Node, v json.Value, level int) error {
	if err := r.step(); err != nil {
		return err
	}
	from, to := n.From, n.To
	leaf := v.Scalar()
	// level "last" is that of values that contain no others, but not of the first value itself
	if (level >= from && from >= 0 || from < 0 && leaf && level > 0) && (level <= to || to < 0) && (from >= 0 || to < 0) {
		was := r.forgiving
		r.forgiving = true
		err := r.next(n, v)
		r.forgiving = was
		if err != nil {
			return err
		}
	}
	if leaf || to >= 0 && level >= to {
		return nil
	}
	for _, e := range v.Elems {
		if err := r.levels(n, e, level+1); err != nil {
			return err
		}
	}
	return nil
}

// sub evaluates an operand; in lax mode, with unwrap, arrays are replaced by their elements.
func (r *run) sub(n *path.Node, v json.Value, unwrap bool) ([]json.Value, error) {
	s := run{Query: r.Query, ctx: r.ctx, at: r.at}
	err := s.item(n, v, r.lax())
	if !unwrap || !r.lax() {
		return s.out, err
	}
	var out []json.Value
	for _, x := range s.out {
		if x.Kind == json.Array {
			out = append(out, x.Elems...)
		} else {
			out = append(out, x)
		}
	}
	return out, err
}
