package source

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// A matrix is random numbers, or a view of another matrix: its shape, and which cell of the other
// one each of its own is. Only the cells that are read are computed, so of
//
//	slice(transpose(reshape(random_matrix(100000, 10000), 10000, 100000)), ':10', ':1000')
//
// ten thousand of a billion. Rows and columns count from 0 and cells are in row-major order, as in
// NumPy.
type matrix struct {
	rows, cols int64
	base       *randomMatrix
	// cell is where cell (i, j) lies in base.
	cell func(i, j int64) (int64, int64)
	// across is true where going along a row goes along a column of base.
	across bool
	whole  bool // base itself
}

// matrixArg is the argument of a view that is a matrix itself.
const matrixArg = "matrix"

// Bounds of shapes: columns of random numbers are streams of their own, which are numbered by 32
// bits.
const (
	maxMatrixCols  = 1<<32 - 1
	maxMatrixCells = 1 << 62
)

// newMatrix makes the table of a matrix's rows, as columns x0 ….
func newMatrix(_ *Sources, a *args) (table, error) {
	m := readMatrix(a)
	if a.err != nil {
		return nil, a.err
	}
	most := int64(maxFileColumns)
	if a.fn == "random_matrix" {
		most = maxColumns // its rows may be stored
	}
	if m.cols < 1 || m.cols > most {
		return nil, pgerr.New(pgerr.TooManyColumns, "the matrix that %s gives has %d columns", a.fn, m.cols).
			WithHint("A query reads from 1 to %d. Take a part: slice(%s(…), ':', ':%d').", most, a.fn, min(max(m.cols, 1), 1000))
	}
	t := m.base.t
	g := &generator{cols: featureColumns(int(m.cols), t), n: m.rows}
	if a.fn != "random_matrix" {
		// A block of a wide matrix would be gigabytes.
		g.unit = max(1, min(block, block*16/m.cols))
	}
	g.make = func(_, from int64, n int, want []bool) []arrow.Array {
		cells := m.read(from, n, want)
		out := make([]arrow.Array, len(cells))
		for j, c := range cells {
			if c != nil {
				out[j] = floats(t, c)
			}
		}
		return out
	}
	return g, nil
}

// readMatrix reads the arguments of a function of matrices. The error is in a.
func readMatrix(a *args) *matrix {
	switch a.fn {
	case "random_matrix":
		if !a.names("rows", "cols", "seed", "distribution", "dtype") {
			return nil
		}
		b := &randomMatrix{seed: a.seed("seed"), t: a.dtype(), normal: a.choice("distribution", "uniform", "uniform", "normal") == "normal"}
		m := &matrix{rows: a.int("rows", 1000, 0, maxRows), cols: a.int("cols", 10, 1, maxMatrixCols), base: b, whole: true}
		if a.err == nil && tooLarge(m.rows, m.cols) {
			a.bad("cols", "makes more than 2^62 cells")
		}
		m.cell = func(i, j int64) (int64, int64) { return i, j }
		return m
	case "transpose":
		if !a.names(matrixArg) {
			return nil
		}
		if m := a.matrix(); m != nil {
			return &matrix{rows: m.cols, cols: m.rows, base: m.base, across: !m.across, cell: func(i, j int64) (int64, int64) { return m.cell(j, i) }}
		}
	case "reshape":
		return reshape(a)
	case "slice":
		return slice(a)
	}
	return nil
}

func tooLarge(rows, cols int64) bool {
	hi, lo := bits.Mul64(uint64(rows), uint64(cols))
	return hi != 0 || lo > maxMatrixCells
}

// matrix reads the argument that is a matrix. Other relations have no order of rows.
func (a *args) matrix() *matrix {
	for _, p := range a.list {
		if p.Name != matrixArg || p.Call == "" {
			continue
		}
		switch p.Call {
		case "random_matrix", "reshape", "transpose", "slice":
			in := &args{fn: p.Call, list: p.Args}
			m := readMatrix(in)
			a.err = in.err
			return m
		}
		a.err = pgerr.Unsupported("%s of %s is not supported", a.fn, p.Call).
			WithHint("A matrix is random_matrix(…), or reshape(…), transpose(…) or slice(…) of one.")
		return nil
	}
	a.bad(matrixArg, "must be random_matrix(…), or reshape(…), transpose(…) or slice(…) of one")
	return nil
}

// reshape has the same cells in the given number of rows and columns, one of which may be -1 to be
// inferred.
func reshape(a *args) *matrix {
	if !a.names(matrixArg, "rows", "cols") {
		return nil
	}
	m := a.matrix()
	if m == nil {
		return nil
	}
	rows, cols := a.int("rows", -1, -1, maxMatrixCells), a.int("cols", -1, -1, maxMatrixCells)
	cells := m.rows * m.cols
	switch {
	case a.err != nil:
		return nil
	case rows < 0 && cols < 0:
		a.bad("rows", "or cols must be given")
		return nil
	case rows < 0 && cols > 0:
		rows = cells / cols
	case cols < 0 && rows > 0:
		cols = cells / rows
	}
	if tooLarge(max(rows, 0), max(cols, 0)) || rows*cols != cells || cells == 0 {
		a.err = pgerr.New(pgerr.InvalidParameterValue, "cannot reshape a matrix of %d rows and %d columns into %d rows and %d columns", m.rows, m.cols, rows, cols)
		return nil
	}
	return &matrix{rows: rows, cols: cols, base: m.base, across: m.across, cell: func(i, j int64) (int64, int64) {
		at := i*cols + j
		return m.cell(at/m.cols, at%m.cols)
	}}
}

// slice is the rows and columns that ranges in Python's notation pick.
func slice(a *args) *matrix {
	if !a.names(matrixArg, "rows", "cols") {
		return nil
	}
	m := a.matrix()
	if m == nil {
		return nil
	}
	i0, di, rows := a.places("rows", m.rows)
	j0, dj, cols := a.places("cols", m.cols)
	if a.err != nil {
		return nil
	}
	return &matrix{rows: rows, cols: cols, base: m.base, across: m.across, cell: func(i, j int64) (int64, int64) { return m.cell(i0+i*di, j0+j*dj) }}
}

// places reads a range start:stop:step of n places, each part of which may be left
// out, as in Python: where it begins, its step and how many places it has.
func (a *args) places(name string, n int64) (from, step, count int64) {
	text, given := a.get(name)
	if !given {
		return 0, 1, n
	}
	s, ok := text.(string)
	parts := strings.Split(s, ":")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		a.bad(name, "must be a range start:stop or start:stop:step, such as ':10'")
		return 0, 1, 0
	}
	step = 1
	bounds := [2]*int64{}
	for i, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		v, err := strconv.ParseInt(p, 10, 64)
		switch {
		case err != nil || i == 2 && v == 0:
			a.bad(name, "is no range: %q", s)
			return 0, 1, 0
		case i == 2:
			step = v
		default:
			bounds[i] = &v
		}
	}
	// The default ends of a range, which it cannot pass either: going down it stops before row 0,
	// which is at -1.
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	end := func(b *int64, def int64) int64 {
		if b == nil {
			return def
		}
		if *b < 0 {
			return max(lo, *b+n)
		}
		return min(hi, *b)
	}
	if step > 0 {
		from = end(bounds[0], lo)
		count = max(0, end(bounds[1], hi)-from+step-1) / step
	} else {
		from = end(bounds[0], hi)
		count = max(0, from-end(bounds[1], lo)-step-1) / -step
	}
	return from, step, count
}

// read returns rows [from, from+n) of the wanted columns.
func (m *matrix) read(from int64, n int, want []bool) [][]float64 {
	out := make([][]float64, len(want))
	for j, w := range want {
		switch {
		case w && m.whole:
			out[j] = m.base.column(int64(j), from/block, n)
		case w:
			out[j] = make([]float64, n)
		}
	}
	if m.whole {
		return out
	}
	r := matrixReader{m: m.base}
	if !m.across {
		for j, col := range out {
			for i := range col {
				col[i] = r.at(m.cell(from+int64(i), int64(j)))
			}
		}
		return out
	}
	for i := range n {
		for j, col := range out {
			if col != nil {
				col[i] = r.at(m.cell(from+int64(i), int64(j)))
			}
		}
	}
	return out
}

// randomMatrix is independent random numbers: a column's block of rows is a stream.
type randomMatrix struct {
	seed   uint64
	t      types.Type
	normal bool
}

// column returns the first n numbers of a column's block.
func (m *randomMatrix) column(col, b int64, n int) []float64 {
	if m.normal {
		return normals(m.seed, uint64(col), b, n)
	}
	s := newStream(m.seed, uint64(col), uint64(b))
	out := make([]float64, n)
	for i := range out {
		out[i] = s.uniform()
	}
	return out
}

// matrixReader reads cells, next to each other mostly. Uniform numbers are found by
// counting; normal ones need those of their block before them, and the last few
// blocks are kept.
type matrixReader struct {
	m      *randomMatrix
	col, b int64
	s      *stream
	blocks map[[2]int64][]float64
	vals   []float64
}

// mostBlocks bounds what a reader keeps to 2 MiB.
const mostBlocks = 32

func (r *matrixReader) at(row, col int64) float64 {
	b, i := row/block, row%block
	if r.s == nil || r.col != col || r.b != b {
		r.col, r.b, r.s = col, b, newStream(r.m.seed, uint64(col), uint64(b))
		if r.m.normal {
			r.vals = r.normals(b, col)
		}
	}
	if r.m.normal {
		return r.vals[i]
	}
	r.s.n = uint64(i)
	return r.s.uniform()
}

func (r *matrixReader) normals(b, col int64) []float64 {
	at := [2]int64{col, b}
	if v := r.blocks[at]; v != nil {
		return v
	}
	if r.blocks == nil || len(r.blocks) == mostBlocks {
		r.blocks = map[[2]int64][]float64{}
	}
	v := r.m.column(col, b, block)
	r.blocks[at] = v
	return v
}
