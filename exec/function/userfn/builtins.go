package userfn

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	smath "go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// valueBytes is what a value takes in a list.
const valueBytes = 16

// maxCount is how many elements a function that looks at each of a sequence may get.
const maxCount = 10_000_000

// predeclared are the names that sources know beside Starlark's own, and those of its own that are guarded.
var predeclared = sync.OnceValue(func() starlark.StringDict {
	d := starlark.StringDict{"math": smath.Module}
	add := func(name string, f func(r charger, args starlark.Tuple) (starlark.Value, error)) {
		d[name] = starlark.NewBuiltin(name, func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if len(kwargs) > 0 {
				return nil, fmt.Errorf("%s: unexpected keyword argument %s", name, kwargs[0][0])
			}
			return f(chargerOf(t), args)
		})
	}
	binary := func(name string, op syntax.Token, grows func(x, y starlark.Value) int) {
		add(name, func(r charger, a starlark.Tuple) (starlark.Value, error) {
			if err := longInts(a[0], a[1]); err != nil {
				return nil, err
			}
			r.charge(grows(a[0], a[1]))
			return starlark.Binary(op, a[0], a[1])
		})
	}
	sum := func(x, y starlark.Value) int { return weight(x) + weight(y) }
	binary("·add", syntax.PLUS, sum)
	binary("·or", syntax.PIPE, sum)
	binary("·mul", syntax.STAR, product)
	binary("·mod", syntax.PERCENT, func(x, y starlark.Value) int {
		if _, ok := x.(starlark.String); !ok {
			return 0
		}
		return weight(x) + printed(y, 0)
	})
	binary("·shl", syntax.LTLT, sum)
	add("·iadd", func(r charger, a starlark.Tuple) (starlark.Value, error) {
		if l, ok := a[0].(*starlark.List); ok {
			if it, ok := a[1].(starlark.Iterable); ok {
				r.charge(weight(it))
				return l, extend(l, it)
			}
		}
		r.charge(sum(a[0], a[1]))
		return starlark.Binary(syntax.PLUS, a[0], a[1])
	})
	add("·slice", func(r charger, a starlark.Tuple) (starlark.Value, error) {
		r.charge(weight(a[0]))
		return slice(a[0], a[1], a[2], a[3])
	})
	d["·method"] = starlark.NewBuiltin("method", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x, name := args[0], string(args[1].(starlark.String))
		h, ok := x.(starlark.HasAttrs)
		if !ok {
			return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
		}
		m, err := h.Attr(name)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, starlark.NoSuchAttrError(fmt.Sprintf("%s has no .%s field or method", x.Type(), name))
		}
		chargerOf(t).charge(methodCost(x, name, args[2:], kwargs))
		return starlark.Call(t, m, args[2:], kwargs)
	})
	// Functions that copy, print or look at all of what they are given.
	for name, cost := range map[string]func(starlark.Value) int{"list": weight, "tuple": weight, "set": weight, "sorted": weight, "reversed": weight, "dict": weight,
		"enumerate": func(v starlark.Value) int { return 4 * weight(v) }, "zip": func(v starlark.Value) int { return 4 * weight(v) },
		"str": func(v starlark.Value) int { return printed(v, 0) }, "repr": func(v starlark.Value) int { return printed(v, 0) }, "fail": func(v starlark.Value) int { return printed(v, 0) },
		"bytes": weight, "any": nil, "all": nil, "min": nil, "max": nil} {
		own := starlark.Universe[name].(*starlark.Builtin)
		d[name] = starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			for _, a := range args {
				if cost != nil {
					chargerOf(t).charge(cost(a))
				} else if n := starlark.Len(a); n > maxCount {
					return nil, fmt.Errorf("%s: a sequence of %d elements is too long", name, n)
				}
			}
			return starlark.Call(t, own, args, kwargs)
		})
	}
	add("getattr", func(_ charger, a starlark.Tuple) (starlark.Value, error) {
		if len(a) < 2 {
			return nil, fmt.Errorf("getattr: got %d arguments, want at least 2", len(a))
		}
		name, ok := starlark.AsString(a[1])
		if !ok || heavy[name] {
			return nil, fmt.Errorf("getattr: %v is not supported", a[1])
		}
		if h, ok := a[0].(starlark.HasAttrs); ok {
			if v, err := h.Attr(name); v != nil && err == nil {
				return v, nil
			}
		}
		if len(a) == 3 {
			return a[2], nil
		}
		return nil, fmt.Errorf("getattr: %s has no .%s field or method", a[0].Type(), name)
	})
	addNumbers(add)
	addColumns(add)
	return d
})

// addNumbers adds Python's sum and round, which Starlark does not have.
func addNumbers(add func(name string, f func(r charger, args starlark.Tuple) (starlark.Value, error))) {
	add("sum", func(r charger, a starlark.Tuple) (starlark.Value, error) {
		if len(a) < 1 || len(a) > 2 {
			return nil, fmt.Errorf("sum: got %d arguments, want 1 or 2", len(a))
		}
		it, ok := a[0].(starlark.Iterable)
		if _, isColumn := a[0].(*column); !ok || isColumn {
			return nil, fmt.Errorf("sum: a value of type %s has no sum", a[0].Type())
		}
		if n := starlark.Len(it); n > maxCount {
			return nil, fmt.Errorf("sum: a sequence of %d elements is too long", n)
		}
		var total starlark.Value = starlark.MakeInt(0)
		if len(a) == 2 {
			total = a[1]
		}
		for x := range starlark.Elements(it) {
			err := longInts(total, x)
			if err == nil {
				r.charge(weight(total) + weight(x))
				total, err = starlark.Binary(syntax.PLUS, total, x)
			}
			if err != nil {
				return nil, err
			}
		}
		return total, nil
	})
	add("round", func(_ charger, a starlark.Tuple) (starlark.Value, error) {
		if len(a) < 1 || len(a) > 2 {
			return nil, fmt.Errorf("round: got %d arguments, want 1 or 2", len(a))
		}
		if _, whole := a[0].(starlark.Int); whole && len(a) == 1 {
			return a[0], nil
		}
		x, ok := starlark.AsFloat(a[0])
		if !ok {
			return nil, fmt.Errorf("round: want a number, not %s", a[0].Type())
		}
		if len(a) == 1 {
			return starlark.NumberToInt(starlark.Float(math.RoundToEven(x)))
		}
		digits, err := starlark.AsInt32(a[1])
		if err != nil || digits < 0 || digits > 300 {
			return nil, fmt.Errorf("round: the number of digits must be from 0 to 300")
		}
		x, err = strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
		return starlark.Float(x), err
	})
}

// weight estimates what a copy of a value takes: of a sequence, its references.
func weight(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case starlark.Int:
		return intBytes(v)
	case *column:
		return 9 * v.n
	case *starlark.Dict:
		return 4 * valueBytes * v.Len()
	}
	if n := starlark.Len(v); n > 0 {
		return saturated(n, valueBytes)
	}
	return 0
}

// maxInt is how many bytes an integer may have that is computed with: products of longer ones take long.
const maxInt = 64 << 10

// longInts refuses integers of which an operation could take long.
func longInts(x, y starlark.Value) error {
	a, ok1 := x.(starlark.Int)
	b, ok2 := y.(starlark.Int)
	if ok1 && ok2 && intBytes(a)+intBytes(b) > maxInt {
		return fmt.Errorf("an integer of %d bytes is too long", intBytes(a)+intBytes(b))
	}
	return nil
}

func saturated(a, b int) int {
	const most = 1 << 50
	if a > 0 && b > most/a {
		return most
	}
	return a * b
}

func intBytes(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 0
	}
	return i.BigInt().BitLen()/8 + valueBytes
}

// product is what x * y takes: repetition of a sequence, or an integer as long as both.
func product(x, y starlark.Value) int {
	n, isInt := x.(starlark.Int)
	s := y
	if m, ok := y.(starlark.Int); ok {
		if isInt {
			return intBytes(n) + intBytes(m)
		}
		n, s, isInt = m, x, true
	}
	if !isInt {
		return weight(x) + weight(y)
	}
	if _, ok := s.(*column); ok {
		return weight(s)
	}
	if times, ok := n.Int64(); ok && times > 0 && times < 1<<40 {
		return saturated(weight(s), int(times))
	} else if ok && times <= 0 {
		return 0
	}
	return 1 << 50
}

// maxPrintedDepth is how deep values may be nested that are printed.
const maxPrintedDepth = 64

// printed estimates how long a value is when it is printed.
func printed(v starlark.Value, depth int) int {
	n := 0
	budget := maxCount
	var walk func(v starlark.Value, depth int)
	walk = func(v starlark.Value, depth int) {
		if budget--; budget < 0 || depth > maxPrintedDepth {
			n = 1 << 50
			return
		}
		switch v := v.(type) {
		case starlark.String:
			n += 2 + 6*len(v)
		case starlark.Bytes:
			n += 3 + 4*len(v)
		case starlark.Int:
			n += 20 + 3*intBytes(v)
		case *starlark.Dict:
			for _, it := range v.Items() {
				walk(it[0], depth+1)
				walk(it[1], depth+1)
			}
		case starlark.Indexable:
			if _, lazy := v.(starlark.Comparable); lazy && v.Type() == "range" {
				n += 60
				return
			}
			for i := 0; i < v.Len() && n < 1<<50; i++ {
				walk(v.Index(i), depth+1)
			}
			n += 2 * v.Len()
		default:
			n += 40
		}
	}
	walk(v, depth)
	return n
}

// methodCost is what a method may allocate.
func methodCost(x starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) int {
	n := 2 * weight(x)
	switch name {
	case "split", "rsplit", "splitlines", "elems", "codepoints", "elem_ords", "codepoint_ords":
		n = saturated(weight(x), 2*valueBytes)
	case "replace":
		s, ok := x.(starlark.String)
		if !ok || len(args) < 2 {
			break
		}
		was, ok1 := starlark.AsString(args[0])
		now, ok2 := starlark.AsString(args[1])
		if ok1 && ok2 {
			n += saturated(strings.Count(string(s), was), len(now))
		}
	case "join":
		for _, a := range args {
			if it, ok := a.(starlark.Sequence); ok {
				n += saturated(it.Len(), weight(x)) + printed(a, 0)
			}
		}
	case "format":
		n = saturated(n+1, 1)
		for _, a := range args {
			n += printed(a, 0) * (1 + strings.Count(x.String(), "{"))
		}
		for _, k := range kwargs {
			n += printed(k[1], 0) * (1 + strings.Count(x.String(), "{"))
		}
	case "items":
		n = 4 * weight(x)
	default:
		for _, a := range args {
			n += 4 * weight(a)
		}
	}
	return n
}

// extend adds elements to a list as += does.
func extend(l *starlark.List, it starlark.Iterable) error {
	if o, ok := it.(*starlark.List); ok && o == l {
		elems := make([]starlark.Value, l.Len())
		for i := range elems {
			elems[i] = l.Index(i)
		}
		it = starlark.NewList(elems)
	}
	for x := range starlark.Elements(it) {
		if err := l.Append(x); err != nil {
			return err
		}
	}
	return nil
}

// slice is x[lo:hi:step].
func slice(x, lo, hi, step starlark.Value) (starlark.Value, error) {
	s, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", x.Type())
	}
	n := s.Len()
	by := 1
	if step != starlark.None {
		if err := starlark.AsInt(step, &by); err != nil {
			return nil, fmt.Errorf("invalid slice step: %s", err)
		}
		if by == 0 {
			return nil, fmt.Errorf("zero is not a valid slice step")
		}
	}
	at := func(v starlark.Value, none, least, most int) (int, error) {
		if v == starlark.None {
			return none, nil
		}
		var i int
		if err := starlark.AsInt(v, &i); err != nil {
			return 0, fmt.Errorf("invalid slice index: %s", err)
		}
		if i < 0 {
			i += n
		}
		return min(max(i, least), most), nil
	}
	none := [2]int{0, n}
	least, most := 0, n
	if by < 0 {
		none = [2]int{n - 1, -1}
		least, most = -1, n-1
	}
	from, err := at(lo, none[0], least, most)
	if err != nil {
		return nil, err
	}
	to, err := at(hi, none[1], least, most)
	if err != nil {
		return nil, err
	}
	if by > 0 && to < from {
		to = from
	} else if by < 0 && to > from {
		to = from
	}
	return s.Slice(from, to, by), nil
}
