package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

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
	Generate()
}
