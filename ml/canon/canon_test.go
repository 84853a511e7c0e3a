package canon

import (
	"math"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func sample() []byte {
	var e E
	e.U8(7)
	e.Bool(true)
	e.Int(-3)
	e.F64(1.5)
	e.Str("añ")
	e.F64s([]float64{1, math.Copysign(0, -1), 3})
	e.I64s([]int64{-1, 5})
	e.Strs([]string{"", "x"})
	e.Type(types.FixedNumeric(15, 2, true))
	e.Bytes([]byte{9})
	return e.B
}

func read(d *D) []any {
	return []any{d.U8(), d.Bool(), d.Int(), d.F64(), d.Str(), d.F64s(), d.I64s(), d.Strs(), d.Type(), d.Bytes()}
}

func TestRoundTrip(t *testing.T) {
	d := Read(sample())
	got := read(d)
	if err := d.Done("sample"); err != nil {
		t.Fatal(err)
	}
	want := []any{uint8(7), true, -3, 1.5, "añ", []float64{1, math.Copysign(0, -1), 3}, []int64{-1, 5}, []string{"", "x"}, types.FixedNumeric(15, 2, true), []byte{9}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEveryCutAndHugeLengthIsAFault(t *testing.T) {
	b := sample()
	for n := range b {
		d := Read(b[:n])
		read(d)
		if err := d.Done("sample"); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	d := Read([]byte{255, 255, 255, 255, 1})
	if v := d.F64s(); v != nil || d.OK() {
		t.Errorf("a huge length gave %v", v)
	}
	d = Read(append(sample(), 0))
	read(d)
	if d.Done("sample") == nil {
		t.Error("a byte too many was accepted")
	}
}
