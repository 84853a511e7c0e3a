package task_test

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// sent records the rows sent to each task.
type sent struct {
	mu    sync.Mutex
	rows  [][]types.Row
	ts    []types.Type
	ends  int
	most  int // rows of a batch
	bytes int64
}

func (s *sent) Dests() int           { return len(s.rows) }
func (s *sent) Sent() (int64, int64) { return 0, 0 }

func (s *sent) Send(_ context.Context, dest int, b *batch.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Sel != nil {
		return errors.New("a batch with a selection is sent")
	}
	s.most = max(s.most, b.N)
	s.bytes += b.Bytes()
	s.rows[dest] = append(s.rows[dest], optest.RowsOf(b, s.ts)...)
	return nil
}

func (s *sent) CloseSend(error) error { s.ends++; return nil }

func TestRouter(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(1)), 500, types.Numeric, types.Text, types.Int4)
	for _, kind := range []plan.ExchangeKind{plan.Gather, plan.HashBy, plan.Broadcast, plan.Spread} {
		for _, dests := range []int{1, 3} {
			for _, f := range []optest.Form{{Size: 1}, {Size: 100, Dict: true, Mix: true}, {Size: 64, Sel: true, Dict: true}} {
				w := &sent{rows: make([][]types.Row, dests), ts: tb.Types}
				r := task.NewRouter(w, kind, tb.Types, []op.Item{{Col: 1}, {Col: 0}}, []types.Type{types.Text, types.Numeric}, 64, new(atomic.Int64))
				for _, b := range tb.Batches(t, f) {
					if err := r.Send(context.Background(), b); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Flush(context.Background()); err != nil {
					t.Fatal(err)
				}
				if w.most > max(64, f.Size) {
					t.Errorf("%v to %d tasks: a batch of %d rows is sent", kind, dests, w.most)
				}
				all := slices.Concat(w.rows...)
				switch kind {
				case plan.Broadcast:
					for _, rows := range w.rows {
						optest.Compare(t, rows, tb.Rows, tb.Types, true)
					}
					continue
				case plan.Gather:
					if len(w.rows[0]) != 500 {
						t.Errorf("%d rows at the gateway", len(w.rows[0]))
					}
				case plan.HashBy:
					at := map[string]int{}
					for d, rows := range w.rows {
						if dests > 1 && len(rows) == 0 {
							t.Error("a task gets nothing")
						}
						for _, row := range rows {
							n := "NULL"
							if row[0] != nil {
								n = string(row[0].(number.Decimal).HashKey(nil))
							}
							key := n + optest.Text(row[1:2], tb.Types[1:2])
							if was, ok := at[key]; ok && was != d {
								t.Fatalf("rows with key %s go to %d and %d", key, was, d)
							}
							at[key] = d
						}
					}
				}
				optest.Compare(t, all, tb.Rows, tb.Types, false)
			}
		}
	}
}

// TestRouterLongRows: rows that are buffered before they are sent are limited in bytes, not only in
// number.
func TestRouterLongRows(t *testing.T) {
	const long = 100 << 10
	tb := optest.Table{Types: []types.Type{types.Int8, types.Text}}
	for i := range 300 {
		tb.Rows = append(tb.Rows, types.Row{int64(i), strings.Repeat(string(rune('a'+i%26)), long)})
	}
	for _, kind := range []plan.ExchangeKind{plan.HashBy, plan.Broadcast} {
		w := &sent{rows: make([][]types.Row, 3), ts: tb.Types}
		r := task.NewRouter(w, kind, tb.Types, []op.Item{{Col: 0}}, []types.Type{types.Int8}, 8192, new(atomic.Int64))
		in, out := int64(0), func() (n int64) {
			return w.bytes / map[plan.ExchangeKind]int64{plan.HashBy: 1, plan.Broadcast: 3}[kind]
		}
		for _, b := range tb.Batches(t, optest.Form{Size: 5}) {
			in += b.Bytes()
			if err := r.Send(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			if waits := in - out(); waits > 3<<20 {
				t.Fatalf("%v: %d bytes wait", kind, waits)
			}
		}
		if err := r.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if kind == plan.Broadcast {
			optest.Compare(t, w.rows[2], tb.Rows, tb.Types, true)
		} else {
			optest.Compare(t, slices.Concat(w.rows...), tb.Rows, tb.Types, false)
		}
	}
}
