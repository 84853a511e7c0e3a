package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is how many rows before their turn bins and values are fetched: rows of a
// tree's node lie apart.
const ahead = 12

func main() {
	ConstraintExpr("!noasm")
	TEXT("addRows", NOSPLIT, "func(h *int64, step int, bins *uint8, width int, rows *uint32, n int, vals *int64)")
	Pragma("noescape")
	Doc("addRows is addGo; step is the bytes of a column's histogram, n the number of rows, not 0.")
	h := Load(Param("h"), GP64())
	step := Load(Param("step"), GP64())
	bins := Load(Param("bins"), GP64())
	width := Load(Param("width"), GP64())
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	vals := Load(Param("vals"), GP64())
	row, x, even, odd, left, bin := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	twice := GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 1}, twice)

	Label("next")
	fetch(bins, width, rows, n, vals)
	MOVL(Mem{Base: rows}, row.As32())
	MOVQ(Mem{Base: vals, Index: row, Scale: 8}, x)
	IMULQ(width, row)
	ADDQ(bins, row)
	MOVQ(h, even)
	LEAQ(Mem{Base: h, Index: step, Scale: 1}, odd)
	MOVQ(width, left)
	SUBQ(Imm(4), left)
	JLT(LabelRef("rest"))
	Label("four")
	for c := range 4 {
		at := even
		if c&1 == 1 {
			at = odd
		}
		MOVBLZX(Mem{Base: row, Disp: c}, bin.As32())
		ADDQ(x, Mem{Base: at, Index: bin, Scale: 8})
		ADDQ(twice, at)
	}
	ADDQ(Imm(4), row)
	SUBQ(Imm(4), left)
	JGE(LabelRef("four"))
	Label("rest")
	ADDQ(Imm(4), left)
	JZ(LabelRef("done"))
	Label("one")
	MOVBLZX(Mem{Base: row}, bin.As32())
	ADDQ(x, Mem{Base: even, Index: bin, Scale: 8})
	ADDQ(step, even)
	INCQ(row)
	DECQ(left)
	JNZ(LabelRef("one"))
	Label("done")
	ADDQ(Imm(4), rows)
	DECQ(n)
	JNZ(LabelRef("next"))
	RET()
	addSome()
	part()
	Generate()
}

// fetch fetches what the row needs that comes after some others; the last ones
// fetch their own.
func fetch(bins, width, rows, n, vals reg.Register) {
	far, at := GP64(), GP64()
	MOVQ(U32(ahead), far)
	CMPQ(n, far)
	CMOVQLE(n, far)
	MOVL(Mem{Base: rows, Index: far, Scale: 4, Disp: -4}, at.As32())
	PREFETCHT0(Mem{Base: vals, Index: at, Scale: 8})
	IMULQ(width, at)
	PREFETCHT0(Mem{Base: bins, Index: at, Scale: 1})
	ADDQ(width, at)
	PREFETCHT0(Mem{Base: bins, Index: at, Scale: 1, Disp: -1})
}

func addSome() {
	TEXT("addSomeRows", NOSPLIT, "func(h *int64, at, cols *int32, count int, bins *uint8, width int, rows *uint32, n int, vals *int64)")
	Pragma("noescape")
	Doc("addSomeRows is addSomeGo of count columns and n rows, neither 0.")
	h := Load(Param("h"), GP64())
	place := Load(Param("at"), GP64())
	cols := Load(Param("cols"), GP64())
	count := Load(Param("count"), GP64())
	bins := Load(Param("bins"), GP64())
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	vals := Load(Param("vals"), GP64())
	width := Load(Param("width"), GP64())
	row, x, k, bin, at := GP64(), GP64(), GP64(), GP64(), GP64()

	Label("next")
	fetch(bins, width, rows, n, vals)
	MOVL(Mem{Base: rows}, row.As32())
	MOVQ(Mem{Base: vals, Index: row, Scale: 8}, x)
	IMULQ(width, row)
	ADDQ(bins, row)
	MOVQ(count, k)
	Label("one")
	MOVLQSX(Mem{Base: cols, Index: k, Scale: 4, Disp: -4}, bin)
	MOVLQSX(Mem{Base: place, Index: k, Scale: 4, Disp: -4}, at)
	MOVBLZX(Mem{Base: row, Index: bin, Scale: 1}, bin.As32())
	ADDQ(bin, at)
	ADDQ(x, Mem{Base: h, Index: at, Scale: 8})
	DECQ(k)
	JNZ(LabelRef("one"))
	ADDQ(Imm(4), rows)
	DECQ(n)
	JNZ(LabelRef("next"))
	RET()
}

// part: see partGo. Rows are fetched further ahead than by add, for each is less
// work.
func part() {
	const ahead = 48
	TEXT("partRows", NOSPLIT, "func(rows, other *uint32, n int, col *uint8, width int, goes *[256]uint8) int")
	Pragma("noescape")
	Doc("partRows is partGo of n rows, not 0.")
	rows := Load(Param("rows"), GP64())
	other := Load(Param("other"), GP64())
	n := Load(Param("n"), GP64())
	col := Load(Param("col"), GP64())
	width := Load(Param("width"), GP64())
	goes := Load(Param("goes"), GP64())
	from, left, right, row, at := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(rows, from)
	XORQ(left, left)
	XORQ(right, right)
	Label("next")
	MOVQ(U32(ahead), at)
	CMPQ(n, at)
	CMOVQLE(n, at)
	MOVL(Mem{Base: from, Index: at, Scale: 4, Disp: -4}, at.As32())
	IMULQ(width, at)
	PREFETCHT0(Mem{Base: col, Index: at, Scale: 1})
	MOVL(Mem{Base: from}, row.As32())
	MOVL(row.As32(), Mem{Base: rows, Index: left, Scale: 4})
	MOVL(row.As32(), Mem{Base: other, Index: right, Scale: 4})
	IMULQ(width, row)
	MOVBLZX(Mem{Base: col, Index: row, Scale: 1}, row.As32())
	MOVBLZX(Mem{Base: goes, Index: row, Scale: 1}, row.As32())
	ADDQ(row, left)
	XORQ(Imm(1), row)
	ADDQ(row, right)
	ADDQ(Imm(4), from)
	DECQ(n)
	JNZ(LabelRef("next"))
	Store(left, ReturnIndex(0))
	RET()
}
