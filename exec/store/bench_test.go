package store_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

var benchCols = []store.WriterColumn{{Num: 1, Type: types.Int8}, {Num: 2, Type: types.FixedNumeric(12, 2, true)}, {Num: 3, Type: types.Date},
	{Num: 4, Type: types.Text}, {Num: 5, Type: types.Text}}

func benchBatch(n int) *batch.Batch {
	ids, price, day := make([]int64, n), make([]int64, n), make([]int32, n)
	flag, note := []int32{0}, []int32{0}
	var flags, notes []byte
	for i := range n {
		ids[i], price[i], day[i] = int64(i), int64(i*7919%1000003), int32(i%2500)
		flags = append(flags, "ANR"[i%3])
		flag = append(flag, int32(len(flags)))
		notes = fmt.Append(notes, "a comment of row ", i*31)
		note = append(note, int32(len(notes)))
	}
	return batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, ids, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, price, nil),
		batch.FromSlice(arrow.FixedWidthTypes.Date32, day, nil), batch.FromOffsets(arrow.BinaryTypes.String, flag, flags, nil),
		batch.FromOffsets(arrow.BinaryTypes.String, note, notes, nil)}, n)
}

func benchWrite(b *testing.B, s *store.Store, src *batch.Batch, times int) []*catalog.Segment {
	w := s.NewWriter(store.WriterOptions{Columns: benchCols})
	for range times {
		if err := w.Write(ctx, src); err != nil {
			b.Fatal(err)
		}
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		b.Fatal(err)
	}
	return segs
}

func BenchmarkWrite(b *testing.B) {
	src := benchBatch(1 << 16)
	b.SetBytes(16 * src.Bytes())
	for b.Loop() {
		s, _ := store.Open(store.Options{Dir: b.TempDir()})
		benchWrite(b, s, src, 16)
		s.Close()
	}
}

func BenchmarkScan(b *testing.B) {
	s, _ := store.Open(store.Options{Dir: b.TempDir()})
	defer s.Close()
	src := benchBatch(1 << 16)
	m := manifest(benchWrite(b, s, src, 16)...)
	b.SetBytes(16 * src.Bytes())
	for b.Loop() {
		pin := s.Pin(0)
		for _, sp := range store.Splits(m, 0, 0, nil) {
			r, err := pin.Open(ctx, scanOf(benchCols), &sp, &function.Env{}, nil)
			if err != nil {
				b.Fatal(err)
			}
			for {
				if _, err := r.Next(ctx); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
		pin.Close()
	}
}
