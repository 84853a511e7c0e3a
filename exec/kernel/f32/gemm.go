package f32

// Blocking of products, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", 2008: a strip of B, as wide as a tile, stays in the first-level cache while the
// rows of a block of A, which stays in the second, are multiplied by it.
const (
	maxRows  = 12 // of tiles
	minWidth = 8
	maxWidth = 32
	blockM   = 8 * maxRows
	blockN   = 256
	blockK   = 256
	rowGap   = 16 // between the rows of a block of A
)

// ScratchBytes is the scratch memory of a product, whatever its size.
const ScratchBytes = 4 * (blockK*blockN + minWidth + blockM*(blockK+rowGap) + blockM*maxWidth)

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

// GemmSteps adds to C, m×n without gaps, the sum of A·Bᵀ over so many steps, whose A, m×k, lie one
// after the other in a, and B, n×k, in b. Each element is one chain of FMAs from what is in C, over
// the steps from the last to the first and in each over k: as Gemm would for one step
// after the other, but C is passed once for many short ones.
func GemmSteps(m, n, k, steps int, a, b, c []float32) {
	if m <= 0 || n <= 0 || k <= 0 || steps <= 0 {
		return
	}
	gemmSteps(m, n, k, steps, a[:steps*m*k], b[:steps*n*k], c[:m*n])
}

// gemmStepsGo is the definition.
func gemmStepsGo(m, n, k, steps int, a, b, c []float32) {
	for s := steps - 1; s >= 0; s-- {
		Gemm(false, true, m, n, k, a[s*m*k:], k, b[s*n*k:], k, c, n, true)
	}
}

// Packed is op(A), m×k, in the order in which products read it, for an A that is used more than
// once.
type Packed struct {
	m, k int
	a    operand
}

// PackedSize returns how many numbers a packed m×k matrix needs.
func PackedSize(m, k int) int { return m*packedRow(k) + packedGap }

// packedRow returns the distance of packed rows: whole registers, and no power of two, by which
// rows would evict each other from the caches.
func packedRow(k int) int { return (k+packedGap-1)/packedGap*packedGap + packedGap }

const packedGap = 8

// Pack packs op(A) to memory of PackedSize, or refers to a if memory is nil. Neither may change
// afterwards.
func Pack(transA bool, m, k int, a []float32, lda int, memory []float32) Packed {
	x, _ := operands(transA, false, a, lda, nil, 0)
	if m > 0 && k > 0 {
		_ = a[(m-1)*x.of+(k-1)*x.k]
		if len(memory) > 0 {
			x = packed(memory, x, m, k)
		}
	}
	return Packed{m, k, x}
}

// Gemm is the function Gemm with a packed A.
func (p Packed) Gemm(transB bool, n int, b []float32, ldb int, c []float32, ldc int, add bool) {
	if p.m <= 0 || n <= 0 || p.k <= 0 {
		Gemm(false, transB, p.m, n, p.k, nil, 0, b, ldb, c, ldc, add)
		return
	}
	_, y := operands(false, transB, nil, 0, b, ldb)
	_, _ = b[(n-1)*y.of+(p.k-1)*y.k], c[(p.m-1)*ldc+n-1]
	gemm(p.a, y, result{c, ldc, 1, add}, p.m, n, p.k)
}

// operand is a factor: the distance of its elements from row to row of A, or from
// column to column of B, and along the chains. One of them is 1. Chains go on with so many steps
// of an A, each that far from the one before, where it has some.
type operand struct {
	x            []float32
	of, k        int
	steps, apart int
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
				s = fma(a.x[i*a.of+l*a.k], b.x[j*b.of+l*b.k], s)
			}
			*at = s
		}
	}
}

// packedNot leaves A where it is.
func packedNot(_ []float32, a operand, _, _ int) operand { return a }
