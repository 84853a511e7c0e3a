package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is how many rows before their turn the sums of a row are fetched: those of many groups are not in the
// nearest cache.
const ahead = 12

func main() {
	ConstraintExpr("!noasm")
	pairs()
	squares()
	Generate()
}

var doc = []string{
	"It ends with one that makes its group's number a multiple of fullRows, and before one that does not fit.",
	"It returns how many it has added. n is not 0, no base is.",
}

func pairs() {
	TEXT("addPairs", NOSPLIT, "func(s *uint64, counts *int64, groups *uint32, xs *float64, ys *float64, n int, x int, y int) int")
	Pragma("noescape")
	Doc(append([]string{"addPairs adds pairs to sums s with numbers counts as the loop of Pairs.add does."}, doc...)...)
	s, i := Load(Param("s"), GP64()), GP64()
	XORQ(i, i)
	p, mx, ex, sx := GP64(), GP64(), GP64(), GP64()
	my, ey, sy := GP64(), GP64(), GP64()

	Label("next")
	fetch(i, func(row reg.GPVirtual) {
		counts := Load(Param("counts"), GP64())
		PREFETCHT0(Mem{Base: counts, Index: row, Scale: 8})
		SHLQ(Imm(7), row)
		PREFETCHT0(Mem{Base: s, Index: row, Scale: 1})
		PREFETCHT0(Mem{Base: s, Index: row, Scale: 1, Disp: 64})
	})
	load(i, "xs", sx)
	exponent(sx, ex, "x")
	load(i, "ys", sy)
	exponent(sy, ey, "y")
	groupOf(i, p)
	{
		counts := Load(Param("counts"), GP64())
		INCQ(Mem{Base: counts, Index: p, Scale: 8})
	}
	SHLQ(Imm(7), p)
	ADDQ(s, p)
	mantissa(sx, ex, mx)
	add128(p, 0, mx, ex, sx)
	product(p, 32, mx, mx, double(ex), nil)
	mantissa(sy, ey, my)
	add128(p, 16, my, ey, sy)
	product(p, 64, my, my, double(ey), nil)
	XORQ(sx, sy)
	ADDQ(ex, ey)
	product(p, 96, mx, my, ey, sy)
	groupOf(i, p)
	{
		counts := Load(Param("counts"), GP64())
		end(i, Mem{Base: counts, Index: p, Scale: 8})
	}
	odd(sx, "x")
	odd(sy, "y")
}

func squares() {
	TEXT("addSquareSums", NOSPLIT, "func(s *uint64, groups *uint32, xs *float64, n int, x int) int")
	Pragma("noescape")
	Doc(append([]string{"addSquareSums adds values to sums s as the loop of addSquares does."}, doc...)...)
	s, i := Load(Param("s"), GP64()), GP64()
	XORQ(i, i)
	p, mx, ex, sx := GP64(), GP64(), GP64(), GP64()

	Label("next")
	fetch(i, func(row reg.GPVirtual) {
		SHLQ(Imm(6), row)
		PREFETCHT0(Mem{Base: s, Index: row, Scale: 1})
	})
	load(i, "xs", sx)
	exponent(sx, ex, "x")
	groupOf(i, p)
	SHLQ(Imm(6), p)
	ADDQ(s, p)
	INCQ(Mem{Base: p})
	mantissa(sx, ex, mx)
	add128(p, 8, mx, ex, sx)
	product(p, 24, mx, mx, double(ex), nil)
	end(i, Mem{Base: p})
	odd(sx, "x")
}

// fetch has f fetch what the group of a later row needs.
func fetch(i reg.GPVirtual, f func(group reg.GPVirtual)) {
	at, n, groups := GP64(), GP64(), GP64()
	Load(Param("n"), n)
	LEAQ(Mem{Base: i, Disp: ahead}, at)
	CMPQ(at, n)
	CMOVQGE(i, at)
	Load(Param("groups"), groups)
	MOVL(Mem{Base: groups, Index: at, Scale: 4}, at.As32())
	f(at)
}

// load loads a value's bits.
func load(i reg.GPVirtual, param string, to reg.GPVirtual) {
	vals := Load(Param(param), GP64())
	MOVQ(Mem{Base: vals, Index: i, Scale: 8}, to)
}

func groupOf(i, to reg.GPVirtual) {
	groups := Load(Param("groups"), GP64())
	MOVL(Mem{Base: groups, Index: i, Scale: 4}, to.As32())
}

// exponent finds that of a value above the base, and leaves the loop where it does not fit, unless the value is 0.
func exponent(v, to reg.GPVirtual, base string) {
	b := Load(Param(base), GP64())
	MOVQ(v, to)
	SHRQ(Imm(52), to)
	ANDL(U32(0x7ff), to.As32())
	SUBQ(b, to)
	CMPQ(to, Imm(63))
	JHI(LabelRef("odd_" + base))
	Label("fits_" + base)
}

// odd goes on with values that are 0.
func odd(v reg.GPVirtual, base string) {
	Label("odd_" + base)
	twice := GP64()
	LEAQ(Mem{Base: v, Index: v, Scale: 1}, twice)
	TESTQ(twice, twice)
	JZ(LabelRef("fits_" + base))
	JMP(LabelRef("done"))
}

// mantissa finds that of a value, of which it leaves the sign's bits. Of 0 it is 0, and so is the exponent.
func mantissa(v, e, to reg.GPVirtual) {
	zero, twice := GP64(), GP64()
	XORQ(zero, zero)
	MOVQ(v, to)
	SHLQ(Imm(12), to)
	SHRQ(Imm(12), to)
	BTSQ(Imm(52), to)
	LEAQ(Mem{Base: v, Index: v, Scale: 1}, twice)
	TESTQ(twice, twice)
	CMOVQEQ(zero, to)
	CMOVQEQ(zero, e)
	SARQ(Imm(63), v)
}

func double(e reg.GPVirtual) reg.GPVirtual {
	k := GP64()
	LEAQ(Mem{Base: e, Index: e, Scale: 1}, k)
	return k
}

// add128 adds m·2^e, or its negative where sign has all bits.
func add128(p reg.GPVirtual, disp int, m, e, sign reg.GPVirtual) {
	lo, hi, not := GP64(), GP64(), GP64()
	SHLXQ(e, m, lo)
	MOVQ(e, not)
	NOTQ(not)
	MOVQ(m, hi)
	SHRQ(Imm(1), hi)
	SHRXQ(not, hi, hi)
	XORQ(sign, lo)
	XORQ(sign, hi)
	SUBQ(sign, lo)
	SBBQ(sign, hi)
	ADDQ(lo, Mem{Base: p, Disp: disp})
	ADCQ(hi, Mem{Base: p, Disp: disp + 8})
}

var products int

// product adds a·b·2^e, or its negative where sign, which may be nil, has all bits.
func product(p reg.GPVirtual, disp int, a, b, e reg.GPVirtual, sign reg.Register) {
	products++
	high, done := fmt.Sprintf("high_%d", products), fmt.Sprintf("added_%d", products)
	lo, hi, w0, w1, not := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(a, reg.RDX)
	MULXQ(b, lo, hi)
	MOVQ(e, not)
	NOTQ(not)
	SHLXQ(e, lo, w0)
	SHRQ(Imm(1), lo)
	SHRXQ(not, lo, lo)
	SHLXQ(e, hi, w1)
	ORQ(lo, w1)
	SHRQ(Imm(1), hi)
	SHRXQ(not, hi, hi)
	if sign != nil {
		for _, w := range []reg.Register{w0, w1, hi} {
			XORQ(sign, w)
		}
		SUBQ(sign, w0)
		SBBQ(sign, w1)
		SBBQ(sign, hi)
		SBBQ(lo, lo)
	}
	at := func(k int) Mem { return Mem{Base: p, Disp: disp + 8*k} }
	TESTQ(U32(64), e)
	JNZ(LabelRef(high))
	ADDQ(w0, at(0))
	ADCQ(w1, at(1))
	ADCQ(hi, at(2))
	if sign != nil {
		ADCQ(lo, at(3))
	} else {
		ADCQ(Imm(0), at(3))
	}
	JMP(LabelRef(done))
	Label(high)
	ADDQ(w0, at(1))
	ADCQ(w1, at(2))
	ADCQ(hi, at(3))
	Label(done)
}

// end goes on with the next row, unless count is a multiple of fullRows.
func end(i reg.GPVirtual, count Mem) {
	INCQ(i)
	TESTL(U32(511), count) // fullRows − 1
	JZ(LabelRef("done"))
	n := Load(Param("n"), GP64())
	CMPQ(i, n)
	JLT(LabelRef("next"))
	Label("done")
	Store(i, ReturnIndex(0))
	RET()
}
