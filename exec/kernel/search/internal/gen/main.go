package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// main writes a loop of SSE2, which every amd64 has.
func main() {
	ConstraintExpr("!noasm")
	TEXT("pairBlocks", NOSPLIT, "func(p *byte, blocks int, first, second uint64, gap int) int")
	Pragma("noescape")
	Doc("pairBlocks is nextGo of places in the given number of blocks of 16, not 0; first and second",
		"are repeated eight times. It gives 16·blocks where there is no place.")
	p := Load(Param("p"), GP64())
	blocks := Load(Param("blocks"), GP64())
	first, second := repeated("first"), repeated("second")
	gap := Load(Param("gap"), GP64())
	ADDQ(p, gap)
	at, mask := GP64(), GP64()
	XORQ(at, at)
	a, b := XMM(), XMM()
	Label("next")
	MOVOU(Mem{Base: p, Index: at, Scale: 1}, a)
	MOVOU(Mem{Base: gap, Index: at, Scale: 1}, b)
	PCMPEQB(first, a)
	PCMPEQB(second, b)
	PAND(b, a)
	PMOVMSKB(a, mask.As32())
	TESTL(mask.As32(), mask.As32())
	JNZ(LabelRef("found"))
	ADDQ(Imm(16), at)
	DECQ(blocks)
	JNZ(LabelRef("next"))
	Store(at, ReturnIndex(0))
	RET()
	Label("found")
	BSFL(mask.As32(), mask.As32())
	ADDQ(mask, at)
	Store(at, ReturnIndex(0))
	RET()
	Generate()
}

func repeated(name string) reg.VecVirtual {
	x := XMM()
	MOVQ(Load(Param(name), GP64()), x)
	PUNPCKLQDQ(x, x)
	return x
}
