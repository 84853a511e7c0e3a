package kernel_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestEncode: dictionary-encoding a column leaves its rows the same. Plain strings are encoded
// unless they are too long.
func TestEncode(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for round := range 200 {
		ty := all[r.Intn(len(all))]
		if round%2 == 0 {
			ty = types.Text
		}
		c := kernel.NewColumn(ty)
		var ids []uint32
		plain := ty.Arrow().ID() == arrow.STRING
		for chunk := range 1 + r.Intn(4) {
			n := 1 + r.Intn(50)
			_, arr := column(t, r, ty, n)
			fs := forms(arr)
			arr = fs[r.Intn(len(fs))]
			plain = plain && arr.DataType().ID() == arrow.STRING
			c.Append(arr)
			for i := range n {
				ids = append(ids, kernel.RowID(chunk, i))
			}
		}
		c.Finish()
		ids = append(ids, kernel.NoRow)
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		before := c.Gather(ids)
		c.Encode()
		after := c.Gather(ids)
		if _, ok := after.(*array.Dictionary); ok != (plain || before.DataType().ID() == arrow.DICTIONARY) {
			t.Fatalf("%v: a dictionary: %v, plain strings before: %v", ty, ok, plain)
		}
		if a, b := kernel.Flatten(before).String(), kernel.Flatten(after).String(); a != b {
			t.Fatalf("%v: %s was %s", ty, b, a)
		}
	}
	long := kernel.NewColumn(types.Text)
	long.Append(optest.Array(t, types.Text, []types.Datum{strings.Repeat("x", 1<<20), "y"}))
	long.Finish()
	long.Encode()
	if _, ok := long.Gather([]uint32{1}).(*array.Dictionary); ok {
		t.Error("long strings were copied")
	}
}
