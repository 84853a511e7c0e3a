package copyfmt_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parquetOf writes n rows of one number in batches of 8,192, and returns the number of rows of each
// row group and the peak of charged memory.
func parquetOf(t *testing.T, n int, limit int64, opts copyfmt.ParquetOptions) (groups []int64, peak int64, err error) {
	t.Helper()
	pool := mem.NewPool("node", limit)
	acct := pool.Account("copy encoder", true)
	enc, err := copyfmt.NewEncoder([]copyfmt.Column{{Name: "i", Type: types.Int8}}, copyfmt.Options{Format: copyfmt.Parquet, File: opts}, env, func() *mem.Account { return acct })
	if err != nil {
		t.Fatal(err)
	}
	var file, buf []byte
	for at := 0; at < n && err == nil; at += batch.DefaultSize {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := at; i < min(at+batch.DefaultSize, n); i++ {
			b.Append(int64(i) * 1_000_003)
		}
		buf, _, err = enc.Append(buf[:0], nil, batch.New([]arrow.Array{b.NewArray()}, min(batch.DefaultSize, n-at)))
		file = append(file, buf...)
	}
	if err == nil {
		buf, _, err = enc.End(buf[:0], nil)
		file = append(file, buf...)
	}
	enc.Close()
	if peak = pool.Peak(); pool.Used() != 0 {
		t.Error("charged after the end:", pool.Used())
	}
	if err != nil {
		return nil, peak, err
	}
	r, err := pqfile.NewParquetReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		groups = append(groups, r.MetaData().RowGroup(g).NumRows())
	}
	if r.NumRows() != int64(n) {
		t.Errorf("%d rows of %d", r.NumRows(), n)
	}
	return groups, peak, nil
}

func TestParquetRowGroups(t *testing.T) {
	const all = 1 << 40
	groups, _, err := parquetOf(t, 300_000, all, copyfmt.ParquetOptions{})
	if err != nil || len(groups) != 3 || groups[0] != 122_880 || groups[2] != 300_000-2*122_880 {
		t.Error(groups, err)
	}
	groups, _, err = parquetOf(t, 10_000, all, copyfmt.ParquetOptions{RowGroupSize: 3000})
	if err != nil || len(groups) != 4 || groups[0] != 3000 || groups[3] != 1000 {
		t.Error(groups, err)
	}
	groups, _, err = parquetOf(t, 100_000, all, copyfmt.ParquetOptions{RowGroupBytes: 300_000})
	if err != nil || len(groups) < 2 || groups[0] >= 50_000 {
		t.Error(groups, err)
	}
	if _, _, err = parquetOf(t, 1<<15, all, copyfmt.ParquetOptions{RowGroupSize: 1}); pgerr.CodeOf(err) != pgerr.ProgramLimitExceeded {
		t.Error(err)
	}
	if groups, _, err = parquetOf(t, 0, all, copyfmt.ParquetOptions{}); err != nil || len(groups) != 0 {
		t.Error(groups, err)
	}
}

// TestParquetWithinMemory: where memory is too small for a whole row group, row groups are smaller.
func TestParquetWithinMemory(t *testing.T) {
	const limit = 4 << 20
	groups, peak, err := parquetOf(t, 1_000_000, limit, copyfmt.ParquetOptions{RowGroupSize: 1 << 40, RowGroupBytes: 1 << 40})
	if err != nil || peak > limit || len(groups) < 3 {
		t.Error(groups, peak, err)
	}
	var refused *mem.BudgetError
	if _, _, err = parquetOf(t, 100_000, 64<<10, copyfmt.ParquetOptions{}); !errors.As(err, &refused) {
		t.Error(err)
	}
}
