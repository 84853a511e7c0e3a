package codec

import (
	"fmt"
	"reflect"
	"strings"
)

// Layout returns how the types of values are encoded, a line a struct or union that they
// are made of:
//
//	worker.orders: Run string, Go bool, Segments []worker.segmentMsg
//	expr.Expr = expr.Col | expr.Const
//
// Two programs whose layouts are equal, or differ only at the end of lines, are compatible. It
// panics for types without an encoding.
func Layout(values ...any) string {
	w := &layout{seen: map[reflect.Type]bool{}}
	for _, v := range values {
		w.visit(reflect.TypeOf(v))
	}
	return strings.Join(w.lines, "\n") + "\n"
}

type layout struct {
	seen  map[reflect.Type]bool
	lines []string
}

func (w *layout) visit(t reflect.Type) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	c := coderOf(t)
	switch {
	case c.own:
		return
	case c.as != nil:
		w.visit(c.as)
		return
	}
	switch t.Kind() {
	case reflect.Interface:
		line := make([]string, len(c.kinds))
		for i, k := range c.kinds {
			line[i] = k.String()
		}
		w.lines = append(w.lines, t.String()+" = "+strings.Join(line, " | "))
		for _, k := range c.kinds {
			w.visit(k)
		}
	case reflect.Struct:
		var fields []reflect.StructField
		var line []string
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				fields = append(fields, f)
				line = append(line, f.Name+" "+nameOf(f.Type))
			}
		}
		w.lines = append(w.lines, t.String()+": "+strings.Join(line, ", "))
		for _, f := range fields {
			w.visit(f.Type)
		}
	case reflect.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case reflect.Slice, reflect.Array, reflect.Pointer:
		w.visit(t.Elem())
	}
}

// nameOf returns a field's type; for a named number its encoding, too.
func nameOf(t reflect.Type) string {
	if c, ok := coders.Load(t); ok && c.(*coder).as != nil {
		return nameOf(c.(*coder).as)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		return t.String()
	}
	if t.Name() != t.Kind().String() {
		return fmt.Sprintf("%s(%s)", t, t.Kind())
	}
	return t.String()
}
