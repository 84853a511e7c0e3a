package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	first := GLOBL("first", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)))
	}
	heads(first, "int32", false)
	heads(first, "int32", true)
	heads(first, "int64", false)
	heads(first, "int64", true)
	Generate()
}

// heads is findFrom of 16 keys at a time. Numbers are compressed in registers: a compressing
// store takes a step a number.
func heads(first Mem, integer string, selected bool) {
	name, list, doc := "heads"+integer[3:]+"x16", "", "all keys"
	if selected {
		name, list, doc = "selected"+integer[3:]+"x16", "sel *int32, ", "the keys sel"
	}
	TEXT(name, NOSPLIT, "func(rows *int32, heads *uint32, keys *"+integer+", "+list+"n int, lo "+integer+", table *uint32, size u"+integer+", less uint32) int")
	Pragma("noescape")
	Doc(name+" is findFrom of "+doc+", n of them, a multiple of 16 and not 0; it stores 16 rows and",
		"heads for every 16 keys.")
	rows := Load(Param("rows"), GP64())
	heads := Load(Param("heads"), GP64())
	keys := Load(Param("keys"), GP64())
	var sel reg.Register
	if selected {
		sel = Load(Param("sel"), GP64())
	}
	n := Load(Param("n"), GP64())
	table := Load(Param("table"), GP64())
	lo, size, less := ZMM(), ZMM(), ZMM()
	if integer == "int32" {
		VPBROADCASTD(Load(Param("lo"), GP32()), lo)
		VPBROADCASTD(Load(Param("size"), GP32()), size)
	} else {
		VPBROADCASTQ(Load(Param("lo"), GP64()), lo)
		VPBROADCASTQ(Load(Param("size"), GP64()), size)
	}
	VPBROADCASTD(Load(Param("less"), GP32()), less)
	numbers, step := ZMM(), ZMM()
	VMOVDQU32(first, numbers)
	sixteen := GP32()
	MOVL(U32(16), sixteen)
	VPBROADCASTD(sixteen, step)
	k, count := GP64(), GP64()
	XORQ(k, k)
	head, out := ZMM(), ZMM()
	there, every := K(), K()
	if selected {
		KXNORW(every, every, every)
	}

	Label("next")
	if integer == "int32" {
		x := ZMM()
		if selected {
			at, all := ZMM(), K()
			VMOVDQU32(Mem{Base: sel}, at)
			ADDQ(Imm(64), sel)
			VPXORD(x, x, x)
			KMOVW(every, all)
			VPGATHERDD(Mem{Base: keys, Index: at, Scale: 4}, all, x)
		} else {
			VMOVDQU32(Mem{Base: keys}, x)
			ADDQ(Imm(64), keys)
		}
		VPSUBD(lo, x, x)
		VPCMPUD(Imm(1), size, x, there)
		VPXORD(head, head, head)
		VPGATHERDD(Mem{Base: table, Index: x, Scale: 4}, there, head)
	} else {
		halves := [2]reg.VecVirtual{ZMM(), ZMM()}
		for i, x := range halves {
			if selected {
				at, all := YMM(), K()
				VMOVDQU(Mem{Base: sel, Disp: 32 * i}, at)
				VPXORD(x, x, x)
				KMOVW(every, all)
				VPGATHERDQ(Mem{Base: keys, Index: at, Scale: 8}, all, x)
			} else {
				VMOVDQU64(Mem{Base: keys, Disp: 64 * i}, x)
			}
		}
		if selected {
			ADDQ(Imm(64), sel)
		} else {
			ADDQ(U32(128), keys)
		}
		high := YMM()
		for i, x := range halves {
			to := head.AsY()
			if i == 1 {
				to = high
			}
			VPSUBQ(lo, x, x)
			VPCMPUQ(Imm(1), size, x, there)
			VPXOR(to, to, to)
			VPGATHERQD(Mem{Base: table, Index: x, Scale: 4}, there, to)
		}
		VINSERTI64X4(Imm(1), high, head, head)
	}
	VPTESTMD(head, head, there)
	VPSUBD(less, head, head)
	VPCOMPRESSD_Z(numbers, there, out)
	VMOVDQU32(out, Mem{Base: rows, Index: k, Scale: 4})
	VPCOMPRESSD_Z(head, there, out)
	VMOVDQU32(out, Mem{Base: heads, Index: k, Scale: 4})
	VPADDD(step, numbers, numbers)
	KMOVW(there, count.As32())
	POPCNTQ(count, count)
	ADDQ(count, k)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}
