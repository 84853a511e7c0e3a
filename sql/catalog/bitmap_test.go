package catalog

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/codec"
)

// TestRowSet adds rows one by one and in groups: far apart, consecutive, and so many that a Roaring
// container changes its kind. The set must equal, to the byte, a bitmap made of all rows at once,
// also where it was encoded and decoded in between, as on a node that restarted.
func TestRowSet(t *testing.T) {
	for _, c := range []struct {
		name string
		seed uint64
		row  func(rnd *rand.Rand, i int) uint32
	}{
		{"anywhere", 1, func(rnd *rand.Rand, _ int) uint32 { return rnd.Uint32N(150_000) }},
		{"one after", 1, func(_ *rand.Rand, i int) uint32 { return uint32(i) }},
		{"each other", 1, func(_ *rand.Rand, i int) uint32 { return uint32(2*i) % 65536 }},
		{"to the full", 1, func(_ *rand.Rand, i int) uint32 { return uint32(i*40503) & 0xffff }},
		{"clusters", 1, func(rnd *rand.Rand, i int) uint32 { return rnd.Uint32N(300)*1000 + uint32(i%40) }},
		{"clusters", 5, func(rnd *rand.Rand, i int) uint32 { return rnd.Uint32N(300)*1000 + uint32(i%40) }}, // 16 bytes more as a union
	} {
		rnd := rand.New(rand.NewPCG(5, c.seed))
		row := func(i int) uint32 { return c.row(rnd, i) }
		name := c.name
		var s, read RowSet
		have := roaring.New()
		for i := range 20_000 {
			rows := roaring.BitmapOf(row(i))
			if i >= 2000 && i < 10_000 && i%3 > 0 { // then more rows at a time
				for k := range rnd.IntN(40) {
					rows.Add(row(i + k + 1))
				}
			}
			again, err := s.Intersects(rows)
			if err != nil || again != have.Intersects(rows) {
				t.Fatalf("%s, %d: intersects %v, %v", name, i, again, err)
			}
			if again {
				if rows.AndNot(have); rows.IsEmpty() {
					continue
				}
			}
			have.Or(rows)
			before := s
			old := before.Portable()
			if s, err = s.with(rows); err != nil {
				t.Fatal(err)
			}
			if read, err = read.with(rows); err != nil {
				t.Fatal(err)
			}
			if i%50 == 0 {
				if read, err = codec.Unmarshal[RowSet](codec.Marshal(read)); err != nil {
					t.Fatal(err)
				}
			}
			if i%61 != 0 && i > 600 && i%256 > 2 {
				continue
			}
			fresh := roaring.BitmapOf(have.ToArray()...)
			fresh.RunOptimize()
			want, _ := fresh.ToBytes()
			if !bytes.Equal(s.Portable(), want) || !bytes.Equal(read.Portable(), want) {
				t.Fatalf("%s, %d: %d bytes, %d where it was read, want %d", name, i, len(s.Portable()), len(read.Portable()), len(want))
			}
			if !bytes.Equal(codec.Marshal(s), codec.Marshal(want)) {
				t.Fatalf("%s, %d: it is not encoded as its bitmap", name, i)
			}
			if !bytes.Equal(before.Portable(), old) {
				t.Fatalf("%s, %d: the set before has changed", name, i)
			}
		}
	}
	if b := codec.Marshal(RowSet{}); !bytes.Equal(b, codec.Marshal([]byte(nil))) {
		t.Fatalf("no rows are % x", b)
	}
}

// TestDamagedRowSet adds rows to bytes that are not a bitmap: the result is an error or a set, and
// the given bytes are not modified.
func TestDamagedRowSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	have := roaring.New()
	for range 9000 {
		have.Add(rnd.Uint32N(200_000))
	}
	whole, _ := have.ToBytes()
	if _, err := RowSetOf(whole[:20]).Intersects(roaring.BitmapOf(1)); err == nil {
		t.Fatal("a bitmap that was cut off is taken")
	}
	for range 2000 {
		b := bytes.Clone(whole)
		b = b[:rnd.IntN(len(b))]
		before := bytes.Clone(b)
		if _, err := RowSetOf(b).with(roaring.BitmapOf(1, 2, 300_000)); err == nil {
			_, _ = RowSetOf(b).Intersects(roaring.BitmapOf(rnd.Uint32N(200_000)))
		}
		if !bytes.Equal(b, before) {
			t.Fatal("the old bitmap has changed")
		}
	}
}

// BenchmarkRowSet adds rows to the deleted rows of a segment that many UPDATEs have changed.
func BenchmarkRowSet(b *testing.B) {
	have := roaring.New()
	for i := range uint32(500_000) {
		have.Add(i * 2654435761 % 1_000_000)
	}
	have.RunOptimize()
	old, _ := have.ToBytes()
	s, next := RowSetOf(old), uint32(0)
	b.ReportAllocs()
	for range b.N {
		for next++; have.Contains(next % 1_000_000); next++ {
		}
		rows := roaring.BitmapOf(next % 1_000_000)
		if again, err := s.Intersects(rows); err != nil || again {
			s = RowSetOf(old)
		}
		var err error
		if s, err = s.with(rows); err != nil {
			b.Fatal(err)
		}
	}
}
