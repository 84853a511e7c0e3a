package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
)

// TestManyColumnsAtOnce: the buffers of many columns are small: of each together they would be more than
// the memory there is.
func TestManyColumnsAtOnce(t *testing.T) {
	const columns, rows = 400, 40_000
	ints := array.NewInt32Builder(memory.DefaultAllocator)
	for i := range rows {
		ints.Append(int32(i * 7919))
	}
	col := ints.NewArray()
	var fields []arrow.Field
	var cols []arrow.Array
	var all []int
	for i := range columns {
		fields, cols, all = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int32}), append(cols, col), append(all, i)
	}
	schema := arrow.NewSchema(fields, nil)
	path := filepath.Join(t.TempDir(), "x.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{array.NewRecord(schema, cols, rows)}), out, rows,
		parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(4<<10), parquet.WithBatchSize(500)), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	pool := mem.NewPool("node", 12<<20).Child("statement", 0)
	defer pool.Close()
	acct := pool.Account("copy", false)
	defer acct.Close()
	p, err := OpenParquet(context.Background(), object.Local, path, "STDIN", acct)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Read(all)
	defer r.Close()
	n, sum := 0, int64(0)
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += b.N
		for _, c := range b.Cols {
			sum += int64(c.(*array.Int32).Value(b.N - 1))
		}
	}
	if n != rows || sum%columns != 0 {
		t.Errorf("%d rows, %d", n, sum)
	}
}
