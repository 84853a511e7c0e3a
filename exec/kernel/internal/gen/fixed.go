package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packFixed: columns of (x-shift)·scale as odd multiples of the last place of
// 1.5. Processors with AVX-512 run it too.
func packFixed(elem int) {
	kernel("packFixed"+elemName(elem)+"AVX2", "func(dst *float64, x *"+elemType(elem)+", shift, scale *float64, d, tiles, stride int)")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	shift, scale := Load(Param("shift"), GP64()), Load(Param("scale"), GP64())
	d, tiles := Load(Param("d"), GP64()), Load(Param("tiles"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	base, odd := YMM(), YMM()
	VMOVUPD(f(1.5), base)
	VMOVUPD(konst(1), odd)
	Label("tiles")
	sp, mp, to, left := GP64(), GP64(), GP64(), GP64()
	MOVQ(shift, sp)
	MOVQ(scale, mp)
	MOVQ(dst, to)
	MOVQ(d, left)
	Label("cols")
	c, m := YMM(), YMM()
	VBROADCASTSD(Mem{Base: sp}, c)
	VBROADCASTSD(Mem{Base: mp}, m)
	for h := range 2 {
		v := YMM()
		avx2.loadElem(elem, Mem{Base: x, Disp: 4 * h * elem}, v)
		VSUBPD(c, v, v)
		VMULPD(m, v, v)
		VADDPD(base, v, v)
		VORPD(odd, v, v)
		VSUBPD(base, v, v)
		VMOVUPD(v, Mem{Base: to, Disp: 32 * h})
	}
	ADDQ(U32(uint32(8*elem)), x)
	ADDQ(Imm(8), sp)
	ADDQ(Imm(8), mp)
	ADDQ(stride, to)
	DECQ(left)
	JNZ(LabelRef("cols"))
	ADDQ(Imm(64), dst)
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	avx2.done()
}

// addFixed: the products of three columns of a with groups of four of b.
func addFixed() {
	kernel("addFixedAVX2", "func(m *int64, mstride int, a, b *float64, stride, rows, groups int)")
	m, mstride := Load(Param("m"), GP64()), Load(Param("mstride"), GP64())
	a0, b0 := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	stride := Load(Param("stride"), GP64()).(reg.GPVirtual)
	groups := Load(Param("groups"), GP64())
	SHLQ(Imm(3), stride)
	SHLQ(Imm(3), mstride)
	// The next three columns are fetched meanwhile, a line for each four rows.
	ahead := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, ahead)
	ADDQ(a0, ahead)
	Label("groups")
	var acc [3][4]reg.VecVirtual
	for i := range acc {
		for k := range acc[i] {
			acc[i][k] = YMM()
			VMOVUPD(f(fixedStart), acc[i][k])
		}
	}
	a, b, b3, left := GP64(), GP64(), GP64(), Load(Param("rows"), GP64())
	MOVQ(a0, a)
	MOVQ(b0, b)
	LEAQ(Mem{Base: b0, Index: stride, Scale: 2}, b3)
	ADDQ(stride, b3)
	Label("rows")
	var av [3]reg.VecVirtual
	for i, at := range []Mem{{Base: a}, {Base: a, Index: stride, Scale: 1}, {Base: a, Index: stride, Scale: 2}} {
		av[i] = YMM()
		VMOVUPD(at, av[i])
	}
	for k, at := range rows(4, b, b3, stride) {
		bv := YMM()
		VMOVUPD(at, bv)
		for i := range av {
			VFMADD231PD(bv, av[i], acc[i][k])
		}
	}
	PREFETCHT0(Mem{Base: ahead})
	ADDQ(Imm(64), ahead)
	ADDQ(Imm(32), a)
	ADDQ(Imm(32), b)
	ADDQ(Imm(32), b3)
	SUBQ(Imm(4), left)
	JNZ(LabelRef("rows"))
	// In one binade the bits of a float64 count its last places.
	mp := GP64()
	MOVQ(m, mp)
	for i := range acc {
		pair := func(x, y reg.VecVirtual) reg.VecVirtual {
			lo := YMM()
			VPUNPCKLQDQ(y, x, lo)
			VPUNPCKHQDQ(y, x, x)
			VPADDQ(x, lo, lo)
			return lo
		}
		p, q := pair(acc[i][0], acc[i][1]), pair(acc[i][2], acc[i][3])
		hi := YMM()
		VPERM2I128(Imm(0x31), q, p, hi)
		VPERM2I128(Imm(0x20), q, p, p)
		VPADDQ(hi, p, p)
		VPSUBQ(konst(4*math.Float64bits(fixedStart)), p, p)
		VPADDQ(Mem{Base: mp}, p, p)
		VMOVDQU(p, Mem{Base: mp})
		if i < 2 {
			ADDQ(mstride, mp)
		}
	}
	ADDQ(Imm(32), m)
	LEAQ(Mem{Base: b0, Index: stride, Scale: 4}, b0)
	DECQ(groups)
	JNZ(LabelRef("groups"))
	avx2.done()
}

// fixAll: factors of v·scale in place, their sum in units of FixedUnit, the
// greatest size, and in bad what is not 0 if a value is not finite.
func fixAll() {
	kernel("fixAllAVX2", "func(v *float64, n int, scale float64, most *[4]float64) (sum, bad int)")
	v, n := Load(Param("v"), GP64()), Load(Param("n"), GP64())
	scale := YMM()
	m, err := Param("scale").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(m.Addr, scale)
	out := Load(Param("most"), GP64())
	base, odd, start, top, sum, wild, zero := YMM(), YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPD(f(1.5), base)
	VMOVUPD(konst(1), odd)
	VMOVUPD(f(fixedStart), start)
	for _, z := range []reg.VecVirtual{top, sum, wild, zero} {
		VXORPD(z, z, z)
	}
	Label("loop")
	for h := range 2 {
		x, t := YMM(), YMM()
		VMOVUPD(Mem{Base: v, Disp: 32 * h}, x)
		VANDPD(konst(1<<63-1), x, t)
		VMAXPD(t, top, top)
		VSUBPD(x, x, t)
		VORPD(t, wild, wild)
		VCMPPD(Imm(4), zero, x, t) // not equal
		VMULPD(scale, x, x)
		VADDPD(base, x, x)
		VORPD(odd, x, x)
		VSUBPD(base, x, x)
		VANDPD(t, x, x)
		VMOVUPD(x, Mem{Base: v, Disp: 32 * h})
		VADDPD(start, x, x)
		VPSUBQ(start, x, x)
		VPADDQ(x, sum, sum)
	}
	ADDQ(Imm(64), v)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VMOVUPD(top, Mem{Base: out})
	hi := XMM()
	VEXTRACTI128(Imm(1), sum, hi)
	VPADDQ(sum.AsX(), hi, hi)
	lo, up := GP64(), GP64()
	VMOVQ(hi, lo)
	VPEXTRQ(Imm(1), hi, up)
	ADDQ(up, lo)
	Store(lo, ReturnIndex(0))
	mask := GP32()
	VCMPPD(Imm(3), wild, wild, wild) // unordered
	VMOVMSKPD(wild, mask)
	bad := GP64()
	MOVL(mask, bad.As32())
	Store(bad, ReturnIndex(1))
	avx2.done()
}

const fixedStart = 96
