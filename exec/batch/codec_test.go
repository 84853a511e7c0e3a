package batch_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

func sample() ([]types.Type, optest.Table) {
	ints, _ := types.ArrayOf(types.Int4)
	texts, _ := types.ArrayOf(types.Text)
	ts := []types.Type{types.Bool, types.Int2, types.Int8, types.Float8, types.FixedNumeric(9, 2, true), types.Numeric, types.Text,
		types.Bytea, types.Date, types.Timetz, types.IntervalT, types.JSONB, ints, texts, types.Void}
	tb := optest.Random(rand.New(rand.NewSource(1)), 400, ts[:len(ts)-1]...)
	tb.Types = ts
	for i := range tb.Rows {
		tb.Rows[i] = append(tb.Rows[i], nil)
	}
	return ts, tb
}

func physical(ts []types.Type) []arrow.DataType {
	var out []arrow.DataType
	for _, t := range ts {
		out = append(out, t.Arrow())
	}
	return out
}

func TestCodec(t *testing.T) {
	ts, tb := sample()
	var e batch.Encoder
	for _, f := range []optest.Form{{Size: 400}, {Size: 1}, {Size: 17, Dict: true}, {Size: 60, Dict: true, Mix: true}, {Size: 33, Sel: true}} {
		var got []types.Row
		for i, b := range tb.Batches(t, f) {
			b = kernel.Compact(b)
			b.Seq = int64(i) - 1
			data := e.Append(nil, b)
			if n, ok := batch.FrameBytes(data); !ok || n != len(data) {
				t.Fatalf("a frame of %d bytes says %d", len(data), n)
			}
			d, err := batch.Decode(data, physical(ts))
			if err != nil {
				t.Fatal(err)
			}
			if d.Seq != b.Seq {
				t.Fatalf("seq %d, want %d", d.Seq, b.Seq)
			}
			got = append(got, optest.RowsOf(d, ts)...)
		}
		optest.Compare(t, got, tb.Rows, ts, true)
	}
	empty := batch.New(nil, 5)
	if d, err := batch.Decode(e.Append(nil, empty), nil); err != nil || d.N != 5 {
		t.Fatal(d, err)
	}
}

// FuzzDecode: hostile bytes decode to an error or to a batch that can be read.
func FuzzDecode(f *testing.F) {
	ts, tb := sample()
	var e batch.Encoder
	for _, form := range []optest.Form{{Size: 7}, {Size: 5, Dict: true}} {
		f.Add(e.Append(nil, tb.Batches(f, form)[0]))
	}
	dts := physical(ts)
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := batch.Decode(slices.Clone(data), dts); err == nil {
			for c := range b.Cols {
				kernel.Take(b.Cols[c], []int32{-1})
				for i := 0; i < b.N && i < 100; i++ {
					kernel.AppendKey(nil, types.Text, b.Cols[c], i)
				}
			}
		}
	})
}
