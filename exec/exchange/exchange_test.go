package exchange_test

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/exchange"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// sent keeps what is sent to each task.
type sent struct {
	mu   sync.Mutex
	rows [][]types.Row
	ts   []types.Type
	ends int
	most int // rows of a batch
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
				r := exchange.NewRouter(w, kind, tb.Types, []op.Item{{Col: 1}, {Col: 0}}, []types.Type{types.Text, types.Numeric}, 64, new(atomic.Int64))
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

func TestQueue(t *testing.T) {
	ctx := context.Background()
	tb := optest.Random(rand.New(rand.NewSource(1)), 1000, types.Int8, types.Text)
	batches := tb.Batches(t, optest.Form{Size: 10})
	var credit atomic.Int64
	q := exchange.NewQueue(2000, 3, func(n int64) { credit.Add(n) })
	var wg sync.WaitGroup
	want := int64(0)
	for _, b := range batches {
		want += b.Bytes()
	}
	for s := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := s; i < len(batches); i += 3 {
				if err := q.Push(ctx, batches[i]); err != nil {
					t.Error(err)
				}
			}
			q.End(nil)
		}()
	}
	var got []types.Row
	for {
		b, err := q.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, optest.RowsOf(b, tb.Types)...)
	}
	wg.Wait()
	optest.Compare(t, got, tb.Rows, tb.Types, false)
	if credit.Load() != want {
		t.Errorf("%d bytes of credit are given back, want %d", credit.Load(), want)
	}
	if err := q.Push(ctx, batches[0]); err != nil {
		t.Error(err)
	}
	if _, err := q.Next(ctx); err != io.EOF {
		t.Errorf("after the end comes %v", err)
	}
}

func TestQueueEnds(t *testing.T) {
	boom := errors.New("boom")
	b := optest.Random(rand.New(rand.NewSource(1)), 100, types.Int8).Batches(t, optest.Form{Size: 100})[0]
	ctx, cancel := context.WithCancel(context.Background())
	q := exchange.NewQueue(1, 2, nil)
	if err := q.Push(ctx, b); err != nil { // alone, however large
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- q.Push(ctx, b) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx = context.Background()
	go func() { done <- q.Push(ctx, b) }()
	q.End(boom)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := q.Next(ctx); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	q = exchange.NewQueue(1, 1, nil)
	q.Push(ctx, b)
	go func() { done <- q.Push(ctx, b) }()
	q.Close()
	q.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := q.Next(ctx); err != io.EOF {
		t.Errorf("after Close comes %v", err)
	}
}
