package codec

import (
	"reflect"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/sql/version"
)

// Beyond names what the program of the version before does not know in v: a field that is set, or a
// kind of a union; "" for nothing. Before the cluster is finalised such values are neither stored nor
// sent: an older node skips the field, and stops at the kind. A field that may be skipped has the tag
// codec:"hint".
func Beyond(v any) string { return added.find(reflect.ValueOf(v)) }

// novelties are what types have beyond the layouts of an older version.
type novelties struct {
	known func(typ string) (n int, ok bool) // version.Known
	some  sync.Map                          // reflect.Type → bool: values may hold something new
}

var added = &novelties{known: version.Known}

// in reports whether values of a type may hold something new.
func (n *novelties) in(t reflect.Type) bool {
	if is, ok := n.some.Load(t); ok {
		return is.(bool)
	}
	is := n.reaches(t, map[reflect.Type]bool{})
	n.some.Store(t, is)
	return is
}

func (n *novelties) reaches(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	c := coderOf(t)
	if c.own || c.as != nil {
		return false
	}
	again := func(t reflect.Type) bool { return n.reaches(t, seen) }
	switch t.Kind() {
	case reflect.Interface:
		had, ok := n.known(t.String())
		return ok && had < len(c.kinds) || slices.ContainsFunc(c.kinds, again)
	case reflect.Struct:
		fields := exported(t)
		for _, f := range fields[:n.fieldsOf(t, fields)] {
			if again(f.Type) {
				return true
			}
		}
		return slices.ContainsFunc(fields[n.fieldsOf(t, fields):], counts)
	case reflect.Map:
		return again(t.Key()) || again(t.Elem())
	case reflect.Slice, reflect.Array, reflect.Pointer:
		return again(t.Elem())
	}
	return false
}

// fieldsOf returns how many of a struct's fields the older version knows. Of a type that it does not
// have it knows all: only something that is new itself leads there.
func (n *novelties) fieldsOf(t reflect.Type, fields []reflect.StructField) int {
	if had, ok := n.known(t.String()); ok {
		return min(had, len(fields))
	}
	return len(fields)
}

func exported(t reflect.Type) (out []reflect.StructField) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			out = append(out, f)
		}
	}
	return out
}

func counts(f reflect.StructField) bool { return f.Tag.Get("codec") != "hint" }

func (n *novelties) find(v reflect.Value) string {
	if !v.IsValid() || !n.in(v.Type()) {
		return ""
	}
	switch t := v.Type(); t.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return ""
		}
		x := v.Elem().Elem() // a kind is a pointer to a struct
		had, _ := n.known(t.String())
		if slices.Index(coderOf(t).kinds, x.Type()) >= had {
			return x.Type().String()
		}
		return n.find(x)
	case reflect.Pointer:
		return n.find(v.Elem())
	case reflect.Struct:
		fields := exported(t)
		had := n.fieldsOf(t, fields)
		for i, f := range fields {
			x := v.FieldByIndex(f.Index)
			if i < had {
				if found := n.find(x); found != "" {
					return found
				}
			} else if counts(f) && !empty(x) {
				return t.String() + "." + f.Name
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if found := n.find(v.Index(i)); found != "" {
				return found
			}
		}
	case reflect.Map:
		var all []string
		for it := v.MapRange(); it.Next(); {
			for _, x := range []reflect.Value{it.Key(), it.Value()} {
				if found := n.find(x); found != "" {
					all = append(all, found)
				}
			}
		}
		if len(all) > 0 {
			return slices.Min(all)
		}
	}
	return ""
}

// empty reports whether a field has nothing that an older node would miss.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
