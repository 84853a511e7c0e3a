package json

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Get is the value of a key of an object, of duplicates the last.
func (v Value) Get(key string) (Value, bool) {
	if v.Kind == Object {
		for i := len(v.Keys) - 1; i >= 0; i-- {
			if v.Keys[i] == key {
				return v.Elems[i], true
			}
		}
	}
	return Value{}, false
}

// Index is an element of an array, counted from the end where i is negative; a
// scalar counts as an array of one, as for jsonb's ->.
func (v Value) Index(i int) (Value, bool) {
	if v.Scalar() {
		return v, i == 0 || i == -1
	}
	if v.Kind != Array {
		return Value{}, false
	}
	if i < 0 {
		i += len(v.Elems)
	}
	if i < 0 || i >= len(v.Elems) {
		return Value{}, false
	}
	return v.Elems[i], true
}

// pathIndex reads a path element as an index of an array.
func pathIndex(s string) (int, bool) {
	n, took, over := ascii.LeadingInt(s)
	if took == 0 || took != len(s) || over {
		return 0, false
	}
	return int(n), true
}

func errJSONParam(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, format, args...)
}

// ArrayLength is jsonb_array_length().
func (v Value) ArrayLength() (int, error) {
	switch {
	case v.Kind == Array:
		return len(v.Elems), nil
	case v.Scalar():
		return 0, errJSONParam("cannot get array length of a scalar")
	}
	return 0, errJSONParam("cannot get array length of a non-array")
}

// without returns v without the elements that drop names.
func (v Value) without(drop func(i int) bool) Value {
	out := Value{Kind: v.Kind}
	for i, e := range v.Elems {
		if drop(i) {
			continue
		}
		out.Elems = append(out.Elems, e)
		if v.Kind == Object {
			out.Keys = append(out.Keys, v.Keys[i])
		}
	}
	return out
}

// Delete is the operator - with keys: members of an object, or strings of an
// array.
func (v Value) Delete(keys ...string) (Value, error) {
	if v.Scalar() {
		return v, errJSONParam("cannot delete from scalar")
	}
	return v.without(func(i int) bool {
		for _, k := range keys {
			if v.Kind == Object && v.Keys[i] == k ||
				v.Kind == Array && v.Elems[i].Kind == String && v.Elems[i].Str == k {
				return true
			}
		}
		return false
	}), nil
}

// DeleteIndex is the operator - with a number.
func (v Value) DeleteIndex(i int) (Value, error) {
	switch {
	case v.Scalar():
		return v, errJSONParam("cannot delete from scalar")
	case v.Kind == Object:
		return v, errJSONParam("cannot delete from object using integer index")
	}
	if i < 0 {
		i += len(v.Elems)
	}
	return v.without(func(j int) bool { return j == i }), nil
}

// Concat is the operator ||.
func (v Value) Concat(w Value) Value {
	if v.Kind == Object && w.Kind == Object {
		keys := append(append([]string{}, v.Keys...), w.Keys...)
		return ObjectOf(keys, append(append([]Value{}, v.Elems...), w.Elems...))
	}
	list := func(x Value) []Value {
		if x.Kind == Array {
			return x.Elems
		}
		return []Value{x}
	}
	return ArrayOf(append(append([]Value{}, list(v)...), list(w)...))
}

// StripNulls drops members that are null, at every depth.
func (v Value) StripNulls() Value {
	if v.Scalar() {
		return v
	}
	out := v
	if v.Kind == Object {
		out = v.without(func(i int) bool { return v.Elems[i].Kind == Null })
	}
	elems := make([]Value, len(out.Elems))
	for i, e := range out.Elems {
		elems[i] = e.StripNulls()
	}
	out.Elems, out.Raw = elems, ""
	return out
}

type jsonPathOp uint8

const (
	opReplace jsonPathOp = iota
	opCreate
	opInsertBefore
	opInsertAfter
	opDelete
)

func (op jsonPathOp) adds() bool {
	return op == opCreate || op == opInsertBefore || op == opInsertAfter
}

// EditPath is the path to what is to be changed: Steps, and with Null one more
// step, which is NULL: an error if evaluation reaches it.
type EditPath struct {
	Steps []string
	Null  bool
}

func (p EditPath) last(level int) bool { return !p.Null && level == len(p.Steps)-1 }

// Set is jsonb_set(): the value at path replaced, or added at its last step if
// create.
func (v Value) Set(path EditPath, val Value, create bool) (Value, error) {
	if v.Scalar() {
		return v, errJSONParam("cannot set path in scalar")
	}
	op := opReplace
	if create {
		op = opCreate
	} else if len(v.Elems) == 0 {
		return v, nil
	}
	return v.change(path, val, op, 0)
}

// Insert is jsonb_insert().
func (v Value) Insert(path EditPath, val Value, after bool) (Value, error) {
	if v.Scalar() {
		return v, errJSONParam("cannot set path in scalar")
	}
	op := opInsertBefore
	if after {
		op = opInsertAfter
	}
	return v.change(path, val, op, 0)
}

// DeletePath is the operator #-.
func (v Value) DeletePath(path EditPath) (Value, error) {
	if v.Scalar() {
		return v, errJSONParam("cannot delete path in scalar")
	}
	if len(v.Elems) == 0 {
		return v, nil
	}
	return v.change(path, Value{}, opDelete, 0)
}

// change applies op at the end of path; level counts the steps taken.
func (v Value) change(path EditPath, val Value, op jsonPathOp, level int) (Value, error) {
	if level >= len(path.Steps) {
		if path.Null {
			return v, pgerr.New(pgerr.NullValueNotAllowed, "path element at position %d is null", level+1)
		}
		return v, nil
	}
	switch v.Kind {
	case Object:
		return v.changeObject(path, val, op, level)
	case Array:
		return v.changeArray(path, val, op, level)
	}
	return v, nil
}

func (v Value) changeObject(path EditPath, val Value, op jsonPathOp, level int) (Value, error) {
	last := path.last(level)
	out := Value{Kind: Object}
	found := false
	for i, k := range v.Keys {
		e := v.Elems[i]
		if k == path.Steps[level] {
			found = true
			switch {
			case !last:
				var err error
				if e, err = e.change(path, val, op, level+1); err != nil {
					return v, err
				}
			case op == opDelete:
				continue
			case op == opInsertBefore || op == opInsertAfter:
				return v, errJSONParam("cannot replace existing key").
					WithHint("Try using the function jsonb_set to replace key value.")
			default:
				e = val
			}
		}
		out.Keys, out.Elems = append(out.Keys, k), append(out.Elems, e)
	}
	if !found && last && op.adds() {
		out.Keys, out.Elems = append(out.Keys, path.Steps[level]), append(out.Elems, val)
		out.sortKeys()
	}
	return out, nil
}

func (v Value) changeArray(path EditPath, val Value, op jsonPathOp, level int) (Value, error) {
	last := path.last(level)
	idx, ok := pathIndex(path.Steps[level])
	if !ok {
		return v, pgerr.New(pgerr.InvalidTextRepresentation, "path element at position %s is not an integer: \"%s\"",
			strconv.Itoa(level+1), path.Steps[level])
	}
	n := len(v.Elems)
	switch {
	case idx < 0 && -idx > n:
		idx = math.MinInt
	case idx < 0:
		idx += n
	case idx > n:
		idx = n
	}
	out := Value{Kind: Array}
	done := false
	if (idx == math.MinInt || n == 0) && last && op.adds() {
		out.Elems = append(out.Elems, val) // an index before the first element
		done = true
	}
	for i, e := range v.Elems {
		if i != idx {
			out.Elems = append(out.Elems, e)
			continue
		}
		done = true
		if !last {
			c, err := e.change(path, val, op, level+1)
			if err != nil {
				return v, err
			}
			out.Elems = append(out.Elems, c)
			continue
		}
		switch op {
		case opInsertBefore:
			out.Elems = append(out.Elems, val, e)
		case opInsertAfter:
			out.Elems = append(out.Elems, e, val)
		case opReplace, opCreate:
			out.Elems = append(out.Elems, val)
		}
	}
	if !done && last && op.adds() {
		out.Elems = append(out.Elems, val)
	}
	return out, nil
}
