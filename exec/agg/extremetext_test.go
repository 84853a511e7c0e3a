package agg

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestExtremeTextBytes: max over increasing texts keeps, and is charged for, the last one only.
func TestExtremeTextBytes(t *testing.T) {
	for _, ty := range []types.Type{types.Text} {
		e := &anyExtreme{t: ty, max: true}
		e.Resize(1)
		for i := range 2000 {
			v := types.Datum(fmt.Sprintf("%06d%s", i, strings.Repeat("x", 1000)))
			if i%2 == 0 {
				e.put(0, v)
				continue
			}
			if err := e.Update([]uint32{0}, []arrow.Array{optest.Array(t, ty, []types.Datum{v})}); err != nil {
				t.Fatal(err)
			}
		}
		if n := e.Bytes(); n > 4096 {
			t.Errorf("%s: %d bytes for one text", ty, n)
		}
		if len(e.v[0].(string)) != 1006 {
			t.Errorf("%s: %v", ty, e.v[0])
		}
	}
}
