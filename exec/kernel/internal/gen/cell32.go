package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cells are loops over the n cells of an LSTM, one after the other, as many at a time
// as there are lanes; tail lets those after the last of these through. Without
// AVX-512 storing under a mask is slow, and four are made at once before that.
//
// z are the four gates, each n numbers after the one before, and other pointers
// are one of a cell's numbers each.
func cells(s isa, name, pointers string, others []string, loops ...func(c *cell)) {
	tail := "*[8]int32"
	if lanes = s.width / 4; lanes == 16 {
		tail = "uint64"
	}
	kernel(name+s.suffix, "func("+pointers+" *float32, n int, tail "+tail+")")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	c := &cell{k: GP64(), base: map[string]reg.GPVirtual{}, get: func(m Mem) reg.VecVirtual { return load(m) }, put: func(v reg.VecVirtual, m Mem) { VMOVUPS(v, m) }}
	c.gates[0] = Load(Param("z"), GP64()).(reg.GPVirtual)
	for i := 1; i < 4; i++ {
		c.gates[i] = GP64()
		LEAQ(Mem{Base: c.gates[i-1], Index: n, Scale: 4}, c.gates[i])
	}
	for _, s := range others {
		c.base[s] = Load(Param(s), GP64()).(reg.GPVirtual)
	}
	left := GP64()
	hold(6)
	for i, body := range loops {
		label := func(s string) string { return s + string(rune('1'+i)) }
		XORQ(c.k, c.k)
		MOVQ(n, left)
		SUBQ(Imm(uint64(lanes)), left)
		JL(LabelRef(label("rest")))
		Label(label("loop"))
		body(c)
		ADDQ(Imm(uint64(lanes)), c.k)
		SUBQ(Imm(uint64(lanes)), left)
		JGE(LabelRef(label("loop")))
		Label(label("rest"))
		ADDQ(Imm(uint64(lanes)), left)
		JZ(LabelRef(label("done")))
		masked := *c
		if lanes == 16 {
			bits, mask := GP64(), K()
			Load(Param("tail"), bits)
			KMOVW(bits.As32(), mask)
			masked.get = func(m Mem) reg.VecVirtual {
				v := ymm()
				VMOVUPS_Z(m, mask, v)
				return v
			}
			masked.put = func(v reg.VecVirtual, m Mem) { VMOVUPS(v, mask, m) }
			body(&masked)
			Label(label("done"))
			continue
		}
		lanes = 4
		SUBQ(Imm(4), left)
		JL(LabelRef(label("tail")))
		body(c)
		ADDQ(Imm(4), c.k)
		SUBQ(Imm(4), left)
		Label(label("tail"))
		ADDQ(Imm(4), left)
		JZ(LabelRef(label("done")))
		mask := load(Mem{Base: Load(Param("tail"), GP64())})
		masked.get = func(m Mem) reg.VecVirtual {
			v := ymm()
			VMASKMOVPS(m, mask, v)
			return v
		}
		masked.put = func(v reg.VecVirtual, m Mem) { VMASKMOVPS(v, mask, m) }
		body(&masked)
		lanes = 8
		Label(label("done"))
	}
	lanes = 8
	s.done()
}

// cell is cells in a loop.
type cell struct {
	k     reg.GPVirtual
	gates [4]reg.GPVirtual
	base  map[string]reg.GPVirtual
	get   func(Mem) reg.VecVirtual
	put   func(reg.VecVirtual, Mem)
}

func (c *cell) at(s string) Mem { return Mem{Base: c.base[s], Index: c.k, Scale: 4} }

func (c *cell) gate(i int) Mem { return Mem{Base: c.gates[i], Index: c.k, Scale: 4} }

// becomes makes gate i what f makes of it.
func (c *cell) becomes(i int, f func(reg.VecVirtual) reg.VecVirtual) reg.VecVirtual {
	v := f(c.get(c.gate(i)))
	c.put(v, c.gate(i))
	return v
}

func mul32(a, b reg.VecVirtual) reg.VecVirtual { v := ymm(); VMULPS(a, b, v); return v }
func add32(a, b reg.VecVirtual) reg.VecVirtual { v := ymm(); VADDPS(a, b, v); return v }

// less1 is 1 - x.
func less1(x reg.VecVirtual) reg.VecVirtual {
	v := load(f32(1))
	VSUBPS(x, v, v)
	return v
}

// cellForward is cellForwardGo in package f32. What has to wait for c is a loop of
// its own, or little would go on meanwhile.
func cellForward(s isa) {
	cells(s, "cellForward", "z, was, c, th, h, out", []string{"was", "c", "th", "h", "out"}, func(c *cell) {
		kept := mul32(c.becomes(1, sigmoid32), c.get(c.at("was")))
		i := c.becomes(0, sigmoid32)
		c.put(add32(kept, mul32(i, c.becomes(3, tanh32))), c.at("c"))
		c.becomes(2, sigmoid32)
	}, func(c *cell) {
		th := tanh32(c.get(c.at("c")))
		c.put(th, c.at("th"))
		h := mul32(c.get(c.gate(2)), th)
		c.put(h, c.at("h"))
		c.put(h, c.at("out"))
	})
}

// cellBackward is cellBackwardGo.
func cellBackward(s isa) {
	cells(s, "cellBackward", "z, was, th, dh, dc", []string{"was", "th", "dh", "dc"}, func(c *cell) {
		get, put := c.get, c.put
		o, th, dh := get(c.gate(2)), get(c.at("th")), get(c.at("dh"))
		d := add32(get(c.at("dc")), mul32(mul32(dh, o), less1(mul32(th, th))))
		put(mul32(mul32(dh, th), mul32(o, less1(o))), c.gate(2))
		i, g := get(c.gate(0)), get(c.gate(3))
		put(mul32(mul32(d, g), mul32(i, less1(i))), c.gate(0))
		put(mul32(mul32(d, i), less1(mul32(g, g))), c.gate(3))
		f := get(c.gate(1))
		put(mul32(d, f), c.at("dc"))
		put(mul32(mul32(d, get(c.at("was"))), mul32(f, less1(f))), c.gate(1))
	})
}
