package op

import (
	"context"
	"errors"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
)

// tooLong tells that what was computed over n rows was too much for one batch,
// and that fewer rows may do.
func tooLong(err error, n int) bool { return n > 1 && errors.Is(err, vector.ErrBatchTooLarge) }

// inPieces calls f with b, or with halves of it, and of those, where f's results
// are too much for one batch. f must not have done anything when it says so.
func inPieces(b *batch.Batch, f func(*batch.Batch) error) error {
	err := f(b)
	n := b.Rows()
	if !tooLong(err, n) {
		return err
	}
	if err := inPieces(b.Slice(0, n/2), f); err != nil {
		return err
	}
	return inPieces(b.Slice(n/2, n), f)
}

// appendKeys adds the encoded keys of b to keys.
func appendKeys(ctx context.Context, b *batch.Batch, items []Item, enc *kernel.KeyEncoder, keys *kernel.Keys) error {
	return inPieces(b, func(b *batch.Batch) error {
		cols, err := columns(ctx, b, items)
		if err != nil {
			return err
		}
		enc.Append(keys, cols, b.Rows())
		return nil
	})
}
