package optest

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// Cut returns n rows in batches, whose columns gen makes.
func Cut(n int, gen func(from, n int) []arrow.Array) []*batch.Batch {
	var out []*batch.Batch
	for from := 0; from < n; from += batch.DefaultSize {
		m := min(batch.DefaultSize, n-from)
		out = append(out, batch.New(gen(from, m), m))
	}
	return out
}

// Int8s makes an int8 column of n values.
func Int8s(n int, f func(i int) int64) arrow.Array {
	v := make([]int64, n)
	for i := range v {
		v[i] = f(i)
	}
	return batch.FromSlice(types.Int8.Arrow(), v, nil)
}

// exhaust runs the threads to their ends and counts the rows.
func exhaust(b *testing.B, root []op.Operator) (rows int64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, o := range root {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n := int64(0)
			err := o.Open(context.Background())
			for err == nil {
				var x *batch.Batch
				if x, err = o.Next(context.Background()); err == nil {
					n += int64(x.Rows())
				}
			}
			if err != io.EOF {
				b.Error(err)
			}
			o.Close()
			mu.Lock()
			rows += n
			mu.Unlock()
		}()
	}
	wg.Wait()
	return rows
}

// Bench runs the threads that root makes to their ends, b.N times, with limit bytes (0:
// no limit). They must return that many rows; negative: any number.
func Bench(b *testing.B, threads int, limit int64, rows int64, root func(rt *op.Runtime) []op.Operator) {
	for b.Loop() {
		pool := mem.NewPool("n", limit)
		dir := spill.NewDir(spill.Options{Parent: b.TempDir(), Pool: pool})
		if n := exhaust(b, root(&op.Runtime{Threads: threads, Pool: pool, Spill: dir})); n != rows && rows >= 0 {
			b.Fatalf("%d rows, want %d", n, rows)
		}
		b.ReportMetric(float64(pool.Spilled())/(1<<20), "spilled-MiB")
		dir.Close()
	}
}
