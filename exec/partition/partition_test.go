package partition_test

import (
	"context"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestPartitions: all rows are read back, those of one key from one partition, on each level and
// without keys; no memory stays charged.
func TestPartitions(t *testing.T) {
	ctx := context.Background()
	tb := optest.Wide(rand.New(rand.NewSource(1)), 4000, 300)
	want := optest.Texts(tb.Rows, tb.Types, false)
	for level := -1; level <= partition.MaxLevel; level++ {
		pool := mem.NewPool("n", 0)
		dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
		acct := pool.Account("test", true)
		var wrote int64
		w := partition.NewWriter(partition.Config{Dir: dir, Account: acct, Buffer: 256 << 10, Types: tb.Types, Keys: []int{0},
			KeyTypes: tb.Types[:1], Level: level, Wrote: func(n int64) { wrote += n }})
		for _, b := range tb.Batches(t, optest.Form{Size: 70}) {
			if err := w.Add(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []types.Row
		at, used := map[types.Datum]int{}, 0
		for p, run := range runs {
			if run == nil {
				continue
			}
			used++
			r := partition.Reader{Runs: []*spill.Run{run}}
			for {
				b, err := r.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
				for _, row := range optest.RowsOf(b, tb.Types) {
					if old, ok := at[row[0]]; ok && old != p {
						t.Fatalf("level %d: key %v is in partitions %d and %d", level, row[0], old, p)
					}
					at[row[0]] = p
					got = append(got, row)
				}
			}
		}
		if texts := optest.Texts(got, tb.Types, false); !slices.Equal(texts, want) {
			t.Errorf("level %d: %d rows, want %d, or others", level, len(texts), len(want))
		}
		if (used == 1) != (level < 0) || wrote == 0 || acct.Used() != 0 {
			t.Errorf("level %d: %d partitions, %d bytes written, %d charged", level, used, wrote, acct.Used())
		}
		acct.Close()
		dir.Close()
	}
}
