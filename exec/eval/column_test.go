package eval_test

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// column makes a column of datums.
func column(t types.Type, ds []types.Datum) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	for _, d := range ds {
		if err := types.AppendDatum(b, t, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}
