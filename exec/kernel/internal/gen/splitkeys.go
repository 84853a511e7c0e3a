package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// splitKeys512 is splitKeysGo: keys are put together in registers and stored whole, also
// beyond those that count. ends are the least and the greatest key of each lane.
func splitKeys512() {
	kernel("splitKeysAVX512", "func(a, b *uint64, v *float64, label *uint32, second uint32, n int, ends *[16]uint64) (na int)")
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	v, label, n := Load(Param("v"), GP64()), Load(Param("label"), GP64()), Load(Param("n"), GP64())
	second, zero, top := YMM(), ZMM(), ZMM()
	VPBROADCASTD(Load(Param("second"), GP32()), second)
	VPXORQ(zero, zero, zero)
	least, most := ZMM(), ZMM()
	VPTERNLOGQ(Imm(255), least, least, least)
	VPXORQ(most, most, most)
	bit := GP64()
	MOVQ(U64(1<<63), bit)
	VPBROADCASTQ(bit, top)
	na, none := GP64(), GP64()
	XORQ(na, na)
	MOVQ(a, none)
	Label("loop")
	x, sign, parted := ZMM(), ZMM(), ZMM()
	VADDPD(Mem{Base: v}, zero, x)
	number, is := K(), K()
	VCMPPD(Imm(7), x, x, number) // not NaN
	VPSRAQ(Imm(63), x, sign)
	VPORQ(top, sign, sign)
	VPXORQ_Z(sign, x, number, x)
	VPMINUQ(x, least, least)
	VPMAXUQ(x, most, most)
	VPCMPEQD(Mem{Base: label}, second, is)
	VPCOMPRESSQ_Z(x, is, parted)
	VMOVDQU64(parted, Mem{Base: b})
	seconds, firsts := GP32(), GP64()
	KMOVW(is, seconds)
	ANDL(Imm(255), seconds)
	KNOTW(is, is)
	VPCOMPRESSQ_Z(x, is, parted)
	VMOVDQU64(parted, Mem{Base: a})
	POPCNTL(seconds, seconds)
	LEAQ(Mem{Base: b, Index: seconds.As64(), Scale: 8}, b)
	MOVQ(U32(8), firsts)
	SUBQ(seconds.As64(), firsts)
	LEAQ(Mem{Base: a, Index: firsts, Scale: 8}, a)
	ADDQ(Imm(64), v)
	ADDQ(Imm(32), label)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	ends := Load(Param("ends"), GP64())
	VMOVDQU64(least, Mem{Base: ends})
	VMOVDQU64(most, Mem{Base: ends, Disp: 64})
	SUBQ(none, a)
	SHRQ(Imm(3), a)
	MOVQ(a, na)
	Store(na, ReturnIndex(0))
	avx512.done()
}

// whichOfTwo is whichOfTwoGo.
func whichOfTwo() {
	kernel("whichOfTwoAVX2", "func(out *uint32, v *int64, first, second int64, n int) (others uint64)")
	out, v, n := Load(Param("out"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	first, second, all := YMM(), YMM(), YMM()
	VPBROADCASTQ(NewParamAddr("first", 16), first)
	VPBROADCASTQ(NewParamAddr("second", 24), second)
	VPCMPEQD(all, all, all)
	Label("loop")
	low, high, t := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: v}, low)
	VMOVDQU(Mem{Base: v, Disp: 32}, high)
	VPCMPEQQ(low, first, t)
	VPCMPEQQ(low, second, low)
	VPOR(low, t, t)
	VPAND(t, all, all)
	t2 := YMM()
	VPCMPEQQ(high, first, t2)
	VPCMPEQQ(high, second, high)
	VPOR(high, t2, t2)
	VPAND(t2, all, all)
	VSHUFPS(Imm(0x88), high, low, low)
	VPERMQ(Imm(0xd8), low, low)
	VPSRLD(Imm(31), low, low)
	VMOVDQU(low, Mem{Base: out})
	ADDQ(Imm(64), v)
	ADDQ(Imm(32), out)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	mask := GP32()
	VMOVMSKPD(all, mask)
	XORL(Imm(15), mask)
	Store(mask.As64(), ReturnIndex(0))
	avx2.done()
}

// countTwo is countTwoGo: lanes of sums of 32 bits, and what any label has.
func countTwo() {
	kernel("countTwoAVX2", "func(a, b *uint32, n int, sums *[32]uint32)")
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	var acc [4]reg.VecVirtual
	for i := range acc {
		acc[i] = YMM()
		VPXOR(acc[i], acc[i], acc[i])
	}
	Label("loop")
	x, y, t := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: a}, x)
	VMOVDQU(Mem{Base: b}, y)
	VPADDD(x, acc[0], acc[0])
	VPADDD(y, acc[1], acc[1])
	VPAND(x, y, t)
	VPADDD(t, acc[2], acc[2])
	VPOR(x, y, t)
	VPOR(t, acc[3], acc[3])
	ADDQ(Imm(32), a)
	ADDQ(Imm(32), b)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	sums := Load(Param("sums"), GP64())
	for i := range acc {
		VMOVDQU(acc[i], Mem{Base: sums, Disp: 32 * i})
	}
	avx2.done()
}

// likelier is likelierGo.
func likelier() {
	kernel("likelierAVX2", "func(out *int64, p *float64, first, second int64, n int)")
	out, p, n := Load(Param("out"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	first, second, one := YMM(), YMM(), YMM()
	VBROADCASTSD(NewParamAddr("first", 16), first)
	VBROADCASTSD(NewParamAddr("second", 24), second)
	VMOVUPD(f(1), one)
	Label("loop")
	for h := range 2 {
		v, rest := YMM(), YMM()
		VMOVUPD(Mem{Base: p, Disp: 32 * h}, v)
		VSUBPD(v, one, rest)
		VCMPPD(Imm(1), v, rest, rest) // 1-p < p
		VBLENDVPD(rest, second, first, v)
		VMOVUPD(v, Mem{Base: out, Disp: 32 * h})
	}
	ADDQ(Imm(64), p)
	ADDQ(Imm(64), out)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}
