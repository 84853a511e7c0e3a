package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packFixed: columns of (x-shift)·scale as odd multiples of the last place of
// 1.5, of two tiles at a time. A product with a power of two is not rounded, so that it
// may be added in the same step.
func packFixed(s isa, elem int) {
	kernel("packFixed"+elemName(elem)+s.suffix, "func(dst *float64, x *"+elemType(elem)+", shift, scale *float64, d, tiles, stride int)")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual)
	shift, scale := Load(Param("shift"), GP64()), Load(Param("scale"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	tile := tileStride(d, elem)
	base, odd := s.vec(), s.vec()
	VMOVUPD(f(1.5), base)
	VMOVUPD(konst(1), odd)
	sp, mp, to, left := GP64(), GP64(), GP64(), GP64()
	pack := func(n int, name string) {
		MOVQ(shift, sp)
		MOVQ(scale, mp)
		MOVQ(dst, to)
		MOVQ(d, left)
		Label(name)
		c, m := s.vec(), s.vec()
		VBROADCASTSD(Mem{Base: sp}, c)
		VBROADCASTSD(Mem{Base: mp}, m)
		for t := range n {
			for h := range s.parts {
				from := Mem{Base: x, Disp: 4 * h * elem}
				if t > 0 {
					from.Index, from.Scale = tile, 1
				}
				v := s.vec()
				s.loadElem(elem, from, v)
				VSUBPD(c, v, v)
				VFMADD213PD(base, m, v)
				VORPD(odd, v, v)
				VSUBPD(base, v, v)
				VMOVUPD(v, Mem{Base: to, Disp: 64*t + 32*h})
			}
		}
		ADDQ(U32(uint32(8*elem)), x)
		ADDQ(Imm(8), sp)
		ADDQ(Imm(8), mp)
		ADDQ(stride, to)
		DECQ(left)
		JNZ(LabelRef(name))
	}
	SUBQ(Imm(2), tiles)
	JLT(LabelRef("last"))
	Label("pairs")
	pack(2, "cols")
	ADDQ(tile, x)
	ADDQ(U32(128), dst)
	SUBQ(Imm(2), tiles)
	JGE(LabelRef("pairs"))
	Label("last")
	CMPQ(tiles, I8(-2))
	JEQ(LabelRef("end"))
	pack(1, "cols_1")
	Label("end")
	s.done()
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

// addFixed512: those of three columns of a with eight or six of b, of rows that are a
// multiple of eight.
func addFixed512(name string, cols int) {
	kernel(name, "func(m *int64, mstride int, a, b *float64, stride, rows int)")
	m, mstride := Load(Param("m"), GP64()), Load(Param("mstride"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	stride := Load(Param("stride"), GP64()).(reg.GPVirtual)
	left := Load(Param("rows"), GP64())
	SHLQ(Imm(3), stride)
	SHLQ(Imm(3), mstride)
	ahead, b3, b6 := GP64(), GP64(), GP64() // the next three columns are fetched meanwhile
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, b3)
	LEAQ(Mem{Base: a, Index: b3, Scale: 1}, ahead)
	if cols > 6 {
		LEAQ(Mem{Base: b, Index: b3, Scale: 2}, b6)
	}
	ADDQ(b, b3)
	bs := []reg.Register{b, b3, b6}[:(cols+2)/3]
	var acc [3][8]reg.VecVirtual
	for i := range acc {
		for k := range cols {
			acc[i][k] = ZMM()
			VMOVUPD(f(fixedStart), acc[i][k])
		}
	}
	Label("rows")
	var av [3]reg.VecVirtual
	for i := range av {
		av[i] = ZMM()
		VMOVUPD(fixedColumn(i, stride, a), av[i])
	}
	for k := range cols {
		bv := ZMM()
		VMOVUPD(fixedColumn(k, stride, bs...), bv)
		for i := range av {
			VFMADD231PD(bv, av[i], acc[i][k])
		}
	}
	for line := range 3 {
		PREFETCHT0(Mem{Base: ahead, Disp: 64 * line})
	}
	ADDQ(U32(192), ahead)
	for _, p := range append(bs, a) {
		ADDQ(Imm(64), p)
	}
	SUBQ(Imm(8), left)
	JNZ(LabelRef("rows"))
	for i := range acc {
		putFixed(m, acc[i][:cols])
		if i < 2 {
			ADDQ(mstride, m)
		}
	}
	avx512.done()
}

// fixedColumn is where column k lies, at having the pointers to each third one.
func fixedColumn(k int, stride reg.Register, at ...reg.Register) Mem {
	if k%3 == 0 {
		return Mem{Base: at[k/3]}
	}
	return Mem{Base: at[k/3], Index: stride, Scale: uint8(k % 3)}
}

// putFixed adds what six or eight accumulators hold to as many sums at m, nothing for those
// that are nil. In one binade the bits of a float64 count its last places.
func putFixed(m reg.Register, acc []reg.VecVirtual) {
	// Sums of pairs of lanes go side by side, and then these of pairs of pairs.
	both := func(x, y reg.VecVirtual, one, other uint8) reg.VecVirtual {
		lo := ZMM()
		VSHUFI64X2(Imm(uint64(one)), y, x, lo)
		VSHUFI64X2(Imm(uint64(other)), y, x, x)
		VPADDQ(x, lo, lo)
		return lo
	}
	var pairs [4]reg.VecVirtual
	for k := range pairs {
		x, y := reg.VecVirtual(nil), reg.VecVirtual(nil)
		if 2*k < len(acc) {
			x, y = acc[2*k], acc[2*k+1]
		}
		for _, v := range []*reg.VecVirtual{&x, &y} {
			if *v == nil {
				*v = ZMM()
				VMOVUPD(f(fixedStart), *v)
			}
		}
		pairs[k] = ZMM()
		VPUNPCKLQDQ(y, x, pairs[k])
		VPUNPCKHQDQ(y, x, x)
		VPADDQ(x, pairs[k], pairs[k])
	}
	sum := both(both(pairs[0], pairs[1], 0x44, 0xee), both(pairs[2], pairs[3], 0x44, 0xee), 0x88, 0xdd)
	VPSUBQ(konst(8*math.Float64bits(fixedStart)), sum, sum)
	if len(acc) == 8 {
		VPADDQ(Mem{Base: m}, sum, sum)
		VMOVDQU64(sum, Mem{Base: m})
		return
	}
	rest := XMM()
	VEXTRACTI64X2(Imm(2), sum, rest)
	VPADDQ(Mem{Base: m}, sum.AsY(), sum.AsY())
	VMOVDQU(sum.AsY(), Mem{Base: m})
	VPADDQ(Mem{Base: m, Disp: 32}, rest, rest)
	VMOVDQU(rest, Mem{Base: m, Disp: 32})
}

// addTriangle512: those of six columns of a with the same ones of b, from the diagonal on.
func addTriangle512() {
	kernel("addTriangleAVX512", "func(m *int64, mstride int, a, b *float64, stride, rows int)")
	m, mstride := Load(Param("m"), GP64()), Load(Param("mstride"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	stride := Load(Param("stride"), GP64()).(reg.GPVirtual)
	left := Load(Param("rows"), GP64())
	SHLQ(Imm(3), stride)
	SHLQ(Imm(3), mstride)
	a3, b3 := GP64(), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, a3)
	LEAQ(Mem{Base: b, Index: a3, Scale: 1}, b3)
	ADDQ(a, a3)
	var acc [6][6]reg.VecVirtual
	for i := range acc {
		for k := i; k < 6; k++ {
			acc[i][k] = ZMM()
			VMOVUPD(f(fixedStart), acc[i][k])
		}
	}
	Label("rows")
	var av [6]reg.VecVirtual
	for k := range av {
		av[k] = ZMM()
		VMOVUPD(fixedColumn(k, stride, a, a3), av[k])
		bv := ZMM()
		VMOVUPD(fixedColumn(k, stride, b, b3), bv)
		for i := range k + 1 {
			VFMADD231PD(bv, av[i], acc[i][k])
		}
	}
	for _, p := range []reg.Register{a, a3, b, b3} {
		ADDQ(Imm(64), p)
	}
	SUBQ(Imm(8), left)
	JNZ(LabelRef("rows"))
	for i := range acc {
		putFixed(m, acc[i][:])
		if i < 5 {
			ADDQ(mstride, m)
		}
	}
	avx512.done()
}

// fetch: lines of 64 bytes from p on are asked of memory.
func fetch() {
	kernel("fetchLines", "func(p *byte, lines int)")
	p, lines := Load(Param("p"), GP64()), Load(Param("lines"), GP64())
	Label("line")
	PREFETCHT0(Mem{Base: p})
	ADDQ(Imm(64), p)
	DECQ(lines)
	JNZ(LabelRef("line"))
	RET()
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
