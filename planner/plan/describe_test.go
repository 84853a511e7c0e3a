package plan

import (
	"reflect"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// filler makes a node of any kind by reflection: an expression in each field that takes one, an
// input in each that takes a node.
type filler struct {
	next   expr.ColID
	exprs  []expr.Expr
	inputs []Node
}

func (f *filler) column() Column {
	f.next++
	return Column{ID: f.next, Name: "c", Type: types.Int4}
}

func (f *filler) fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[types.Type](), reflect.TypeFor[types.Datum]():
		return
	case reflect.TypeFor[*fn.Func]():
		v.Set(reflect.ValueOf(fn.ByID("lower(text)")))
		return
	case reflect.TypeFor[*catalog.Relation]():
		v.Set(reflect.ValueOf(&catalog.Relation{Name: "r"}))
		return
	case reflect.TypeFor[Column]():
		v.Set(reflect.ValueOf(f.column()))
		return
	case reflect.TypeFor[Arg](): // the type is recursive
		v.Set(reflect.ValueOf(Arg{Name: "a", Call: "f", Args: []Arg{{Name: "b"}}}))
		return
	case reflect.TypeFor[expr.Expr]():
		c := f.column()
		e := &expr.Col{ID: c.ID, Typ: c.Type, Name: "e"}
		f.exprs = append(f.exprs, e)
		v.Set(reflect.ValueOf(e))
		return
	case reflect.TypeFor[Node]():
		n := &Values{Cols: []Column{f.column()}}
		f.inputs = append(f.inputs, n)
		v.Set(reflect.ValueOf(n))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i))
		}
	}
}

// TestNodesDescribeThemselves: the description of a node lists all of its expressions, inputs and
// columns. Rules only see what is listed: of a column that is missing, pruning would remove the
// producer.
func TestNodesDescribeThemselves(t *testing.T) {
	for _, kind := range append(slices.Clone(kinds), &Apply{}) {
		f := &filler{}
		v := reflect.New(reflect.TypeOf(kind).Elem())
		f.fill(v.Elem())
		n := v.Interface().(Node)
		name := reflect.TypeOf(kind).Elem().Name()
		text := Format(n)

		got := Exprs(n)
		if len(got) != len(f.exprs) {
			t.Errorf("%s has %d expressions, and tells of %d", name, len(f.exprs), len(got))
		}
		for _, e := range f.exprs {
			if !slices.Contains(got, e) {
				t.Errorf("%s does not tell of an expression", name)
			}
		}
		if !slices.Equal(n.Children(), f.inputs) {
			t.Errorf("%s has inputs %v, and tells of %v", name, f.inputs, n.Children())
		}
		if m := MapExprs(n, func(e expr.Expr) expr.Expr { return e }); m != n {
			t.Errorf("%s is another where no expression changed", name)
		}
		if len(f.exprs) > 0 {
			m := MapExprs(n, func(expr.Expr) expr.Expr { return &expr.Const{Typ: types.Int4} })
			for _, e := range Exprs(m) {
				if _, ok := e.(*expr.Const); !ok {
					t.Errorf("%s keeps an expression that was replaced", name)
				}
			}
		}
		others := make([]Node, len(f.inputs))
		for i := range others {
			others[i] = &Values{Cols: f.inputs[i].Schema()}
		}
		if len(others) > 0 && !slices.Equal(n.WithChildren(others).Children(), others) {
			t.Errorf("%s does not take other inputs", name)
		}
		if Format(n) != text || !slices.Equal(Exprs(n), got) || !slices.Equal(n.Children(), f.inputs) {
			t.Errorf("%s was changed in place", name)
		}

		tr := n.Traits().Rows
		if tr.Derived() && len(f.inputs) != 1 {
			t.Errorf("%s has rows of its one input, and %d of these", name, len(f.inputs))
		}
		if tr.KeepsColumns() {
			out := Emits(n)
			for _, c := range f.inputs[0].Schema() {
				if !out[c.ID] {
					t.Errorf("%s keeps the columns of its input, but for one", name)
				}
			}
		}
		if name != "Apply" { // only within the optimizer
			back, err := codec.Unmarshal[Node](codec.Marshal(n))
			if err != nil || Format(back) != text {
				t.Errorf("%s arrives as\n%s%v", name, Format(back), err)
			}
		}
	}
}
