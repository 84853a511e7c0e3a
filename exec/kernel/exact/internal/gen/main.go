package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is how many rows before their turn the sums of rows are fetched: those of many groups are not in the
// nearest cache.
const ahead = 16

// lastExponent is that of package exact.
const lastExponent = 50

func main() {
	ConstraintExpr("!noasm")
	pairs()
	squares()
	pairRun()
	squareRun()
	Generate()
}

var doc = []string{
	"It ends with eight rows of which one makes its group's number a multiple of fullRows, and before eight of which one",
	"does not fit. n is a multiple of 8 and not 0, no base is 0, and far is not 0 where sums are fetched ahead.",
	"It returns how many it has added.",
}

// constants are what all lanes have.
type constants struct {
	zero, mantissa, one, limb, bits, last reg.VecVirtual
}

func broadcast(v uint64) reg.VecVirtual {
	g, z := GP64(), ZMM()
	MOVQ(U64(v), g)
	VPBROADCASTQ(g, z)
	return z
}

func newConstants() constants {
	c := constants{zero: ZMM()}
	VPXORQ(c.zero, c.zero, c.zero)
	c.mantissa, c.one = broadcast(1<<52-1), broadcast(1<<52)
	c.limb = c.mantissa
	c.bits, c.last = broadcast(52), broadcast(lastExponent)
	return c
}

func base(param string) reg.VecVirtual {
	z := ZMM()
	VPBROADCASTQ(Load(Param(param), GP64()), z)
	return z
}

// value is eight values in limbs of 52 bits: the lower with bits above them, which products leave out, the upper, and
// the signs.
type value struct {
	lower, upper reg.VecVirtual
	sign         reg.OpmaskVirtual
}

// split splits eight values, of which odd has those that do not fit.
func (c *constants) split(at Mem, base reg.VecVirtual) (v value, odd reg.OpmaskVirtual) {
	b, e, m := ZMM(), ZMM(), ZMM()
	v, odd = value{ZMM(), ZMM(), K()}, K()
	some := K()
	VMOVDQU64(at, b)
	VPMOVQ2M(b, v.sign)
	VPADDQ(b, b, e)
	VPTESTMQ(e, e, some)
	VPSRLQ(Imm(53), e, e)
	VPSUBQ(base, e, e)
	VPCMPUQ(Imm(6), c.last, e, some, odd)
	VPANDQ(c.mantissa, b, m)
	VPORQ_Z(c.one, m, some, m)
	VPSLLVQ(e, m, v.lower)
	VPSUBQ(e, c.bits, e)
	VPSRLVQ(e, m, v.upper)
	return v, odd
}

// limbs are those that a value adds to its sum.
func (c *constants) limbs(v value) []reg.VecVirtual {
	lower, upper := ZMM(), ZMM()
	VPANDQ(c.limb, v.lower, lower)
	VMOVDQA64(v.upper, upper)
	return c.signed([]reg.VecVirtual{lower, upper}, v.sign)
}

func (c *constants) signed(limbs []reg.VecVirtual, sign reg.OpmaskVirtual) []reg.VecVirtual {
	for _, l := range limbs {
		VPSUBQ(l, c.zero, sign, l)
	}
	return limbs
}

// zeros returns four limbs.
func (c *constants) zeros() []reg.VecVirtual {
	to := make([]reg.VecVirtual, 4)
	for i := range to {
		to[i] = ZMM()
		VMOVDQA64(c.zero, to[i])
	}
	return to
}

// square adds v² to limbs.
func square(v value, to []reg.VecVirtual) {
	twice := ZMM()
	VPADDQ(v.upper, v.upper, twice)
	VPMADD52LUQ(v.lower, v.lower, to[0])
	VPMADD52HUQ(v.lower, v.lower, to[1])
	VPMADD52LUQ(twice, v.lower, to[1])
	VPMADD52HUQ(twice, v.lower, to[2])
	VPMADD52LUQ(v.upper, v.upper, to[2])
	VPMADD52HUQ(v.upper, v.upper, to[3])
}

// product adds the size of x·y to limbs.
func product(x, y value, to []reg.VecVirtual) {
	VPMADD52LUQ(y.lower, x.lower, to[0])
	VPMADD52HUQ(y.lower, x.lower, to[1])
	VPMADD52LUQ(y.upper, x.lower, to[1])
	VPMADD52HUQ(y.upper, x.lower, to[2])
	VPMADD52LUQ(y.lower, x.upper, to[1])
	VPMADD52HUQ(y.lower, x.upper, to[2])
	VPMADD52LUQ(y.upper, x.upper, to[2])
	VPMADD52HUQ(y.upper, x.upper, to[3])
}

// transpose returns the rows of eight columns.
func transpose(a []reg.VecVirtual) []reg.VecVirtual {
	var even, uneven [4]reg.VecVirtual // pairs of columns of the rows 0, 2, 4, 6 and 1, 3, 5, 7
	for i := range even {
		even[i], uneven[i] = ZMM(), ZMM()
		VPUNPCKLQDQ(a[2*i+1], a[2*i], even[i])
		VPUNPCKHQDQ(a[2*i+1], a[2*i], uneven[i])
	}
	rows := make([]reg.VecVirtual, 8)
	for first, p := range [][4]reg.VecVirtual{even, uneven} {
		for k, half := range []uint64{0x88, 0xdd} {
			low, high := ZMM(), ZMM()
			VSHUFI64X2(Imm(half), p[1], p[0], low)
			VSHUFI64X2(Imm(half), p[3], p[2], high)
			r, s := ZMM(), ZMM()
			VSHUFI64X2(Imm(0x88), high, low, r)
			VSHUFI64X2(Imm(0xdd), high, low, s)
			rows[first+2*k], rows[first+2*k+4] = r, s
		}
	}
	return rows
}

// fetch fetches lines of the groups of later rows, of which each has 2^shift bytes.
func fetch(s, i, n reg.GPVirtual, shift uint64, each func(group reg.GPVirtual)) {
	far, at, groups, g := GP64(), GP64(), GP64(), GP64()
	Load(Param("far"), far)
	TESTQ(far, far)
	JZ(LabelRef("near"))
	LEAQ(Mem{Base: i, Disp: ahead + 8}, at)
	CMPQ(at, n)
	JGT(LabelRef("near"))
	Load(Param("groups"), groups)
	for k := range 8 {
		MOVL(Mem{Base: groups, Index: i, Scale: 4, Disp: 4 * (ahead + k)}, g.As32())
		if each != nil {
			each(g)
		}
		SHLQ(Imm(shift), g)
		for line := range 1 << shift / 64 {
			PREFETCHT0(Mem{Base: s, Index: g, Scale: 1, Disp: 64 * line})
		}
	}
	Label("near")
}

// end ends the loop's turn.
func end(i, n, full reg.GPVirtual) {
	ADDQ(Imm(8), i)
	TESTQ(full, full)
	JNZ(LabelRef("done"))
	CMPQ(i, n)
	JLT(LabelRef("next"))
	Label("done")
	Store(i, ReturnIndex(0))
	RET()
}

// filled counts in full a number that is a multiple of fullRows.
func filled(n, full reg.GPVirtual) {
	ANDL(U32(511), n.As32())
	CMPL(n.As32(), Imm(1))
	ADCQ(Imm(0), full)
}

func pairs() {
	TEXT("addPairs", NOSPLIT, "func(s *int64, counts *int64, groups *uint32, xs *float64, ys *float64, n int, x int, y int, far int) int")
	Pragma("noescape")
	Doc(append([]string{"addPairs adds pairs to sums s with numbers counts as the loop of Pairs.add does."}, doc...)...)
	c := newConstants()
	bx, by := base("x"), base("y")
	s, n, i, full := Load(Param("s"), GP64()).(reg.GPVirtual), Load(Param("n"), GP64()).(reg.GPVirtual), GP64(), GP64()
	XORQ(i, i)
	XORQ(full, full)

	Label("next")
	counts := Load(Param("counts"), GP64())
	fetch(s, i, n, 7, func(g reg.GPVirtual) { PREFETCHT0(Mem{Base: counts, Index: g, Scale: 8}) })
	x, oddX := c.split(Mem{Base: Load(Param("xs"), GP64()), Index: i, Scale: 8}, bx)
	y, oddY := c.split(Mem{Base: Load(Param("ys"), GP64()), Index: i, Scale: 8}, by)
	KORTESTB(oddX, oddY)
	JNZ(LabelRef("done"))
	groups, g, k := Load(Param("groups"), GP64()), GP64(), GP64()
	sign := K()
	KXORB(x.sign, y.sign, sign)
	xy := c.zeros()
	product(x, y, xy)
	c.signed(xy, sign)
	for row, v := range transpose(append(append(c.limbs(x), c.limbs(y)...), xy...)) {
		MOVL(Mem{Base: groups, Index: i, Scale: 4, Disp: 4 * row}, g.As32())
		MOVQ(Mem{Base: counts, Index: g, Scale: 8}, k)
		INCQ(k)
		MOVQ(k, Mem{Base: counts, Index: g, Scale: 8})
		filled(k, full)
		SHLQ(Imm(7), g)
		VPADDQ(Mem{Base: s, Index: g, Scale: 1}, v, v)
		VMOVDQU64(v, Mem{Base: s, Index: g, Scale: 1})
	}
	xx, yy := c.zeros(), c.zeros()
	square(x, xx)
	square(y, yy)
	for row, v := range transpose(append(xx, yy...)) {
		MOVL(Mem{Base: groups, Index: i, Scale: 4, Disp: 4 * row}, g.As32())
		SHLQ(Imm(7), g)
		VPADDQ(Mem{Base: s, Index: g, Scale: 1, Disp: 64}, v, v)
		VMOVDQU64(v, Mem{Base: s, Index: g, Scale: 1, Disp: 64})
	}
	end(i, n, full)
}

func squares() {
	TEXT("addSquareSums", NOSPLIT, "func(s *int64, groups *uint32, xs *float64, n int, x int, far int) int")
	Pragma("noescape")
	Doc(append([]string{"addSquareSums adds values to sums s as the loop of addSquares does."}, doc...)...)
	c := newConstants()
	bx, count := base("x"), broadcast(1)
	s, n, i, full := Load(Param("s"), GP64()).(reg.GPVirtual), Load(Param("n"), GP64()).(reg.GPVirtual), GP64(), GP64()
	XORQ(i, i)
	XORQ(full, full)

	Label("next")
	fetch(s, i, n, 6, nil)
	x, odd := c.split(Mem{Base: Load(Param("xs"), GP64()), Index: i, Scale: 8}, bx)
	KORTESTB(odd, odd)
	JNZ(LabelRef("done"))
	groups, g, k := Load(Param("groups"), GP64()), GP64(), GP64()
	xx := c.zeros()
	square(x, xx)
	for row, v := range transpose(append(append(append([]reg.VecVirtual{count}, c.limbs(x)...), xx...), c.zero)) {
		MOVL(Mem{Base: groups, Index: i, Scale: 4, Disp: 4 * row}, g.As32())
		SHLQ(Imm(6), g)
		VPADDQ(Mem{Base: s, Index: g, Scale: 1}, v, v)
		VMOVDQU64(v, Mem{Base: s, Index: g, Scale: 1})
		MOVL(Mem{Base: s, Index: g, Scale: 1}, k.As32())
		filled(k, full)
	}
	end(i, n, full)
}

// pairRun adds pairs of one group: each lane has sums of its own.
func pairRun() {
	TEXT("addPairRun", NOSPLIT, "func(lanes *int64, xs *float64, ys *float64, n int, x int, y int) int")
	Pragma("noescape")
	Doc("addPairRun adds pairs to eight numbers each of the limbs that a group of Pairs has, one after the other. It ends",
		"before eight of which one does not fit. n is a multiple of 8, not 0, and at most 8·fullRows; no base is 0.",
		"It returns how many it has added.")
	c := newConstants()
	bx, by := base("x"), base("y")
	lanes, xs, ys := Load(Param("lanes"), GP64()), Load(Param("xs"), GP64()), Load(Param("ys"), GP64())
	n, i := Load(Param("n"), GP64()), GP64()
	XORQ(i, i)
	at := func(limb int) Mem { return Mem{Base: lanes, Disp: 64 * limb} }
	acc := make([]reg.VecVirtual, 12) // xx, yy, x and y; those of xy are added in memory
	for k := range acc {
		acc[k] = ZMM()
		VMOVDQA64(c.zero, acc[k])
	}
	xx, yy, sums := acc[:4], acc[4:8], acc[8:]

	Label("next")
	x, oddX := c.split(Mem{Base: xs, Index: i, Scale: 8}, bx)
	y, oddY := c.split(Mem{Base: ys, Index: i, Scale: 8}, by)
	KORTESTB(oddX, oddY)
	JNZ(LabelRef("done"))
	square(x, xx)
	square(y, yy)
	sign := K()
	KXORB(x.sign, y.sign, sign)
	xy := c.zeros()
	product(x, y, xy)
	for k, v := range c.signed(xy, sign) {
		VPADDQ(at(4+k), v, v)
		VMOVDQU64(v, at(4+k))
	}
	for k, v := range append(c.limbs(x), c.limbs(y)...) {
		VPADDQ(v, sums[k], sums[k])
	}
	ADDQ(Imm(8), i)
	CMPQ(i, n)
	JLT(LabelRef("next"))

	Label("done")
	for k, v := range append(append([]reg.VecVirtual{}, sums...), append(xx, yy...)...) {
		limb := k
		if k >= 4 {
			limb = k + 4
		}
		VPADDQ(at(limb), v, v)
		VMOVDQU64(v, at(limb))
	}
	Store(i, ReturnIndex(0))
	RET()
}

func squareRun() {
	TEXT("addSquareRun", NOSPLIT, "func(lanes *int64, xs *float64, n int, x int) int")
	Pragma("noescape")
	Doc("addSquareRun is addPairRun for the limbs that a group of Squares has.")
	c := newConstants()
	bx := base("x")
	lanes, xs := Load(Param("lanes"), GP64()), Load(Param("xs"), GP64())
	n, i := Load(Param("n"), GP64()), GP64()
	XORQ(i, i)
	sums := make([]reg.VecVirtual, 6)
	for k := range sums {
		sums[k] = ZMM()
		VMOVDQU64(Mem{Base: lanes, Disp: 64 * k}, sums[k])
	}

	Label("next")
	x, odd := c.split(Mem{Base: xs, Index: i, Scale: 8}, bx)
	KORTESTB(odd, odd)
	JNZ(LabelRef("done"))
	for k, v := range c.limbs(x) {
		VPADDQ(v, sums[k], sums[k])
	}
	square(x, sums[2:])
	ADDQ(Imm(8), i)
	CMPQ(i, n)
	JLT(LabelRef("next"))

	Label("done")
	for k, v := range sums {
		VMOVDQU64(v, Mem{Base: lanes, Disp: 64 * k})
	}
	Store(i, ReturnIndex(0))
	RET()
}
