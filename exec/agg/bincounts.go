package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/profile"
)

// binCounts is ml_bin_counts: how many rows lie in each bin of a model's features (exec/profile), of counts of some
// rows each.
type binCounts struct{ s []*profile.Counts }

func (b *binCounts) Resize(groups int) {
	for len(b.s) < groups {
		b.s = append(b.s, &profile.Counts{})
	}
	b.s = b.s[:groups]
}

func (b *binCounts) Update(groups []uint32, args []arrow.Array) error {
	rows := args[0].(*array.Binary)
	for i, g := range groups {
		if rows.IsNull(i) {
			continue
		}
		if err := b.s[g].Take(rows.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

func (b *binCounts) MergeStates(groups []uint32, states *array.Binary) error {
	for g, s := range stored(groups, states) {
		if err := b.s[g].Take(s); err != nil {
			return err
		}
	}
	return nil
}

// MergeFrom implements Merger.
func (b *binCounts) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*binCounts)
	for i, g := range groups {
		if err := b.s[g].Merge(o.s[ids[i]]); err != nil {
			return err
		}
	}
	return nil
}

func (b *binCounts) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return b.s[g].Append(dst), true }), nil
}

func (b *binCounts) Results(from, to int) (arrow.Array, error) { return b.States(from, to) }

func (b *binCounts) Bytes() (n int64) {
	for _, c := range b.s {
		n += c.Bytes()
	}
	return n
}
