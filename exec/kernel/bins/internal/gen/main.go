package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	find256()
	find512()
	count()
	Generate()
}

const (
	unordered      = 3
	greaterOrEqual = 0x1d
	toFirst        = 18 // bits of a key that do not count

	// ahead is how many bytes before their turn numbers are fetched: by themselves, too few of them are on their way.
	ahead = 2048
)

// find256 has the numbers in two halves as float64, and as float32 in one register.
func find256() {
	TEXT("findAVX2", NOSPLIT, "func(dst *byte, v *float64, n int, first *byte, edges *float32, most int, center, by, middle float64, narrow uint64)")
	Pragma("noescape")
	Doc("findAVX2 is Table.find of n numbers, a multiple of Block and not 0.")
	dst, v, n := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	first, edges := Load(Param("first"), GP64()), Load(Param("edges"), GP64())
	most, narrow := Load(Param("most"), GP64()), Load(Param("narrow"), GP64())
	center, by, middle := YMM(), YMM(), YMM()
	// Not by way of XMM: what SSE does while the upper parts are in use takes long.
	VBROADCASTSD(NewParamAddr("center", 48), center)
	VBROADCASTSD(NewParamAddr("by", 56), by)
	VBROADCASTSD(NewParamAddr("middle", 64), middle)
	every, zero, sign, low, none := YMM(), YMM(), YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPCMPEQD(every, every, every)
	VPSLLD(Imm(31), every, sign)
	VPSRLD(Imm(24), every, low)
	Label("next")
	x := [2]reg.VecVirtual{YMM(), YMM()}
	strange := [2]reg.VecVirtual{YMM(), YMM()}
	for i, x := range x {
		if i == 0 {
			PREFETCHT0(Mem{Base: v, Disp: ahead})
		}
		VMOVUPD(Mem{Base: v, Disp: 32 * i}, x)
		VSUBPD(x, x, strange[i])
		VCMPPD(Imm(unordered), strange[i], strange[i], strange[i])
		VSUBPD(center, x, x)
		VMULPD(by, x, x)
	}
	VSHUFPS(Imm(0x88), strange[1], strange[0], none) // of the halves' halves
	VPERMQ(Imm(0xd8), none, none)
	TESTQ(narrow, narrow)
	JZ(LabelRef("wide"))
	for _, x := range x {
		VCVTPD2PSY(x, x.AsX())
		VCVTPS2PD(x.AsX(), x)
	}
	Label("wide")
	for _, x := range x {
		VSUBPD(middle, x, x)
		VCVTPD2PSY(x, x.AsX())
	}
	f, key, t := x[0], YMM(), YMM()
	VINSERTF128(Imm(1), x[1].AsX(), f, f)
	VADDPS(zero, f, key)
	VPSRAD(Imm(31), key, t)
	VPOR(sign, t, t)
	VPXOR(t, key, key)
	VPSRLD(Imm(toFirst), key, key)
	at, all := YMM(), YMM()
	VMOVDQA(every, all)
	VPXOR(at, at, at)
	VPGATHERDD(all, Mem{Base: first, Index: key, Scale: 1}, at)
	VPAND(low, at, at)
	left, edge := GP64(), YMM()
	MOVQ(most, left)
	TESTQ(left, left)
	JZ(LabelRef("found"))
	Label("edge")
	VMOVDQA(every, all)
	VXORPS(edge, edge, edge)
	VGATHERDPS(all, Mem{Base: edges, Index: at, Scale: 4}, edge)
	VCMPPS(Imm(greaterOrEqual), edge, f, edge)
	VPSUBD(edge, at, at)
	DECQ(left)
	JNZ(LabelRef("edge"))
	Label("found")
	VPOR(none, at, at)
	VPAND(low, at, at)
	VEXTRACTI128(Imm(1), at, t.AsX())
	VPACKUSDW(t.AsX(), at.AsX(), at.AsX())
	VPACKUSWB(at.AsX(), at.AsX(), at.AsX())
	VMOVQ(at.AsX(), Mem{Base: dst})
	ADDQ(Imm(64), v)
	ADDQ(Imm(8), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// find512 searches a table of 63 edges: a level of it is in a register, or two.
func find512() {
	TEXT("findAVX512", NOSPLIT, "func(dst *byte, v *float64, n int, levels *[64]float32, center, by, middle float64, narrow uint64)")
	Pragma("noescape")
	Doc("findAVX512 is findAVX2 of a table with levels.")
	dst, v, n := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	levels, narrow := Load(Param("levels"), GP64()), Load(Param("narrow"), GP64())
	center, by, middle, root := ZMM(), ZMM(), ZMM(), ZMM()
	VBROADCASTSD(NewParamAddr("center", 32), center)
	VBROADCASTSD(NewParamAddr("by", 40), by)
	VBROADCASTSD(NewParamAddr("middle", 48), middle)
	VBROADCASTSS(Mem{Base: levels, Disp: 4}, root)
	var level [5]reg.VecVirtual
	for l := 1; l < 5; l++ {
		level[l] = ZMM()
		VMOVUPS(Mem{Base: levels, Disp: 4 << l}, level[l])
	}
	last := [2]reg.VecVirtual{ZMM(), ZMM()}
	VMOVUPS(Mem{Base: levels, Disp: 128}, last[0])
	VMOVUPS(Mem{Base: levels, Disp: 192}, last[1])
	one, every := ZMM(), ZMM()
	VPTERNLOGD(Imm(255), every, every, every)
	VPSRLD(Imm(31), every, one)

	Label("next")
	x := [2]reg.VecVirtual{ZMM(), ZMM()}
	none, high := K(), K()
	for i, x := range x {
		t := ZMM()
		PREFETCHT0(Mem{Base: v, Disp: 64*i + ahead})
		VMOVUPD(Mem{Base: v, Disp: 64 * i}, x)
		VSUBPD(x, x, t)
		VCMPPD(Imm(unordered), t, t, []reg.OpmaskVirtual{none, high}[i])
		VSUBPD(center, x, x)
		VMULPD(by, x, x)
	}
	KUNPCKBW(none, high, none)
	TESTQ(narrow, narrow)
	JZ(LabelRef("wide"))
	for _, x := range x {
		VCVTPD2PS(x, x.AsY())
		VCVTPS2PD(x.AsY(), x)
	}
	Label("wide")
	for _, x := range x {
		VSUBPD(middle, x, x)
		VCVTPD2PS(x, x.AsY())
	}
	f, at, edge, above := x[0], ZMM(), ZMM(), K()
	VINSERTF32X8(Imm(1), x[1].AsY(), f, f)
	VCMPPS(Imm(greaterOrEqual), root, f, above)
	VMOVDQA32_Z(one, above, at)
	for l := 1; l <= 5; l++ {
		if l < 5 {
			VPERMPS(level[l], at, edge)
		} else {
			VMOVDQA32(at, edge)
			VPERMI2PS(last[1], last[0], edge)
		}
		VCMPPS(Imm(greaterOrEqual), edge, f, above)
		VPADDD(at, at, at)
		VPADDD(one, at, above, at)
	}
	VPORD(every, at, none, at)
	VPMOVDB(at, Mem{Base: dst})
	ADDQ(U32(128), v)
	ADDQ(Imm(16), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// count counts, bin after bin, in which of 256 rows it is.
func count() {
	TEXT("countAVX2", NOSPLIT, "func(n *[4]uint64, bins *byte, blocks, most int)")
	Pragma("noescape")
	Doc("countAVX2 adds to n how many of 256·blocks rows have each of the first most bins, in parts; neither is 0.")
	n, bins := Load(Param("n"), GP64()), Load(Param("bins"), GP64())
	blocks, most := Load(Param("blocks"), GP64()), Load(Param("most"), GP64())
	bin, one, zero := YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPCMPEQD(one, one, one)
	VPABSB(one, one)
	var rows [8]reg.VecVirtual
	for i := range rows {
		rows[i] = YMM()
	}
	at, left, sum, same := GP64(), GP64(), YMM(), YMM()
	Label("block")
	for i, r := range rows {
		VMOVDQU(Mem{Base: bins, Disp: 32 * i}, r)
	}
	VPXOR(bin, bin, bin)
	MOVQ(n, at)
	MOVQ(most, left)
	Label("bin")
	VPXOR(sum, sum, sum)
	for _, r := range rows {
		VPCMPEQB(bin, r, same)
		VPSUBB(same, sum, sum)
	}
	VPSADBW(zero, sum, sum)
	VPADDQ(Mem{Base: at}, sum, sum)
	VMOVDQU(sum, Mem{Base: at})
	VPADDB(one, bin, bin)
	ADDQ(Imm(32), at)
	DECQ(left)
	JNZ(LabelRef("bin"))
	ADDQ(U32(256), bins)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}
