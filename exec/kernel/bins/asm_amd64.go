//go:build amd64 && !noasm

package bins

import "golang.org/x/sys/cpu"

//go:generate go run ./internal/gen -out find_amd64.s -stubs stubs_amd64.go -pkg bins

var (
	eights  = cpu.X86.HasAVX2
	sixteen = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
)

// find is Table.find of as many of the first numbers as it returns.
func find(t *Table, dst []byte, v []float64, s Scale) int {
	switch {
	case sixteen && len(t.edges) <= len(t.levels):
		return findByLevels(t, dst, v, s)
	case eights:
		return findByFirst(t, dst, v, s)
	}
	return 0
}

func findByFirst(t *Table, dst []byte, v []float64, s Scale) int {
	n := len(v) &^ (Block - 1)
	if n > 0 {
		findAVX2(&dst[0], &v[0], n, &t.first[0], &t.edges[0], t.most, s.Center, s.By, s.Middle, s.narrow())
	}
	return n
}

func findByLevels(t *Table, dst []byte, v []float64, s Scale) int {
	n := len(v) &^ (Block - 1)
	if n > 0 {
		findAVX512(&dst[0], &v[0], n, &t.levels, s.Center, s.By, s.Middle, s.narrow())
	}
	return n
}

func (s Scale) narrow() uint64 {
	if s.Narrow {
		return 1
	}
	return 0
}

// count is Counter.add of as many of the first rows as it returns, of the first bins.
func count(c *Counter, bins []byte, most int) int {
	blocks := len(bins) / 256
	if !eights || blocks == 0 {
		return 0
	}
	countAVX2(&c.few[0], &bins[0], blocks, most)
	return 256 * blocks
}
