package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The columns of a panel of bytes, and the bytes of its four rows of them.
const (
	coarseCols = 32
	coarseLine = 4 * coarseCols
)

// packCoarse: columns of (x-shift)·scale, rounded, and 64 more, as bytes; four rows of
// a column are beside each other.
func packCoarse(elem int) {
	kernel("packCoarse"+elemName(elem)+"AVX2", "func(dst *byte, x *"+elemType(elem)+", shift, scale *float64, d, cols, tiles int)")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	shift, scale := Load(Param("shift"), GP64()), Load(Param("scale"), GP64())
	d, cols, tiles := Load(Param("d"), GP64()), Load(Param("cols"), GP64()), Load(Param("tiles"), GP64())
	if elem == 4 {
		SHLQ(Imm(5), d)
	} else {
		SHLQ(Imm(6), d)
	}
	middle := XMM()
	VMOVDQU(konst(64|64<<32), middle)
	Label("tiles")
	sp, mp, from, to, left := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(shift, sp)
	MOVQ(scale, mp)
	MOVQ(x, from)
	MOVQ(dst, to)
	MOVQ(cols, left)
	Label("cols")
	c, m := YMM(), YMM()
	VBROADCASTSD(Mem{Base: sp}, c)
	VBROADCASTSD(Mem{Base: mp}, m)
	for h := range 2 {
		v, n := YMM(), XMM()
		avx2.loadElem(elem, Mem{Base: from, Disp: 4 * h * elem}, v)
		VSUBPD(c, v, v)
		VMULPD(m, v, v)
		VCVTPD2DQY(v, n)
		VPADDD(middle, n, n)
		VPACKUSDW(n, n, n)
		VPACKUSWB(n, n, n)
		VMOVD(n, Mem{Base: to, Disp: coarseLine * h})
	}
	ADDQ(Imm(uint64(8*elem)), from)
	ADDQ(Imm(8), sp)
	ADDQ(Imm(8), mp)
	ADDQ(Imm(4), to)
	DECQ(left)
	JNZ(LabelRef("cols"))
	ADDQ(U32(2*coarseLine), dst)
	ADDQ(d, x)
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	avx2.done()
}

// packCoarse512: packCoarse of whole fours of columns. Words and then bytes of four columns come
// together in lanes of four rows, which is how they are to lie.
func packCoarse512(elem int) {
	kernel("packCoarse"+elemName(elem)+"AVX512", "func(dst *byte, x *"+elemType(elem)+", shift, scale *float64, d, fours, tiles int)")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	shift, scale := Load(Param("shift"), GP64()), Load(Param("scale"), GP64())
	d, fours, tiles := Load(Param("d"), GP64()), Load(Param("fours"), GP64()), Load(Param("tiles"), GP64())
	if elem == 4 {
		SHLQ(Imm(5), d)
	} else {
		SHLQ(Imm(6), d)
	}
	middle := YMM()
	VMOVDQU(konst(0x4040404040404040), middle)
	Label("tiles")
	sp, mp, from, to, left := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(shift, sp)
	MOVQ(scale, mp)
	MOVQ(x, from)
	MOVQ(dst, to)
	MOVQ(fours, left)
	Label("cols")
	var n [4]reg.VecVirtual
	for j := range n {
		v := ZMM()
		avx512.loadElem(elem, Mem{Base: from, Disp: 8 * elem * j}, v)
		VSUBPD_BCST(Mem{Base: sp, Disp: 8 * j}, v, v)
		VMULPD_BCST(Mem{Base: mp, Disp: 8 * j}, v, v)
		n[j] = YMM()
		VCVTPD2DQ(v, n[j])
	}
	VPACKSSDW(n[1], n[0], n[0])
	VPACKSSDW(n[3], n[2], n[2])
	VPACKSSWB(n[2], n[0], n[0])
	VPADDB(middle, n[0], n[0])
	VMOVDQU(n[0].AsX(), Mem{Base: to})
	VEXTRACTI128(Imm(1), n[0], Mem{Base: to, Disp: coarseLine})
	ADDQ(U32(uint32(32*elem)), from)
	ADDQ(Imm(32), sp)
	ADDQ(Imm(32), mp)
	ADDQ(Imm(16), to)
	DECQ(left)
	JNZ(LabelRef("cols"))
	ADDQ(U32(2*coarseLine), dst)
	ADDQ(d, x)
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	avx512.done()
}

// addCoarse: the products of four columns of a with sixteen of b.
func addCoarse() {
	kernel("addCoarseAVX2", "func(m *int32, stride int, a, b *byte, quads int)")
	coarse(4, 2, YMM, func(acc, av, bv reg.VecVirtual) {
		t := YMM()
		VPMADDUBSW(av, bv, t)
		VPMADDWD(konst(0x0001000100010001), t, t)
		VPADDD(t, acc, acc)
	}, 32)
	avx2.done()
}

// addCoarseVNNI: those of eight with thirty-two.
func addCoarseVNNI() {
	kernel("addCoarseVNNI", "func(m *int32, stride int, a, b *byte, quads int)")
	coarse(8, 2, ZMM, dot4, 64)
	avx512.done()
}

// dot4 adds products of bytes, four to a lane. It has no name in avo.
func dot4(acc, av, bv reg.VecVirtual) {
	Instruction(&ir.Instruction{Opcode: "VPDPBUSD", Operands: []Op{av, bv, acc}, Inputs: []Op{av, bv, acc}, Outputs: []Op{acc}, ISA: []string{"AVX512F", "AVX512VNNI"}})
}

func coarse(rows, vecs int, vec func() reg.VecVirtual, mac func(acc, av, bv reg.VecVirtual), width int) {
	m, stride := Load(Param("m"), GP64()), Load(Param("stride"), GP64())
	a, b, left := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("quads"), GP64())
	SHLQ(Imm(2), stride)
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		for range vecs {
			v := vec()
			if width == 64 {
				VPXORD(v, v, v)
			} else {
				VPXOR(v, v, v)
			}
			acc[i] = append(acc[i], v)
		}
	}
	Label("quads")
	bv := make([]reg.VecVirtual, vecs)
	for k := range bv {
		bv[k] = vec()
		if width == 64 {
			VMOVDQU32(Mem{Base: b, Disp: width * k}, bv[k])
		} else {
			VMOVDQU(Mem{Base: b, Disp: width * k}, bv[k])
		}
	}
	for i := range acc {
		av := vec()
		VPBROADCASTD(Mem{Base: a, Disp: 4 * i}, av)
		for k := range bv {
			mac(acc[i][k], av, bv[k])
		}
	}
	ADDQ(U32(coarseLine), a)
	ADDQ(U32(coarseLine), b)
	DECQ(left)
	JNZ(LabelRef("quads"))
	for i := range acc {
		for k, v := range acc[i] {
			at := Mem{Base: m, Disp: width * k}
			VPADDD(at, v, v)
			if width == 64 {
				VMOVDQU32(v, at)
			} else {
				VMOVDQU(v, at)
			}
		}
		if i+1 < rows {
			ADDQ(stride, m)
		}
	}
}

// addSquares: (v·by)² onto r.
func addSquares() {
	kernel("addSquaresAVX2", "func(r, v *float64, by float64, n int)")
	r, v, n := Load(Param("r"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	by := YMM()
	p, err := Param("by").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(p.Addr, by)
	Label("loop")
	for h := range 2 {
		x, sum := YMM(), YMM()
		VMULPD(Mem{Base: v, Disp: 32 * h}, by, x)
		VMOVUPD(Mem{Base: r, Disp: 32 * h}, sum)
		VFMADD231PD(x, x, sum)
		VMOVUPD(sum, Mem{Base: r, Disp: 32 * h})
	}
	ADDQ(Imm(64), v)
	ADDQ(Imm(64), r)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}
