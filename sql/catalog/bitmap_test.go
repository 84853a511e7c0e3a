package catalog

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring"
)

// slowly is joined as the library does it.
func slowly(b []byte, rows *roaring.Bitmap) []byte {
	have := roaring.New()
	if len(b) > 0 {
		_ = have.UnmarshalBinary(b)
	}
	have.Or(rows)
	have.RunOptimize()
	out, _ := have.ToBytes()
	return out
}

// TestJoined adds rows one by one and in groups, where they lie apart, follow each other,
// and are so many that containers change their kind, and compares each bitmap's bytes with
// the library's.
func TestJoined(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	fast := 0
	for name, row := range map[string]func(i int) uint32{
		"anywhere":    func(int) uint32 { return rnd.Uint32N(150_000) },
		"one after":   func(i int) uint32 { return uint32(i) },
		"each other":  func(i int) uint32 { return uint32(2*i) % 65536 },
		"to the full": func(i int) uint32 { return uint32(i*40503) & 0xffff },
		"clusters":    func(i int) uint32 { return rnd.Uint32N(300)*1000 + uint32(i%40) },
	} {
		var b []byte
		have := roaring.New()
		for i := range 30_000 {
			rows := roaring.BitmapOf(row(i))
			if i >= 2000 && i < 20_000 && i%3 > 0 { // larger sooner
				rows.Add(row(i + 1))
			}
			out, n, disjoint, err := joined(b, rows)
			if err != nil || disjoint == have.Intersects(rows) {
				t.Fatalf("%s, %d: disjoint %v, %v", name, i, disjoint, err)
			}
			if !disjoint {
				continue
			}
			have.Or(rows)
			if _, _, ok := withRow(b, rows.Minimum()); ok && rows.GetCardinality() == 1 {
				fast++
			}
			if i%17 == 0 || i < 3000 || i%256 < 4 {
				if want := slowly(b, rows); !bytes.Equal(out, want) || n != int64(have.GetCardinality()) {
					t.Fatalf("%s, %d: %d bytes and %d rows, want %d and %d", name, i, len(out), n, len(want), have.GetCardinality())
				}
			}
			b = out
		}
	}
	if fast < 20_000 {
		t.Fatalf("only %d rows were added at once", fast)
	}
}

// TestWithRowOfDamage adds rows to bytes that are no bitmap.
func TestWithRowOfDamage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	have := roaring.New()
	for range 9000 {
		have.Add(rnd.Uint32N(200_000))
	}
	whole, _ := have.ToBytes()
	for range 20_000 {
		b := bytes.Clone(whole)
		for range 1 + rnd.IntN(3) {
			b[rnd.IntN(40)] = byte(rnd.Uint32())
		}
		b = b[:len(b)-rnd.IntN(len(b))*rnd.IntN(2)]
		before := bytes.Clone(b)
		withRow(b, rnd.Uint32N(200_000))
		if !bytes.Equal(b, before) {
			t.Fatal("the old bitmap has changed")
		}
	}
}

// BenchmarkJoined adds a row to what a segment has that took many UPDATEs.
func BenchmarkJoined(b *testing.B) {
	have := roaring.New()
	for i := range uint32(50_000) {
		have.Add(i * 2654435761 % 100_000)
	}
	have.RunOptimize()
	old, _ := have.ToBytes()
	row := uint32(0)
	for have.Contains(row) {
		row++
	}
	rows := roaring.BitmapOf(row)
	b.ReportAllocs()
	for range b.N {
		if _, _, ok, err := joined(old, rows); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
