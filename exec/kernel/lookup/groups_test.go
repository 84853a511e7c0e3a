package lookup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// groupsOf returns n groups of rows of so many words, of which rows that differ in each word alone are, in
// a table of so many slots.
func groupsOf(r *rand.Rand, n, width, slots int) (t Groups, hash func(row []uint64) uint64) {
	t = Groups{Slots: make([]uint32, slots), Width: width}
	hash = func(row []uint64) uint64 {
		h := uint64(7)
		for _, w := range row {
			h = (h ^ w) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		return h
	}
	row := make([]uint64, width)
	for g := range n {
		row[g%width]++
		row[r.IntN(width)] ^= r.Uint64() << 40
		t.Words = append(t.Words, row...)
		at := hash(row) & uint64(slots-1)
		for t.Slots[at] != 0 {
			at = (at + 1) & uint64(slots-1)
		}
		t.Slots[at] = uint32(g + 1)
	}
	return t, hash
}

// TestFirst finds the rows that a look at one slot each finds, of one to five words, with few groups and
// many, many rows at once and one by one.
func TestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		width, n := 1+round%5, 1+r.IntN(40)
		table, hash := groupsOf(r, n, width, 64<<r.IntN(2))
		var rows, hashes []uint64
		for range r.IntN(100) {
			g := r.IntN(n)
			row := slices.Clone(table.Words[g*width:][:width])
			if r.IntN(3) == 0 {
				row[r.IntN(width)] ^= 1 << r.IntN(64)
			}
			rows, hashes = append(rows, row...), append(hashes, hash(row))
			if r.IntN(4) == 0 { // as where hashes are alike
				hashes[len(hashes)-1] = r.Uint64()
			}
		}
		var want []int32
		found := map[int32]uint32{}
		for i, h := range hashes {
			s := table.Slots[h&uint64(len(table.Slots)-1)]
			if s == 0 || !slices.Equal(rows[i*width:][:width], table.Words[int(s-1)*width:][:width]) {
				want = append(want, int32(i))
			} else {
				found[int32(i)] = s - 1
			}
		}
		groups, misses := make([]uint32, len(hashes)), make([]int32, len(hashes)+Slack)
		see := func(how string, got []int32) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Fatalf("%s, of %d words: misses %v, not %v", how, width, got, want)
			}
			for i, g := range found {
				if groups[i] != g {
					t.Fatalf("%s, of %d words: row %d is of group %d, not %d", how, width, i, groups[i], g)
				}
			}
			for _, g := range groups {
				if int(g) >= n {
					t.Fatalf("%s: there is no group %d", how, g)
				}
			}
		}
		see("at once", table.First(rows, hashes, groups, misses))
		clear(groups)
		see("one by one", misses[:firstFrom(0, 0, table, rows, hashes, groups, misses, false)])
		var known []uint32
		for i := range hashes {
			if g, ok := found[int32(i)]; ok {
				known = append(known, g)
			}
		}
		see = func(how string, got []int32) {
			t.Helper()
			if !slices.Equal(got, want) || !slices.Equal(groups[:len(known)], known) {
				t.Fatalf("%s, of %d words: misses %v, not %v, groups %v, not %v", how, width, got, want, groups, known)
			}
		}
		clear(groups)
		see("known at once", table.Known(rows, hashes, groups, misses))
		clear(groups)
		see("known one by one", misses[:firstFrom(0, 0, table, rows, hashes, groups, misses, true)])
	}
}

func BenchmarkFirst(b *testing.B) {
	const n = 8192
	for _, width := range []int{1, 2, 3} {
		for _, size := range []int{1 << 10, 1 << 16, 1 << 20} {
			r := rand.New(rand.NewPCG(1, 2))
			table, hash := groupsOf(r, size, width, 4*size)
			rows, hashes := make([]uint64, 0, 64*n*width), make([]uint64, 0, 64*n)
			for range 64 * n {
				g := r.IntN(size)
				row := slices.Clone(table.Words[g*width:][:width])
				if r.IntN(5) == 0 {
					row[0] ^= 1 << 63
				}
				rows, hashes = append(rows, row...), append(hashes, hash(row))
			}
			groups, misses := make([]uint32, n), make([]int32, n+Slack)
			at := func(i int) ([]uint64, []uint64) {
				i = i % 64 * n
				return rows[i*width : (i+n)*width], hashes[i : i+n]
			}
			b.Run(fmt.Sprintf("%d/%d", width, size), func(b *testing.B) {
				for i := range b.N {
					rows, hashes := at(i)
					table.First(rows, hashes, groups, misses)
				}
			})
			b.Run(fmt.Sprintf("Go%d/%d", width, size), func(b *testing.B) {
				for i := range b.N {
					rows, hashes := at(i)
					firstFrom(0, 0, table, rows, hashes, groups, misses, false)
				}
			})
		}
	}
}
