package codec_test

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type old struct {
	A int
	B string
}

type grown struct {
	A int
	B string
	C []old
	D map[string]int
	E *old
	F [3]byte
	G time.Time
	H types.Datum
	I float64
	J []byte
	K uint16
	L bool
}

func TestRoundTrip(t *testing.T) {
	v := grown{A: -5, B: "é", C: []old{{1, "x"}, {}}, D: map[string]int{"z": 1, "a": 2}, E: &old{9, "y"}, F: [3]byte{1, 2, 3},
		G: time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC), I: math.Inf(-1), J: []byte{}, K: 65535, L: true}
	for _, d := range []types.Datum{nil, true, false, int64(-1), 1.5, "s", []byte{1}, number.DecimalNaN, number.DecimalFromInt64(-12345, 3), datetime.TimeTZ{Micros: 1, Zone: -3600},
		datetime.Interval{Months: 1, Days: -2, Micros: 3}, [16]byte{7}, types.Array{Elem: types.Int4, Elems: []types.Datum{nil, int64(4)}}, types.Row{"a", types.Row{int64(2)}}} {
		v.H = d
		b := codec.Marshal(v)
		if !bytes.Equal(b, codec.Marshal(v)) {
			t.Fatal("not deterministic")
		}
		got, err := codec.Unmarshal[grown](b)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%v\n%+v\n%+v", err, got, v)
		}
		for i := range b {
			if _, err := codec.Unmarshal[grown](b[:i]); err == nil {
				t.Fatalf("cut at %d of %d is accepted", i, len(b))
			}
		}
	}
}

func TestGrowth(t *testing.T) {
	g, err := codec.Unmarshal[grown](codec.Marshal(old{3, "b"}))
	if err != nil || g.A != 3 || g.B != "b" || g.C != nil {
		t.Fatal(g, err)
	}
	o, err := codec.Unmarshal[old](codec.Marshal(grown{A: 3, B: "b", C: []old{{}}}))
	if err != nil || o != (old{3, "b"}) {
		t.Fatal(o, err)
	}
}

type tree interface{ isTree() }

type branch struct{ L, R tree }

func (*branch) isTree() {}

// TestDepth: unbounded nesting is an error instead of a stack overflow, which would end the
// process.
func TestDepth(t *testing.T) {
	codec.Union[tree](&branch{})
	var deep tree
	for range 10_000 {
		deep = &branch{L: deep}
	}
	b := codec.Marshal(deep)
	if got, err := codec.Unmarshal[tree](b); err != nil || !bytes.Equal(codec.Marshal(got), b) {
		t.Fatal(err)
	}
	for range 60_000 {
		deep = &branch{L: deep}
	}
	endless := codec.Marshal(deep)
	if _, err := codec.Unmarshal[tree](endless); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Fatal(err)
	}
}

func TestLayout(t *testing.T) {
	codec.Union[tree](&branch{})
	want := "codec_test.branch: L codec_test.tree, R codec_test.tree\ncodec_test.tree = codec_test.branch\n"
	if got := codec.Layout(branch{}); got != want {
		t.Fatal(got)
	}
	defer func() {
		if recover() == nil {
			t.Fatal("a channel has a layout")
		}
	}()
	codec.Layout(struct{ C chan int }{})
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(codec.Marshal(grown{A: 1, H: types.Row{int64(2)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := codec.Unmarshal[grown](b); err == nil {
			codec.Marshal(v)
		}
	})
}
