package eval

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// TestDictionaryPays: a small dictionary is computed at once, a large one when a quarter as many rows of it have come.
func TestDictionaryPays(t *testing.T) {
	one, other := array.NewData(arrow.BinaryTypes.String, 0, nil, nil, 0, 0), array.NewData(arrow.BinaryTypes.String, 0, nil, nil, 0, 0)
	var p dictionaryPays
	for i, c := range []struct {
		key     arrow.ArrayData
		entries int
		rows    int
		pays    bool
	}{
		{one, 1024, 1, true}, {one, 40_000, 5000, false}, {one, 40_000, 4998, false}, {one, 40_000, 1, true},
		{other, 40_000, 8192, false}, {one, 40_000, 8192, false}, // it begins anew
		{nil, 40_000, 8192, false}, {nil, 40_000, 8192, false}, {nil, 30_000, 8192, true},
	} {
		if got := p.after(c.key, c.entries, c.rows); got != c.pays {
			t.Errorf("%d: %v, want %v", i, got, c.pays)
		}
	}
}
