package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	ConstraintExpr("!noasm")
	changes("changes32", "uint32")
	changes("changes64", "uint64")
	Generate()
}

// changes hashes eight numbers, gathers their registers and keeps the hashes that a comparison finds
// to be greater. Hashes are compressed in a register: a compressing store takes a step a number.
func changes(name, integer string) {
	TEXT(name, NOSPLIT, "func(reg *uint64, vals *"+integer+", valid *byte, n int, maybe *uint64) int")
	Pragma("noescape")
	Doc(name+" writes the hashes of n numbers, a multiple of 8 and not 0, which may change a register,",
		"and returns how many they are. valid, unless it is nil, has a bit for each that counts. maybe has room for n.")
	reg := Load(Param("reg"), GP64())
	vals := Load(Param("vals"), GP64())
	valid := Load(Param("valid"), GP64())
	n := Load(Param("n"), GP64())
	maybe := Load(Param("maybe"), GP64())
	factor, low := ZMM(), ZMM()
	c := GP64()
	MOVQ(U64(0xd6e8feb86659fd93), c)
	VPBROADCASTQ(c, factor)
	MOVQ(U64(1<<9), c)
	VPBROADCASTQ(c, low)
	k, word, zero := GP64(), GP64(), GP64()
	XORQ(k, k)
	XORQ(zero, zero)
	every, all, new := K(), K(), K()
	KXNORW(every, every, every)
	h, t, at := ZMM(), ZMM(), ZMM()

	Label("next")
	if integer == "uint32" {
		VPMOVZXDQ(Mem{Base: vals}, h)
		ADDQ(Imm(32), vals)
	} else {
		VMOVDQU64(Mem{Base: vals}, h)
		ADDQ(Imm(64), vals)
		VPSRLQ(Imm(32), h, t)
		VPXORQ(t, h, h)
	}
	for range 2 {
		VPMULLQ(factor, h, h)
		VPSRLQ(Imm(32), h, t)
		VPXORQ(t, h, h)
	}
	// Add compares x <= ^reg, here reg <= ^x.
	VPSRLQ(Imm(54), h, at)
	VPSLLQ(Imm(10), h, t)
	VPORQ(low, t, t)
	VPTERNLOGQ(Imm(0x55), t, t, t) // not
	KMOVW(every, all)
	got := ZMM()
	VPXORQ(got, got, got)
	VPGATHERQQ(Mem{Base: reg, Index: at, Scale: 8}, all, got)
	VPCMPUQ(Imm(2), t, got, new)
	KMOVB(new, word.As32())
	TESTQ(valid, valid)
	JZ(LabelRef("some"))
	MOVBLZX(Mem{Base: valid}, zero.As32())
	INCQ(valid)
	ANDQ(zero, word)
	KMOVB(word.As32(), new)
	Label("some")
	TESTQ(word, word)
	JZ(LabelRef("skip"))
	VPCOMPRESSQ_Z(h, new, t)
	VMOVDQU64(t, Mem{Base: maybe, Index: k, Scale: 8})
	POPCNTQ(word, word)
	ADDQ(word, k)
	Label("skip")
	SUBQ(Imm(8), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}
