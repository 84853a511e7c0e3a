package f32

// How products are cut. A strip of B, as wide as a tile, stays in the first cache
// while the rows of a block of A, which stays in the second, pass by it.
const (
	tileRows = 6
	maxWidth = 32 // of tiles
	blockM   = 16 * tileRows
	blockN   = 256
	blockK   = 256
	rowGap   = 16 // between the rows of a block of A
)

// ScratchBytes is what a product takes from a pool meanwhile, whatever its size.
const ScratchBytes = 4 * (blockK*blockN + blockM*(blockK+rowGap) + blockM*maxWidth)

// Gemm sets C, m×n, to op(A)·op(B), or with add adds that to it. op(X) is X or,
// where it says so, its transpose. Matrices are row-major; lda, ldb and ldc are
// the lengths of their rows in memory. Each element is one chain of FMAs over k
// from 0, or from what is in C. C shares no memory with A and B.
//
// It runs on the caller's goroutine and takes ScratchBytes from a pool, which
// callers charge once for each goroutine that multiplies.
func Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, add bool) {
	if m <= 0 || n <= 0 {
		return
	}
	_ = c[(m-1)*ldc+n-1]
	if k <= 0 {
		if !add {
			for i := range m {
				clear(c[i*ldc:][:n])
			}
		}
		return
	}
	x, y := operands(transA, transB, a, lda, b, ldb)
	_, _ = a[(m-1)*x.of+(k-1)*x.k], b[(n-1)*y.of+(k-1)*y.k]
	gemm(x, y, result{c, ldc, 1, add}, m, n, k)
}

// Packed is op(B), k×n, in the order in which products read it. Making one costs
// as much as a product by a few rows: it is for a B that is used again.
type Packed struct {
	n, k int
	b    operand
}

// PackedSize is how many numbers a k×n matrix needs that is packed.
func PackedSize(k, n int) int { return k * ((n + maxWidth - 1) / maxWidth * maxWidth) }

// Pack packs op(B) to memory of PackedSize, or leaves it where it lies if there is
// none. B must stay as it is, and so must the memory.
func Pack(transB bool, k, n int, b []float32, ldb int, memory []float32) Packed {
	_, y := operands(false, transB, nil, 0, b, ldb)
	if k > 0 && n > 0 {
		_ = b[(n-1)*y.of+(k-1)*y.k]
		if len(memory) > 0 {
			y.packed = packed(memory[:PackedSize(k, n)], y, n, k)
		}
	}
	return Packed{n, k, y}
}

// GemmPacked is Gemm by a packed matrix.
func GemmPacked(transA bool, m int, a []float32, lda int, b Packed, c []float32, ldc int, add bool) {
	if m <= 0 || b.n <= 0 || b.k <= 0 {
		Gemm(transA, false, m, b.n, b.k, a, lda, nil, 0, c, ldc, add)
		return
	}
	x, _ := operands(transA, false, a, lda, nil, 0)
	_, _ = a[(m-1)*x.of+(b.k-1)*x.k], c[(m-1)*ldc+b.n-1]
	gemm(x, b.b, result{c, ldc, 1, add}, m, b.n, b.k)
}

// operand is a factor: the distance of its elements from row to row of A, or from
// column to column of B, and along the chains. One of them is 1. packed is the
// whole of B in another order, nil where it is not.
type operand struct {
	x      []float32
	of, k  int
	packed []float32
}

func operands(transA, transB bool, a []float32, lda int, b []float32, ldb int) (x, y operand) {
	x, y = operand{x: a, of: lda, k: 1}, operand{x: b, of: 1, k: ldb}
	if transA {
		x.of, x.k = 1, lda
	}
	if transB {
		y.of, y.k = ldb, 1
	}
	return x, y
}

// result is C: the distance of its elements from row to row and column to column.
// One of them is 1.
type result struct {
	x        []float32
	row, col int
	add      bool
}

// gemmGo is the definition.
func gemmGo(a, b operand, c result, m, n, k int) {
	for i := range m {
		for j := range n {
			at := &c.x[i*c.row+j*c.col]
			var s float32
			if c.add {
				s = *at
			}
			for l := range k {
				s = FMA(a.x[i*a.of+l*a.k], b.x[j*b.of+l*b.k], s)
			}
			*at = s
		}
	}
}

// packedNot leaves B where it is.
func packedNot(_ []float32, _ operand, _, _ int) []float32 { return nil }
