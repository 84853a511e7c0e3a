package json

import (
	"cmp"
	"sort"
	"strings"

	"github.com/tributarydb/tributary/sql/hash"
	"github.com/tributarydb/tributary/sql/number"
)

// Kind is the kind of a JSON value, in the order in which jsonb sorts scalars
// of different kinds.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	String
	Number
	Bool
	Array
	Object
)

// Value is a JSON value as a tree. The zero value is null. Trees are immutable
// and may share subtrees.
type Value struct {
	Kind  Kind
	Bool  bool
	Num   number.Decimal
	Str   string
	Elems []Value  // the elements of an array, the values of an object
	Keys  []string // the keys of an object, one for each of Elems
	Raw   string   // the source text of a parsed value; empty in a made one
}

// Scalar reports whether v is neither an array nor an object.
func (v Value) Scalar() bool { return v.Kind < Array }

// TypeOf is json_typeof().
func (v Value) TypeOf() string {
	return [...]string{"null", "string", "number", "boolean", "array", "object"}[v.Kind]
}

// StringOf makes a string.
func StringOf(s string) Value { return Value{Kind: String, Str: s} }

// NumberOf makes a number.
func NumberOf(d number.Decimal) Value { return Value{Kind: Number, Num: d} }

// BoolOf makes a boolean.
func BoolOf(b bool) Value { return Value{Kind: Bool, Bool: b} }

// ArrayOf makes an array.
func ArrayOf(elems []Value) Value { return Value{Kind: Array, Elems: elems} }

// ObjectOf makes a jsonb object: keys are sorted, and of equal keys the last is
// kept. The slices belong to the object then.
func ObjectOf(keys []string, vals []Value) Value {
	v := Value{Kind: Object, Keys: keys, Elems: vals}
	v.sortKeys()
	return v
}

// keyLess is the order of jsonb's keys: shorter first, then by bytes.
func keyLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// canonical orders the keys of a tree that was just parsed.
func (v *Value) canonical() {
	v.Raw = ""
	for i := range v.Elems {
		v.Elems[i].canonical()
	}
	if v.Kind == Object {
		v.sortKeys()
	}
}

func (v *Value) sortKeys() {
	sorted := true
	for i := 1; i < len(v.Keys); i++ {
		if !keyLess(v.Keys[i-1], v.Keys[i]) {
			sorted = false
			break
		}
	}
	if sorted {
		return
	}
	sort.Stable(byKey{v})
	n := 0
	for i := range v.Keys {
		if i+1 < len(v.Keys) && v.Keys[i] == v.Keys[i+1] {
			continue // a later one has the same key
		}
		v.Keys[n], v.Elems[n] = v.Keys[i], v.Elems[i]
		n++
	}
	v.Keys, v.Elems = v.Keys[:n], v.Elems[:n]
}

type byKey struct{ v *Value }

func (b byKey) Len() int           { return len(b.v.Keys) }
func (b byKey) Less(i, j int) bool { return keyLess(b.v.Keys[i], b.v.Keys[j]) }
func (b byKey) Swap(i, j int) {
	b.v.Keys[i], b.v.Keys[j] = b.v.Keys[j], b.v.Keys[i]
	b.v.Elems[i], b.v.Elems[j] = b.v.Elems[j], b.v.Elems[i]
}

// String is jsonb's text: a blank after : and ,.
func (v Value) String() string { return string(v.Append(nil)) }

// Append appends jsonb's text.
func (v Value) Append(dst []byte) []byte { return v.append(dst, ", ", ": ") }

// AppendCompact appends the text without blanks, as json functions make it.
func (v Value) AppendCompact(dst []byte) []byte { return v.append(dst, ",", ":") }

func (v Value) append(dst []byte, comma, colon string) []byte {
	switch v.Kind {
	case String:
		return AppendString(dst, v.Str)
	case Number:
		if v.Raw != "" { // json keeps how it was written
			return append(dst, v.Raw...)
		}
		return v.Num.AppendText(dst)
	case Bool:
		if v.Bool {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Array:
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, comma...)
			}
			dst = e.append(dst, comma, colon)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, comma...)
			}
			dst = append(AppendString(dst, v.Keys[i]), colon...)
			dst = e.append(dst, comma, colon)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// Pretty is jsonb_pretty().
func (v Value) Pretty() string { return string(v.pretty(nil, 0)) }

func (v Value) pretty(dst []byte, level int) []byte {
	if v.Scalar() {
		return v.Append(dst)
	}
	line := func(n int) {
		dst = append(dst, '\n')
		for range n {
			dst = append(dst, "    "...)
		}
	}
	ends := "[]"
	if v.Kind == Object {
		ends = "{}"
	}
	dst = append(dst, ends[0])
	for i, e := range v.Elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		line(level + 1)
		if v.Kind == Object {
			dst = append(AppendString(dst, v.Keys[i]), ": "...)
		}
		dst = e.pretty(dst, level+1)
	}
	line(level)
	return append(dst, ends[1])
}

// Text returns the result of ->>: a string without its quotes, else the text; ok is false for null,
// which is NULL.
func (v Value) Text() (s string, ok bool) {
	switch {
	case v.Kind == Null:
		return "", false
	case v.Kind == String:
		return v.Str, true
	case v.Raw != "":
		return v.Raw, true
	}
	return v.String(), true
}

// Cmp orders two jsonb values: Object > Array > Boolean > Number > String >
// Null, an empty array at the top below everything; of arrays and objects the
// longer is greater.
func (v Value) Cmp(w Value) int {
	// A scalar at the top counts as an array of one.
	vs, ws := v.Scalar(), w.Scalar()
	switch {
	case vs && ws:
		return v.cmp(w)
	case vs && w.Kind == Array:
		if len(w.Elems) == 0 {
			return 1
		}
		return -1
	case ws && v.Kind == Array:
		return -w.Cmp(v)
	case vs:
		return -1
	case ws:
		return 1
	}
	return v.cmp(w)
}

func (v Value) cmp(w Value) int {
	if v.Kind != w.Kind {
		return cmp.Compare(int(v.Kind), int(w.Kind))
	}
	switch v.Kind {
	case String:
		return strings.Compare(v.Str, w.Str)
	case Number:
		return v.Num.Cmp(w.Num)
	case Bool:
		if v.Bool == w.Bool {
			return 0
		}
		if v.Bool {
			return 1
		}
		return -1
	}
	if len(v.Elems) != len(w.Elems) {
		return cmp.Compare(len(v.Elems), len(w.Elems))
	}
	for i := range v.Elems {
		if v.Kind == Object {
			if c := strings.Compare(v.Keys[i], w.Keys[i]); c != 0 {
				return c
			}
		}
		if c := v.Elems[i].cmp(w.Elems[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Compare orders the texts of two jsonb values as values.
func Compare(x, y string) int {
	if x == y {
		return 0
	}
	v, err := ParseJSONB(x)
	if err != nil {
		return strings.Compare(x, y)
	}
	w, err := ParseJSONB(y)
	if err != nil {
		return strings.Compare(x, y)
	}
	return v.Cmp(w)
}

// Hash hashes the text of a jsonb value. Equal values have equal hashes: 1.0 and 1.00 are equal.
func Hash(s string, seed uint64) uint64 {
	v, err := ParseJSONB(s)
	if err != nil {
		return hash.Bytes(seed, []byte(s))
	}
	return v.hash(seed)
}

func (v Value) hash(h uint64) uint64 {
	h = hash.Mix(h, uint64(v.Kind)+11)
	switch v.Kind {
	case String:
		return hash.Bytes(h, []byte(v.Str))
	case Number:
		return hash.Bytes(h, v.Num.HashKey(nil))
	case Bool:
		if v.Bool {
			return hash.Mix(h, 1)
		}
		return hash.Mix(h, 2)
	}
	for i, e := range v.Elems {
		if v.Kind == Object {
			h = hash.Bytes(h, []byte(v.Keys[i]))
		}
		h = e.hash(h)
	}
	return hash.Mix(h, uint64(len(v.Elems)))
}
