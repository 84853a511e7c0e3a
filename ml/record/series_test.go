package record

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
)

// TestSeriesInLittleMemory: the rows of a leaf on disk are sorted in the memory that is charged for
// their block, before the block uses it.
func TestSeriesInLittleMemory(t *testing.T) {
	const parts, each, dense = 32, 1000, 9
	n := parts * each
	pool := mem.NewPool("series", 0)
	layout := CodedLayout(dense, 0, true, false).Keyed(1)
	cfg := Config{Pool: pool, Temp: t.TempDir(), Leaves: 1, Windows: &Windows{Length: 20, Stride: 1, Order: []int{0}}}
	s, blocks := NewStore(layout, cfg), block.NewBlocks(block.Config{Pool: cfg.Pool, Temp: cfg.Temp})
	defer s.Close()
	defer blocks.Close()
	var rows []byte
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		part, at := uint64(i/each), uint64(i%each)
		hi := part * 0x9e3779b97f4a7c15
		rec := make([]byte, layout.fixed)
		be.PutUint64(rec, hi)
		le.PutUint64(rec[block.HashBytes:], at)
		b := block.New(1, dense, 0, true)
		b.Y[0] = float64(i)
		layout.encodeRow(rec, b, 0)
		rows = append(le.AppendUint32(rows, uint32(key{hi: hi}.bucket())), rec...)
	}
	if err := s.PutCoded(rows); err != nil {
		t.Fatal(err)
	}
	if err := s.spill(s.shards...); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	l, err := s.MakeLeaf(context.Background(), 0, block.Buckets)
	if err != nil || !l.spilled || l.Rows != n {
		t.Fatal(l, err)
	}
	if err := blocks.Reserve(l.CodedBytes()); err != nil {
		t.Fatal(err)
	}
	records := int64(n * layout.fixed)
	need := pool.Used() + records + 8*int64(n) + packBytes
	pool.SetLimit((need + 256<<10) * 100 / 95)
	b, err := l.Series()
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Windows) != parts*(each-19) {
		t.Errorf("%d windows", len(b.Windows))
	}
	for i, y := range b.Y[:n] {
		if i%each == 0 && int(y)%each != 0 || i%each > 0 && y != b.Y[i-1]+1 {
			t.Fatalf("row %d is row %v", i, y)
		}
	}
}
