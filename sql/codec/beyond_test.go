package codec

import (
	"reflect"
	"testing"
)

type (
	leaf struct {
		Known int
		New   string
		Hint  int `codec:"hint"`
	}
	first  struct{ Leaves []leaf }
	second struct{ N int }
	thing  interface{ isThing() }
	plain  struct{ A, B int }
	whole  struct {
		Things []thing
		Named  map[string]*leaf
		Plain  plain
		Later  []int
		Fresh  *fresh
	}
	fresh struct{ A int }
)

func (*first) isThing()  {}
func (*second) isThing() {}

func TestBeyond(t *testing.T) {
	Union[thing](&first{}, &second{})
	n := &novelties{known: func(typ string) (int, bool) {
		m := map[string]int{"codec.leaf": 1, "codec.first": 1, "codec.thing": 1, "codec.plain": 2, "codec.whole": 3}
		had, ok := m[typ]
		return had, ok
	}}
	for _, c := range []struct {
		v    any
		want string
	}{
		{whole{}, ""},
		{whole{Things: []thing{nil, &first{Leaves: []leaf{{Known: 1, Hint: 2}}}}, Plain: plain{1, 2}, Later: []int{}}, ""},
		{whole{Things: []thing{&first{Leaves: []leaf{{}, {New: "x"}}}}}, "codec.leaf.New"},
		{whole{Things: []thing{&first{}, &second{}}}, "codec.second"},
		{&whole{Named: map[string]*leaf{"a": nil, "b": {New: "x"}}}, "codec.leaf.New"},
		{whole{Later: []int{0}}, "codec.whole.Later"},
		{whole{Fresh: &fresh{}}, "codec.whole.Fresh"},
		{plain{1, 2}, ""},
		{nil, ""},
	} {
		if got := n.find(reflect.ValueOf(c.v)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.v, got, c.want)
		}
	}
	if n.in(reflect.TypeFor[plain]()) || !n.in(reflect.TypeFor[[]leaf]()) {
		t.Error("only types that hold something new are looked into")
	}
}
