package record

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var testCols = []Column{
	{"f8", types.Float8}, {"f4", types.Float4}, {"i8", types.Int8}, {"i4", types.Int4}, {"i2", types.Int2}, {"b", types.Bool},
	{"t", types.Text}, {"n", types.Numeric}, {"fx", types.FixedNumeric(10, 2, true)}, {"ts", types.Timestamp}, {"d", types.Date},
	{"a", types.Type{OID: 1022, Mod: -1}}, {"u", types.UUID},
}

// someBatch makes n random rows with NULLs; with dict the text column is dictionary-encoded.
func someBatch(r *rand.Rand, n int, dict bool) *batch.Batch {
	alloc := memory.DefaultAllocator
	cols := make([]arrow.Array, len(testCols))
	builders := make([]array.Builder, len(testCols))
	for i, c := range testCols {
		builders[i] = array.NewBuilder(alloc, c.Type.Arrow())
	}
	for range n {
		for _, b := range builders {
			if r.IntN(8) == 0 {
				b.AppendNull()
				continue
			}
			switch b := b.(type) {
			case *array.Float64Builder:
				b.Append([]float64{0, math.Copysign(0, -1), 1.5, math.NaN(), r.NormFloat64()}[r.IntN(5)])
			case *array.Float32Builder:
				b.Append(float32(r.IntN(5)) / 3)
			case *array.Int64Builder:
				b.Append(int64(r.IntN(2000) - 1000))
			case *array.Int32Builder:
				b.Append(int32(r.IntN(2000) - 1000))
			case *array.Int16Builder:
				b.Append(int16(r.IntN(20)))
			case *array.BooleanBuilder:
				b.Append(r.IntN(2) == 0)
			case *array.StringBuilder:
				b.Append([]string{"", "a", "bb", "a longer text, of more than one word"}[r.IntN(4)])
			case *array.BinaryBuilder:
				b.Append(number.DecimalFromInt64(int64(r.IntN(5)*100), int32(r.IntN(3))).AppendBinary(nil))
			case *array.TimestampBuilder:
				b.Append(arrow.Timestamp(r.IntN(1000)))
			case *array.Date32Builder:
				b.Append(arrow.Date32(r.IntN(1000)))
			case *array.ListBuilder:
				b.Append(true)
				for range r.IntN(3) {
					b.ValueBuilder().(*array.Float64Builder).Append(float64(r.IntN(3)))
				}
			case *array.FixedSizeBinaryBuilder:
				b.Append(bytes.Repeat([]byte{byte(r.IntN(256))}, 16))
			}
		}
	}
	for i, b := range builders {
		cols[i] = b.NewArray()
	}
	if dict {
		s := cols[6].(*array.String)
		vals := array.NewStringBuilder(alloc)
		idx, valid := make([]int32, n), make([]byte, batch.BitmapBytes(n))
		for i := range n {
			if !s.IsNull(i) {
				idx[i] = int32(vals.Len())
				batch.SetBit(valid, i)
				vals.Append(s.Value(i))
			}
		}
		if vals.Len() == 0 {
			vals.Append("")
		}
		cols[6] = batch.FromIndices(types.DictArrow, idx, valid, vals.NewArray())
	}
	return batch.New(cols, n)
}

// dump lists the rows of a leaf, sorted, since their order has no meaning.
func dump(t *testing.T, l *Leaf) []byte {
	t.Helper()
	v, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var out bytes.Buffer
	num := make([]float64, 1)
	for i := range l.Rows {
		for c := range testCols {
			nulls := v.Numbers(c, i, num)
			fmt.Fprintf(&out, "%v %d %x|", num[0], nulls, v.Bytes(c, i))
		}
		fmt.Fprintf(&out, "%.3f\n", v.Draw(i))
	}
	lines := bytes.SplitAfter(out.Bytes(), []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, nil)
}

func makeLeaves(t *testing.T, s *Store, leaves int) (out [][]byte) {
	t.Helper()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	for i := range leaves {
		from, to := LeafBuckets(i, leaves)
		l, err := s.MakeLeaf(context.Background(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, dump(t, l))
		l.Free()
	}
	return out
}

// TestLeavesDependOnTheRowsAlone distributes the same rows in other batches, orders, encodings,
// goroutines, nodes and amounts of memory: the leaves are the same.
func TestLeavesDependOnTheRowsAlone(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 1))
	var plain, dicts []*batch.Batch
	total := 0
	for i := range 12 {
		n := 1 + r.IntN(700)
		total += n
		seed := rand.NewPCG(uint64(i), 5)
		plain = append(plain, someBatch(rand.New(seed), n, false))
		dicts = append(dicts, someBatch(rand.New(rand.NewPCG(uint64(i), 5)), n, true))
	}
	layout, err := NewLayout(testCols)
	if err != nil {
		t.Fatal(err)
	}
	pool := mem.NewPool("test", 0)
	ref := NewStore(layout, Config{Pool: pool, Temp: t.TempDir(), Seed: 7})
	for _, b := range plain {
		if err := ref.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	want := makeLeaves(t, ref, 4)
	if err := ref.Close(); err != nil {
		t.Fatal(err)
	}

	t.Run("goroutines, sizes, selections, dictionaries", func(t *testing.T) {
		s := NewStore(layout, Config{Pool: pool, Temp: t.TempDir(), Seed: 7})
		var wg sync.WaitGroup
		for i, b := range dicts {
			wg.Go(func() {
				for from := 0; from < b.N; from += 97 {
					part := b.Slice(from, min(from+97, b.N))
					if i%2 == 0 { // the same rows through a selection vector
						part = &batch.Batch{Cols: b.Cols, N: b.N, Seq: -1}
						for j := from; j < min(from+97, b.N); j++ {
							part.Sel = append(part.Sel, int32(j))
						}
					}
					if err := s.Add(ctx, part); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		var n int64
		for _, c := range s.Counts() {
			n += c
		}
		if n != int64(total) {
			t.Errorf("%d rows counted, %d added", n, total)
		}
		equalLeaves(t, makeLeaves(t, s, 4), want)
		s.Close()
	})
	t.Run("little memory", func(t *testing.T) {
		small := mem.NewPool("small", 1<<20)
		s := NewStore(layout, Config{Pool: small, Temp: t.TempDir(), Seed: 7})
		for _, b := range plain {
			if err := s.Add(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		equalLeaves(t, makeLeaves(t, s, 4), want)
		if small.Spilled() == 0 {
			t.Error("nothing was spilled")
		}
		s.Close()
		if small.Used() != 0 {
			t.Errorf("%d bytes are still charged", small.Used())
		}
	})
	t.Run("shipped between nodes", func(t *testing.T) {
		var nodes [3]*Store
		for i := range nodes {
			nodes[i] = NewStore(layout, Config{Pool: pool, Temp: t.TempDir(), Seed: 7})
		}
		for i, b := range slices.Backward(plain) {
			if err := nodes[i%3].Add(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		for leaf := range 4 {
			owner := nodes[leaf%3]
			from, to := LeafBuckets(leaf, 4)
			for _, n := range nodes {
				for b := from; b < to && n != owner; b++ {
					if err := n.Take(b, b+1, func(rec []byte) error { return owner.Put(rec) }); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, n := range nodes {
			if err := n.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		var got [][]byte
		for leaf := range 4 {
			from, to := LeafBuckets(leaf, 4)
			l, err := nodes[leaf%3].MakeLeaf(ctx, from, to)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, dump(t, l))
			l.Free()
		}
		equalLeaves(t, got, want)
		for _, n := range nodes {
			n.Close()
		}
	})
	t.Run("shipped at once with little memory", func(t *testing.T) {
		var nodes [3]*Store
		var pools [3]*mem.Pool
		for i := range nodes {
			pools[i] = mem.NewPool("small", 768<<10)
			nodes[i] = NewStore(layout, Config{Pool: pools[i], Temp: t.TempDir(), Seed: 7})
		}
		for i, b := range dicts {
			if err := nodes[i%3].Add(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for from, n := range nodes {
			for to, owner := range nodes {
				if from == to {
					continue
				}
				wg.Go(func() {
					for leaf := to; leaf < 4; leaf += 3 {
						first, end := LeafBuckets(leaf, 4)
						for b := first; b < end; b++ {
							if err := n.Take(b, b+1, func(rec []byte) error { return owner.Put(rec) }); err != nil {
								t.Error(err)
								return
							}
						}
					}
				})
			}
		}
		wg.Wait()
		var got [4][]byte
		var spilled int64
		for i, n := range nodes {
			if err := n.Finish(); err != nil {
				t.Fatal(err)
			}
			for leaf := i; leaf < 4; leaf += 3 {
				from, to := LeafBuckets(leaf, 4)
				l, err := n.MakeLeaf(ctx, from, to)
				if err != nil {
					t.Fatal(err)
				}
				got[leaf] = dump(t, l)
				l.Free()
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			if u := pools[i].Used(); u != 0 {
				t.Errorf("node %d: %d bytes are still charged", i, u)
			}
			spilled += pools[i].Spilled()
		}
		equalLeaves(t, got[:], want)
		if spilled == 0 {
			t.Error("nothing was spilled")
		}
	})
	if pool.Used() != 0 {
		t.Errorf("%d bytes are still charged", pool.Used())
	}
}

func equalLeaves(t *testing.T, got, want [][]byte) {
	t.Helper()
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("leaf %d has other bytes (%d, %d)", i, len(got[i]), len(want[i]))
		}
	}
}

func TestGoldenHash(t *testing.T) {
	hi, lo := hash128([]byte("0123456789abcdef01234567"), 42)
	if got, want := fmt.Sprintf("%x %x", hi, lo), goldenHash; got != want {
		t.Errorf("hash %q, want %q: models would change", got, want)
	}
	// Consecutive values are spread over the buckets.
	var counts [16]int
	var b [8]byte
	for i := range 16000 {
		le.PutUint64(b[:], uint64(i))
		hi, lo := hash128(b[:], 0)
		counts[hi>>60]++
		counts[lo>>60]++
	}
	for i, c := range counts {
		if c < 1700 || c > 2300 {
			t.Errorf("bucket %d of 16 has %d of 32000", i, c)
		}
	}
}

func TestLeafCountFollowsTheRows(t *testing.T) {
	for rows, want := range map[int64]int{0: 1, 1: 1, 32768: 1, 32769: 2, 1000000: 32, 1048577: 64, 1 << 40: block.Buckets} {
		if got := Leaves(rows); got != want {
			t.Errorf("Leaves(%d) = %d, want %d", rows, got, want)
		}
	}
}

func TestBadRecordsAreRefused(t *testing.T) {
	layout, _ := NewLayout(testCols)
	s := NewStore(layout, Config{Pool: mem.NewPool("t", 0)})
	defer s.Close()
	for _, b := range [][]byte{{1}, make([]byte, 500), bytes.Repeat([]byte{255}, 4096)} {
		if err := s.Put(b); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if _, err := NewLayout([]Column{{"x", types.RecordT}}); !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Errorf("a record column: %v", err)
	}
}

// BenchmarkDistributeAndMakeLeaves distributes a million rows of 28 float4 columns and a float8
// label into sorted leaves, on all processors.
func BenchmarkDistributeAndMakeLeaves(b *testing.B) {
	const rows, d = 1 << 20, 28
	cols := make([]Column, d+1)
	for i := range d {
		cols[i] = Column{fmt.Sprint("x", i), types.Float4}
	}
	cols[d] = Column{"y", types.Float8}
	r := rand.New(rand.NewPCG(1, 1))
	var batches []*batch.Batch
	for range rows / 8192 {
		arrs := make([]arrow.Array, d+1)
		for i := range d {
			v := make([]float32, 8192)
			for j := range v {
				v[j] = r.Float32()
			}
			arrs[i] = batch.FromSlice(arrow.PrimitiveTypes.Float32, v, nil)
		}
		arrs[d] = batch.FromSlice(arrow.PrimitiveTypes.Float64, make([]float64, 8192), nil)
		batches = append(batches, batch.New(arrs, 8192))
	}
	layout, _ := NewLayout(cols)
	for b.Loop() {
		s := NewStore(layout, Config{Pool: mem.NewPool("b", 0)})
		var wg sync.WaitGroup
		for w := range 2 {
			wg.Go(func() {
				for i := w; i < len(batches); i += 2 {
					if err := s.Add(context.Background(), batches[i]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := s.Finish(); err != nil {
			b.Fatal(err)
		}
		for w := range 2 {
			wg.Go(func() {
				for i := w; i < 32; i += 2 {
					from, to := LeafBuckets(i, 32)
					if _, err := s.MakeLeaf(context.Background(), from, to); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s.Close()
	}
}

// TestLeavesInTheFile: rows in the file use no memory between two readings, and are written only
// once.
func TestLeavesInTheFile(t *testing.T) {
	for _, distinct := range []int{100000, 10} {
		t.Run(fmt.Sprint(distinct), func(t *testing.T) { leavesInTheFile(t, distinct) })
	}
}

func leavesInTheFile(t *testing.T, distinct int) {
	layout, err := NewLayout(oneColumn)
	if err != nil {
		t.Fatal(err)
	}
	pool := mem.NewPool("t", 1<<20)
	s := NewStore(layout, Config{Pool: pool, Temp: t.TempDir(), Seed: 5})
	defer s.Close()
	const rows = 100000
	for from := 0; from < rows; from += 1000 {
		vals := make([]int64, 1000)
		for i := range vals {
			vals[i] = int64((from + i) % distinct)
		}
		if err := s.Add(context.Background(), batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, nil)}, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	common, err := s.Frequent(rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ShareFrequent(common, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	before := s.acct.Used()
	seen := 0
	for range 2 {
		for k := range 64 {
			from, to := LeafBuckets(k, 64)
			l, err := s.MakeLeaf(context.Background(), from, to)
			if err != nil {
				t.Fatal(err)
			}
			v, err := l.Open()
			if err != nil {
				t.Fatal(err)
			}
			seen += v.Rows
			l.Free() // while it is open, as a leaf is after it was encoded
			v.Close()
		}
	}
	if seen != 2*rows || s.acct.Used() > before {
		t.Errorf("%d rows were seen, %d bytes held, %d before", seen, s.acct.Used(), before)
	}
	want := int64(0)
	for _, sh := range s.shards {
		for _, r := range sh.runs {
			want += int64(r.len + block.Buckets*dirEntry)
		}
	}
	if pool.Spilled() != want {
		t.Errorf("%d bytes were written, not %d", pool.Spilled(), want)
	}
}

// TestRowsOnDiskTakeNoMemory: the memory that a store needs for rows that it wrote to disk, charged
// or not, does not grow with their number.
func TestRowsOnDiskTakeNoMemory(t *testing.T) {
	layout, err := NewLayout(oneColumn)
	if err != nil {
		t.Fatal(err)
	}
	pool := mem.NewPool("t", 2<<20)
	s := NewStore(layout, Config{Pool: pool, Temp: t.TempDir(), Seed: 5})
	defer s.Close()
	vals := make([]int64, 10000)
	add := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			for j := range vals {
				vals[j] = int64(i*len(vals) + j)
			}
			if err := s.Add(context.Background(), batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, nil)}, len(vals))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.spill(s.shards...); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := add(0, 10)
	after, runs := add(10, 400), 0
	for _, sh := range s.shards {
		runs += len(sh.runs)
	}
	if kept := int64(after) - int64(before); runs < 50 || kept > int64(runs)*4096 {
		t.Errorf("%d runs take %d bytes", runs, kept)
	}
}
