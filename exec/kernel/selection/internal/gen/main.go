package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	mask("mask32x16", "int32")
	mask("mask64x16", "int64")
	for _, integer := range []string{"int32", "int64"} {
		pairs("less", integer, 1)
		pairs("equal", integer, 0)
	}
	entries()
	rows()
	Generate()
}

// mask is maskFrom of 16 rows at a time.
func mask(name, integer string) {
	TEXT(name, NOSPLIT, "func(m *uint16, v *"+integer+", n int, lo "+integer+", width u"+integer+", flip, fresh int) int")
	Pragma("noescape")
	Doc(name+" is maskFrom of n rows, a multiple of 16 and not 0; flip is -1 for the rows outside",
		"of the range, fresh -1 where m holds nothing yet; else they are 0.")
	m := Load(Param("m"), GP64())
	v := Load(Param("v"), GP64())
	n := Load(Param("n"), GP64())
	lo, width := ZMM(), ZMM()
	if integer == "int32" {
		VPBROADCASTD(Load(Param("lo"), GP32()), lo)
		VPBROADCASTD(Load(Param("width"), GP32()), width)
	} else {
		VPBROADCASTQ(Load(Param("lo"), GP64()), lo)
		VPBROADCASTQ(Load(Param("width"), GP64()), width)
	}
	outside, fresh, k := begin()
	x, passed := ZMM(), K()

	Label("next")
	if integer == "int32" {
		VMOVDQU32(Mem{Base: v}, x)
		VPSUBD(lo, x, x)
		VPCMPUD(Imm(2), width, x, passed)
		ADDQ(Imm(64), v)
	} else {
		y, high := ZMM(), K()
		VMOVDQU64(Mem{Base: v}, x)
		VMOVDQU64(Mem{Base: v, Disp: 64}, y)
		VPSUBQ(lo, x, x)
		VPSUBQ(lo, y, y)
		VPCMPUQ(Imm(2), width, x, passed)
		VPCMPUQ(Imm(2), width, y, high)
		KUNPCKBW(passed, high, passed)
		ADDQ(U32(128), v)
	}
	end(passed, outside, m, fresh, k, n)
}

// pairs is lessFrom or equalFrom of 16 rows at a time, as predicate says.
func pairs(name, integer string, predicate uint8) {
	TEXT(name+integer[3:]+"x16", NOSPLIT, "func(m *uint16, a, b *"+integer+", n int, flip, fresh int) int")
	Pragma("noescape")
	Doc(name + integer[3:] + "x16 is " + name + "From of n rows; n, flip and fresh are as mask32x16 has them.")
	m := Load(Param("m"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	outside, fresh, k := begin()
	x, passed := ZMM(), K()

	Label("next")
	if integer == "int32" {
		VMOVDQU32(Mem{Base: a}, x)
		VPCMPD(Imm(uint64(predicate)), Mem{Base: b}, x, passed)
		ADDQ(Imm(64), a)
		ADDQ(Imm(64), b)
	} else {
		y, high := ZMM(), K()
		VMOVDQU64(Mem{Base: a}, x)
		VMOVDQU64(Mem{Base: a, Disp: 64}, y)
		VPCMPQ(Imm(uint64(predicate)), Mem{Base: b}, x, passed)
		VPCMPQ(Imm(uint64(predicate)), Mem{Base: b, Disp: 64}, y, high)
		KUNPCKBW(passed, high, passed)
		ADDQ(U32(128), a)
		ADDQ(U32(128), b)
	}
	end(passed, outside, m, fresh, k, n)
}

// entries is entriesFrom of 16 rows at a time: a permutation of two registers finds
// the flags.
func entries() {
	TEXT("entriesx16", NOSPLIT, "func(m *uint16, v *int32, n int, flags *int32, fresh int) int")
	Pragma("noescape")
	Doc("entriesx16 is entriesFrom of n rows, as mask32x16 has them and fresh.")
	m := Load(Param("m"), GP64())
	v := Load(Param("v"), GP64())
	n := Load(Param("n"), GP64())
	flags := Load(Param("flags"), GP64())
	fresh := GP64()
	Load(Param("fresh"), fresh)
	low, high, x := ZMM(), ZMM(), ZMM()
	VMOVDQU32(Mem{Base: flags}, low)
	VMOVDQU32(Mem{Base: flags, Disp: 64}, high)
	k := GP64()
	XORQ(k, k)
	outside, passed := K(), K()
	KXORW(outside, outside, outside)

	Label("next")
	VMOVDQU32(Mem{Base: v}, x)
	ADDQ(Imm(64), v)
	VPERMI2D(high, low, x)
	VPTESTMD(x, x, passed)
	end(passed, outside, m, fresh, k, n)
}

// begin loads what all masks have, and counts from 0.
func begin() (outside, fresh, k reg.Register) {
	flip, f, count := GP64(), GP64(), GP64()
	Load(Param("flip"), flip)
	outside = K()
	KMOVW(flip.As32(), outside)
	Load(Param("fresh"), f)
	XORQ(count, count)
	return outside, f, count
}

// end stores a word and goes on to the next 16 of n rows, or returns the count.
func end(passed, outside, m, fresh, k, n reg.Register) {
	put(passed, outside, m, fresh, k)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}

// put is put, and goes on to the next word.
func put(passed, outside, m, fresh, k reg.Register) {
	word, had := GP64(), GP64()
	KXORW(outside, passed, passed)
	KMOVW(passed, word.As32())
	MOVWLZX(Mem{Base: m}, had.As32())
	ORQ(fresh, had)
	ANDQ(had, word)
	MOVW(word.As16(), Mem{Base: m})
	ADDQ(Imm(2), m)
	POPCNTQ(word, word)
	ADDQ(word, k)
}

// rows is rowsGo. Numbers are compressed in a register: a compressing store takes
// a step a number.
func rows() {
	first := GLOBL("first", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)))
	}
	TEXT("rowsx16", NOSPLIT, "func(m *uint16, n int, out *int32) int")
	Pragma("noescape")
	Doc("rowsx16 is rowsGo of n words, not 0; it stores 16 numbers a word.")
	m := Load(Param("m"), GP64())
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	numbers, step, passed := ZMM(), ZMM(), ZMM()
	VMOVDQU32(first, numbers)
	sixteen := GP32()
	MOVL(U32(16), sixteen)
	VPBROADCASTD(sixteen, step)
	k, word, mask := GP64(), GP64(), K()
	XORQ(k, k)

	Label("next")
	MOVWLZX(Mem{Base: m}, word.As32())
	ADDQ(Imm(2), m)
	KMOVW(word.As32(), mask)
	VPCOMPRESSD_Z(numbers, mask, passed)
	VMOVDQU32(passed, Mem{Base: out, Index: k, Scale: 4})
	VPADDD(step, numbers, numbers)
	POPCNTQ(word, word)
	ADDQ(word, k)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}
