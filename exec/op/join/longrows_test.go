package join_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// long makes rows of which some have a long text.
func long(r *rand.Rand, n, domain, width int) optest.Table {
	tb := optest.Table{Types: []types.Type{types.Int8, types.Int4, types.Text}}
	for i := range n {
		s := fmt.Sprint(i)
		if r.Intn(3) > 0 {
			s = strings.Repeat(string(rune('a'+i%26)), width+i)
		}
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(domain)), int64(r.Intn(20)), s})
	}
	return tb
}

// TestJoinWide: joined long rows are returned in batches of limited bytes, and none is lost.
func TestJoinWide(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
		for _, keys := range [][]int{{0}, nil} {
			for _, residual := range []bool{false, true} {
				if kind == plan.AntiNull && (residual || keys == nil) || !residual && keys == nil && kind == plan.Mark || kind == plan.Single {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v/%v", kindNames[kind], keys, residual), func(t *testing.T) {
					c := joinCase{kind: kind, keys: keys, residual: residual}
					l, rr := long(r, 30, 3, 1500), long(r, 40, 3, 2500)
					c.run(t, l, rr, 0)
				})
			}
		}
	}
}

// TestJoinWideBounded: a batch of joined rows is about 8 MiB however long rows are, and less where
// memory is scarce; where not even one row fits the join fails with 53200.
func TestJoinWideBounded(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	for _, keys := range [][]int{{0}, nil} {
		for _, residual := range []bool{false, true} {
			for _, c := range []struct {
				width int
				limit int64
				batch int64
				fails bool
			}{
				{200_000, 1 << 30, 9 << 20, false},
				{200_000, 20 << 20, 9 << 20, false},
				{200_000, 6 << 20, 5 << 19, false},
				{900_000, 5 << 20, 3 << 20, false},
				{900_000, 2 << 20, 0, true},
			} {
				t.Run(fmt.Sprintf("%v/%v/%d/%d", keys, residual, c.width, c.limit), func(t *testing.T) {
					jc := joinCase{kind: plan.Inner, keys: keys, residual: residual}
					l, rr := long(r, 25, 1, c.width), long(r, 25, 1, c.width)
					want := 0
					for _, a := range l.Rows {
						for _, b := range rr.Rows {
							if jc.pair(l.Types, a, b) == true {
								want++
							}
						}
					}
					pool := mem.NewPool("n", 0).Child("s", c.limit)
					dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
					rt := &op.Runtime{Threads: 1, Pool: pool, Spill: dir}
					form := optest.Form{Size: 1}
					threads := join.New(rt, nil, jc.config(l.Types, 1), optest.Source(1, l.Batches(t, form)), optest.Source(1, rr.Batches(t, form)))
					got, most, err := widest(threads[0])
					switch {
					case c.fails:
						if !pgerr.Is(err, pgerr.OutOfMemory) {
							t.Fatalf("%d of %d rows, error %v", got, want, err)
						}
					case err != nil:
						t.Fatal(err)
					case got != want:
						t.Errorf("%d rows, not %d", got, want)
					case most > c.batch:
						t.Errorf("a batch of %d bytes", most)
					}
					// A single row on its way to disk is charged in any case, beyond the limit.
					if pool.Peak() > c.limit+int64(c.width) {
						t.Errorf("%d of %d bytes", pool.Peak(), c.limit)
					}
					if n := pool.Close(); n > 0 {
						t.Errorf("%d bytes are still charged", n)
					}
					if err := dir.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// widest reads all rows of a thread: how many they are, and the bytes of the largest batch.
func widest(o op.Operator) (rows int, most int64, err error) {
	ctx := context.Background()
	err = o.Open(ctx)
	for err == nil {
		b, e := o.Next(ctx)
		if e == io.EOF {
			break
		}
		if err = e; err == nil {
			rows += b.Rows()
			most = max(most, b.Bytes())
		}
	}
	return rows, most, errors.Join(err, o.Close())
}
