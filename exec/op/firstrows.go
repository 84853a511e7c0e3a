package op

import (
	"bytes"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
)

// FirstRows tells the operators below a sort with a limit which rows it may still return: those whose first
// key is not beyond that of the last row that it would return now. It knows none before the sort has as many
// rows as it returns.
type FirstRows struct {
	enc  *kernel.KeyEncoder // of the first key
	only bool               // there are no other keys: rows equal to the last are not needed
	last atomic.Pointer[[]byte]
}

// NewFirstRows makes that of a sort by these keys.
func NewFirstRows(specs []kernel.KeySpec) *FirstRows {
	return &FirstRows{enc: kernel.NewKeyEncoder(specs).Prefix(1), only: len(specs) == 1}
}

// Cut says that rows beyond the key last, or equal to it, are not needed.
func (f *FirstRows) Cut(last []byte) { f.last.Store(&last) }

// Known reports whether any rows are known not to be needed.
func (f *FirstRows) Known() bool { return f.last.Load() != nil }

// Select returns the rows that are needed of those whose first keys are in col.
func (f *FirstRows) Select(col arrow.Array) []int32 {
	n := col.Len()
	rows, last := make([]int32, 0, n), f.last.Load()
	if last == nil {
		for i := range n {
			rows = append(rows, int32(i))
		}
		return rows
	}
	var keys kernel.Keys
	f.enc.Append(&keys, []arrow.Array{col}, n)
	for i := range n {
		key := keys.At(i)
		c := bytes.Compare(key, (*last)[:min(len(key), len(*last))])
		if c < 0 || c == 0 && !f.only {
			rows = append(rows, int32(i))
		}
	}
	return rows
}
