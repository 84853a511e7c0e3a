package copyfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
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
		rows := batch.New([]arrow.Array{b.NewArray()}, min(batch.DefaultSize, n-at))
		for from := 0; from < rows.N && err == nil; {
			buf, _, from, err = enc.Append(buf[:0], nil, rows, from)
			file = append(file, buf...)
		}
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

// TestLongStringOfManyRows: rows that share a long string of a dictionary are encoded a few at a time, in
// every format: together they would be gigabytes.
func TestLongStringOfManyRows(t *testing.T) {
	const long, n = 1 << 20, 100
	dict := array.NewStringBuilder(memory.DefaultAllocator)
	dict.Append(strings.Repeat("x", long))
	b := batch.New([]arrow.Array{batch.FromIndices(types.DictArrow, make([]int32, n), nil, dict.NewArray())}, n)
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, format := range []string{"text", "csv", "binary", "parquet"} {
		pool, before := mem.NewPool("node", 16<<20), live()
		enc, err := copyfmt.NewEncoder([]copyfmt.Column{{Name: "s", Type: types.Text}}, options(t, false, copyfmt.Option{Name: "format", Value: format}), env,
			func() *mem.Account { return pool.Account("copy encoder", true) })
		if err != nil {
			t.Fatal(format, err)
		}
		var buf []byte
		var ends []int
		rows := 0
		for from := 0; from < n; {
			if buf, ends, from, err = enc.Append(buf[:0], ends[:0], b, from); err != nil {
				t.Fatal(format, err)
			}
			if rows += len(ends); len(buf) > 12*long {
				t.Errorf("%s: %d bytes at once", format, len(buf))
			}
		}
		if n := live(); n > before+40*long {
			t.Errorf("%s: %d bytes are held", format, n-before)
		}
		if _, _, err = enc.End(buf[:0], nil); err != nil || format != "parquet" && rows != n {
			t.Errorf("%s: %d rows of %d: %v", format, rows, n, err)
		}
		enc.Close()
	}
}

// TestParquetOfManyColumns: where there is no memory for a batch of all columns, it is divided.
func TestParquetOfManyColumns(t *testing.T) {
	const columns, n = 300, 12_000
	var cols []copyfmt.Column
	arr := array.NewInt32Builder(memory.DefaultAllocator)
	for i := range n {
		arr.Append(int32(i))
	}
	b := &batch.Batch{N: n, Seq: -1}
	all := arr.NewArray()
	for i := range columns {
		cols = append(cols, copyfmt.Column{Name: fmt.Sprint("c", i), Type: types.Int4})
		b.Cols = append(b.Cols, all)
	}
	pool := mem.NewPool("node", 24<<20)
	enc, err := copyfmt.NewEncoder(cols, copyfmt.Options{Format: copyfmt.Parquet}, env, func() *mem.Account { return pool.Account("copy encoder", true) })
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	var file, buf []byte
	for from := 0; from < n; {
		if buf, _, from, err = enc.Append(buf[:0], nil, b, from); err != nil {
			t.Fatal(err)
		}
		file = append(file, buf...)
	}
	if buf, _, err = enc.End(buf[:0], nil); err != nil {
		t.Fatal(err)
	}
	r, err := pqfile.NewParquetReader(bytes.NewReader(append(file, buf...)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.NumRows() != n || r.NumRowGroups() < 2 || r.NumRowGroups() > 8 {
		t.Errorf("%d rows in %d groups", r.NumRows(), r.NumRowGroups())
	}
}
