package op

import (
	"context"
	"errors"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
)

// TooLong reports whether err says that results over n rows were too large for one batch and that
// fewer rows may succeed.
func TooLong(err error, n int) bool { return n > 1 && errors.Is(err, vector.ErrBatchTooLarge) }

// InHalves calls f with b, or recursively with its halves where f fails because results are too
// large for one batch (TooLong). f must have no effect when it fails so.
func InHalves(b *batch.Batch, f func(*batch.Batch) error) error {
	err := f(b)
	n := b.Rows()
	if !TooLong(err, n) {
		return err
	}
	if err := InHalves(b.Slice(0, n/2), f); err != nil {
		return err
	}
	return InHalves(b.Slice(n/2, n), f)
}

// AppendKeys adds the encoded keys of b to keys.
func AppendKeys(ctx context.Context, b *batch.Batch, items []Item, enc *kernel.KeyEncoder, keys *kernel.Keys) error {
	return InHalves(b, func(b *batch.Batch) error {
		cols, err := Columns(ctx, b, items)
		if err != nil {
			return err
		}
		enc.Append(keys, cols, b.Rows())
		return nil
	})
}
