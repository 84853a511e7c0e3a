//go:build amd64 && !noasm

package f32

import (
	"sync"
	"unsafe"
)

const (
	// Where a strip of B is used for so few rows it is read where it lies, and so it is
	// where B is one strip and lies as one.
	inPlaceRows = maxRows
	// Where C has so few columns and more rows it is made lying on its side.
	fewColumns = 4
	// A block of A that is used for more columns may be worth copying.
	copyColumns = 64
)

// scratch are the strips of a block of B, a block of A, and tiles that reach
// beyond C's edge.
type scratch struct {
	strips [blockK*blockN + minWidth]float32 // pack writes so many beyond the narrowest
	rows   [blockM * (blockK + rowGap)]float32
	edge   [blockM * maxWidth]float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// gemmBlocks is gemmGo. Chains that a block of k breaks off go on from what is in
// C; that is no rounding.
func gemmBlocks(a, b operand, c result, m, n, k int) {
	if n <= fewColumns && m > n {
		a, b, m, n = b, a, n, m
		c.row, c.col = c.col, c.row
	}
	s := scratches.Get().(*scratch)
	for k0 := 0; k0 < k; k0 += blockK {
		kn := min(blockK, k-k0)
		for j0 := 0; j0 < n; j0 += blockN {
			jn := min(blockN, n-j0)
			s.block(a.from(0, k0), b.from(j0, k0), c.from(0, j0), m, jn, kn)
		}
		c.add = true
	}
	scratches.Put(s)
}

// gemmStepBlocks is gemmStepsGo: as many steps as a block of k holds are one block. A is read
// where it lies, B strip by strip brought to lie along its columns.
func gemmStepBlocks(m, n, k, steps int, a, b, c []float32) {
	per := blockK / k
	if per < 2 || steps < 2 {
		gemmStepsGo(m, n, k, steps, a, b, c)
		return
	}
	s := scratches.Get().(*scratch)
	for to := steps; to > 0; to -= per {
		some := min(per, to)
		last := to - 1
		for j := 0; j < n; {
			t := tileFor(n - j)
			w := min(t.width, n-j)
			packSteps(s.strips[:], t.width, b, (last*n+j)*k, w, k, some, -n*k)
			for i := 0; i < m; i += blockM {
				rows := operand{x: a[(last*m+i)*k:], of: k, k: 1, steps: some, apart: -m * k}
				s.column(t, rows, s.strips[:], t.width, result{c[i*n+j:], n, 1, true}, min(blockM, m-i), w, k)
			}
			j += w
		}
	}
	scratches.Put(s)
}

// packSteps copies n columns of steps of B, k numbers each from b[at] on, to a strip whose rows
// are w apart; each step is apart numbers from the one before.
func packSteps(strip []float32, w int, b []float32, at, n, k, steps, apart int) {
	j := 0
	if k%8 == 0 {
		for ; j+8 <= n; j += 8 {
			packStepsAVX2(&strip[j], 4*w, &b[at+j*k], 4*k, 4*(apart-k), k, steps)
		}
	}
	if j == n {
		return
	}
	for t := range steps {
		pack(strip[t*k*w+j:], w, operand{x: b[at+t*apart+j*k:], of: k, k: 1}, n-j, k)
	}
}

// packedRows brings A's rows to lie along k.
func packedRows(memory []float32, a operand, m, k int) operand {
	if a.k == 1 {
		return a
	}
	ld := packedRow(k)
	for l := 0; l < k; l += packedGap {
		pack(memory[l:], ld, operand{x: a.x[l*a.k:], of: a.k, k: 1}, min(packedGap, k-l), m)
	}
	return operand{x: memory, of: ld, k: 1}
}

func (o operand) from(of, k int) operand {
	o.x = o.x[of*o.of+k*o.k:]
	return o
}

func (c result) from(row, col int) result {
	c.x = c.x[row*c.row+col*c.col:]
	return c
}

// block multiplies by a block of B.
func (s *scratch) block(a, b operand, c result, m, n, k int) {
	if b.of == 1 && (m <= inPlaceRows || b.k == n && n == tileFor(n).width) {
		s.inPlace(a, b, c, m, n, k)
		return
	}
	for j := 0; j < n; {
		w := tileFor(n - j).width
		pack(s.strips[j*k:], w, b.from(j, 0), min(w, n-j), k)
		j += w
	}
	for i := 0; i < m; i += blockM {
		rows, at := min(blockM, m-i), a.from(i, 0)
		if n > copyColumns && at.scattered() {
			at = s.copyRows(at, rows, k)
		}
		s.columns(at, c.from(i, 0), rows, n, k)
	}
}

// columns makes rows of C by the strips.
func (s *scratch) columns(a operand, c result, m, n, k int) {
	for j := 0; j < n; {
		t := tileFor(n - j)
		s.column(t, a, s.strips[j*k:], t.width, c.from(0, j), m, min(t.width, n-j), k)
		j += t.width
	}
}

// inPlace is block where B is read where it lies, but for what is left beside the tiles.
func (s *scratch) inPlace(a, b operand, c result, m, n, k int) {
	for j := 0; j < n; {
		t := tileFor(n - j)
		w, strip, step := t.width, b.x[j:], b.k
		if n-j < w {
			strip, step = s.strips[:], w
			pack(strip, w, b.from(j, 0), n-j, k)
		}
		s.column(t, a, strip, step, c.from(0, j), m, min(w, n-j), k)
		j += w
	}
}

// tileFor returns the widest kind of tiles of which so many columns do not leave a register.
func tileFor(columns int) *tileKind {
	i := 0
	for tiles[i].width >= columns+minWidth && i < len(tiles)-1 {
		i++
	}
	return &tiles[i]
}

// scattered reports whether a block of A is worth copying: its chains do not run
// along rows, or rows are at a distance of a power of two, or nearly, and would
// keep each other out of the caches.
func (o operand) scattered() bool {
	const few = 32 // numbers
	return o.k != 1 || o.of > few && (o.of+few)%256 <= 2*few
}

// copyRows brings a block of A together.
func (s *scratch) copyRows(a operand, m, k int) operand {
	if a.of == 1 {
		for l := range k {
			copy(s.rows[l*blockM:][:m], a.x[l*a.k:])
		}
		return operand{x: s.rows[:], of: 1, k: blockM}
	}
	ld := k + rowGap
	pack(s.rows[:], ld, operand{x: a.x, of: 1, k: a.of}, k, m)
	return operand{x: s.rows[:], of: ld, k: 1}
}

// column makes rows of C as wide as a strip of B whose rows are step apart.
func (s *scratch) column(t *tileKind, a operand, strip []float32, step int, c result, m, n, k int) {
	w := t.width
	if n == w && c.col == 1 {
		t.run(a, strip, step, c.x, c.row, m, k, c.add)
		return
	}
	if c.add {
		for i := range m {
			row := s.edge[i*w:][:n]
			if c.col == 1 {
				copy(row, c.x[i*c.row:])
				continue
			}
			for j := range row {
				row[j] = c.x[i*c.row+j*c.col]
			}
		}
	}
	t.run(a, strip, step, s.edge[:], w, m, k, c.add)
	for i := range m {
		row := s.edge[i*w:][:n]
		if c.col == 1 {
			copy(c.x[i*c.row:], row)
			continue
		}
		for j, v := range row {
			c.x[i*c.row+j*c.col] = v
		}
	}
}

// run makes tiles below each other.
func (t *tileKind) run(a operand, strip []float32, step int, c []float32, ldc, m, k int, add bool) {
	for rows := t.rows; ; {
		if groups := m / rows; groups > 0 {
			t.body[rows](&c[0], 4*ldc, &a.x[0], 4*a.of, 4*a.k, &strip[0], 4*step, k, max(a.steps, 1), 4*(a.apart-k*a.k), groups, add)
			done := groups * rows
			if m -= done; m == 0 {
				return
			}
			c, a.x = c[done*ldc:], a.x[done*a.of:]
		}
		rows = min(m, 6) // of which there is every number
	}
}

// masks let the first n of 16 lanes through, from masks[16-n].
var masks = [32]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// pack copies n columns of B to a strip whose rows are w apart. What is beside them
// there is of no account.
func pack(strip []float32, w int, b operand, n, k int) {
	if b.of == 1 {
		for j := 0; j < n; j += 16 {
			packAVX2(&strip[j], 4*w, &b.x[j], 4*b.k, k, (*[16]int32)(masks[16-min(16, n-j):]))
		}
		return
	}
	for j := 0; j < n; j += 8 {
		var rows [8]*float32
		for i := range rows {
			rows[i] = &b.x[min(j+i, n-1)*b.of]
		}
		if k >= 8 {
			packTransposedAVX2(&strip[j], 4*w, &rows, k)
			continue
		}
		for i, row := range rows {
			for l, v := range unsafe.Slice(row, k) {
				strip[l*w+j+i] = v
			}
		}
	}
}
