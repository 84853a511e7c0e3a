package trainer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/types"
)

// TestBuffersAreCharged: the buffers of slices are charged while they are used and while they are kept
// for reuse; the number kept is bounded.
func TestBuffersAreCharged(t *testing.T) {
	var charged, most int64
	full := errors.New("full")
	b := &buffers{release: func(n int64) { charged -= n }, hold: func(n int64) error {
		if charged+n > 1<<20 {
			return full
		}
		charged += n
		most = max(most, charged)
		return nil
	}}
	var out [][]byte
	for range 40 {
		buf, err := b.get(1000)
		if err != nil {
			t.Fatal(err)
		}
		had := cap(buf)
		if buf = append(buf, make([]byte, 3000)...); b.grown(had, cap(buf)) != nil {
			t.Fatal("no room")
		}
		out = append(out, buf)
	}
	held := int64(0)
	for _, buf := range out {
		held += int64(cap(buf))
	}
	if charged != held {
		t.Errorf("%d bytes are charged, %d are used", charged, held)
	}
	for _, buf := range out {
		b.put(buf)
	}
	if want := held / 40 * mostIdle; charged != want || len(b.idle) != mostIdle {
		t.Errorf("%d bytes are charged for %d that wait, not %d", charged, len(b.idle), want)
	}
	buf, err := b.get(1000)
	if err != nil || cap(buf) < 3000 {
		t.Fatal("a buffer that waits is not used", err)
	}
	if err := b.grown(cap(buf), 2<<20); !errors.Is(err, full) || charged != held/40*(mostIdle-1) {
		t.Errorf("%v: %d bytes are charged", err, charged)
	}
	if buf, err = b.get(0); err != nil {
		t.Fatal(err)
	}
	b.put(buf)
	if b.drain(); charged != 0 {
		t.Errorf("%d bytes are charged for nothing", charged)
	}
	if buf, err = b.get(3 * chunkBytes); err != nil {
		t.Fatal(err)
	}
	if b.put(buf); charged != 0 || len(b.idle) > 0 {
		t.Error("a long buffer is kept")
	}
}

// TestMovingRowsAreCharged: rows from another node are charged until they are
// consumed.
func TestMovingRowsAreCharged(t *testing.T) {
	cols := []record.Column{{Name: "x", Type: types.Float8}, {Name: "y", Type: types.Float8}}
	job, err := train.NewJob("mlp", []string{"y"}, []family.Arg{{Name: "hidden_units", Value: int64(2)}}, nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	var chunks [][]byte
	longest := 0
	send := func(_ context.Context, _ int, each func(func([]byte) error) error) error {
		return each(func(rows []byte) error {
			chunks = append(chunks, bytes.Clone(rows))
			longest = max(longest, len(rows))
			return nil
		})
	}
	node := func() (*part, *mem.Pool) {
		pool := mem.NewPool("node", 0)
		w, err := train.NewWorker(job, train.WorkerConfig{Pool: pool, Temp: t.TempDir(), Threads: 1, Workers: 2, Send: send})
		if err != nil {
			t.Fatal(err)
		}
		return &part{w: w}, pool
	}
	from, _ := node()
	defer from.w.Close()
	vals := make([]float64, 8192)
	for i := range 12 {
		for j := range vals {
			vals[j] = 9 // by whose hash they are the other node's
		}
		vals[0] = float64(i)
		b := batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, nil), batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, nil)}, len(vals))
		if err := from.w.Add(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	red := alone{from.w}
	if _, err := train.Distribute(context.Background(), job, red, 2, 0); err != nil {
		t.Fatal(err)
	}
	to, pool := node()
	at := 0
	if err := to.take(func() ([]byte, error) {
		if at == len(chunks) {
			return nil, io.EOF
		}
		at++
		return chunks[at-1], nil
	}); err != nil {
		t.Fatal(err)
	}
	var without int64
	{ // in the stored form
		other, pool := node()
		for _, rows := range chunks {
			if err := other.w.Put(rows); err != nil {
				t.Fatal(err)
			}
		}
		without = pool.Peak()
		other.w.Close()
	}
	if longest < 1<<17 || pool.Peak() < without+int64(longest)/2 {
		t.Errorf("%d bytes are charged at most, %d for what is kept; a chunk has %d", pool.Peak(), without, longest)
	}
	if err := to.w.Close(); err != nil || pool.Used() != 0 {
		t.Error(err, pool.Used())
	}
}

// alone is a Reducer over one worker of several.
type alone struct{ *train.Worker }

func (a alone) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	p, err := a.Begin(t, func(context.Context, *train.Shipment) error { return nil })
	if err == nil {
		err = p.Offer(ctx, 0, reduce.Node{Index: 1}, nil)
	}
	if err == nil {
		err = p.Run(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.Result()
}
