package vector_test

import (
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// TestPlaces: rows of one dictionary and constants that it has keep the dictionary, others are the same texts without it.
func TestPlaces(t *testing.T) {
	meter := vector.NewLimited(1<<20, 1<<20)
	a := vector.NewArena(&meter)
	values := batch.FromOffsets(arrow.BinaryTypes.String, []int32{0, 1, 1, 3}, []byte("abc"), nil) // "a", "", "bc"
	dict := func(idx []int32, valid []byte) *vector.Vec {
		return vector.FromArrow(&a, batch.FromIndices(types.DictArrow, idx, valid, values))
	}
	one := func(s types.Datum) *vector.Vec {
		v, err := vector.NewConst(types.Text, s, 2)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	other := batch.FromOffsets(arrow.BinaryTypes.String, []int32{0, 1}, []byte("z"), nil)
	var p vector.Places
	for name, c := range map[string]struct {
		first, second *vector.Vec
		keeps         bool
		want          string
	}{
		"a constant that is there": {dict([]int32{2, 0, 2}, nil), one(""), true, "bc||a||bc"},
		"one that is not":          {dict([]int32{2, 0, 2}, nil), one("x"), false, "bc|x|a|x|bc"},
		"NULL":                     {dict([]int32{2, 0, 2}, []byte{0b101}), one(nil), true, "bc|-|-|-|bc"},
		"two columns":              {dict([]int32{2, 0, 1}, nil), dict([]int32{0, 2}, nil), true, "bc|a|a|bc|"},
		"another dictionary":       {dict([]int32{2, 0, 1}, nil), vector.FromArrow(&a, batch.FromIndices(types.DictArrow, []int32{0, 0}, nil, other)), false, "bc|z|a|z|"},
	} {
		v, err := p.Scatter(&a, 5, types.Text, []vector.Part{{Rows: []int32{0, 2, 4}, V: c.first}, {Rows: []int32{1, 3}, V: c.second}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range 5 {
			if i > 0 {
				got += "|"
			}
			if v.Null(i) {
				got += "-"
			} else {
				got += v.Str(i)
			}
		}
		if got != c.want || (v.Key != nil) != c.keeps {
			t.Errorf("%s: %q, want %q; keeps the dictionary: %v, want %v", name, got, c.want, v.Key != nil, c.keeps)
		}
		arr, err := v.ToArrow(types.Text)
		if d, ok := arr.(*array.Dictionary); err != nil || c.keeps && (!ok || d.Data().Dictionary() != values.Data()) {
			t.Errorf("%s: %v, %v", name, arr, err)
		}
	}
}
