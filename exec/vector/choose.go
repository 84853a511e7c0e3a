package vector

import "unsafe"

// Choose returns the rows of x where cond is 1 and those of y where it is 0, all of them of a form k of fixed width. x and y
// have len(cond) rows. Where one of them is NULL the other's values are shared, only their NULLs are made.
func Choose(a *Arena, k Kind, cond []uint8, x, y *Vec) *Vec {
	n := len(cond)
	switch {
	case x.AllNull() && y.AllNull():
		return NewNull(n)
	case y.AllNull():
		return masked(a, x, packBits(cond))
	case x.AllNull():
		bits := packBits(cond)
		for i := range bits {
			bits[i] = ^bits[i]
		}
		return masked(a, y, bits)
	}
	out := &Vec{Kind: k, N: n}
	switch k.Width() {
	case 1:
		chooseFixed[uint8](a, out, cond, x, y)
	case 2:
		chooseFixed[int16](a, out, cond, x, y)
	case 4:
		chooseFixed[int32](a, out, cond, x, y)
	case 8:
		chooseFixed[int64](a, out, cond, x, y)
	}
	if x.Valid == nil && y.Valid == nil {
		return out
	}
	vx, vy := validBits(a, x), validBits(a, y)
	out.Valid = packBits(cond)
	for i, c := range out.Valid {
		out.Valid[i] = c&vx[i] | ^c&vy[i]
	}
	return out
}

// masked is v with NULL where a bit is 0.
func masked(a *Arena, v *Vec, bits []byte) *Vec {
	out := *v.Spread(a)
	out.Arr, out.Valid = nil, AndBits(a, bits, out.Valid, out.N)
	return &out
}

// validBits returns which rows of v are not NULL; v is not a single NULL.
func validBits(a *Arena, v *Vec) []byte {
	if v.One || v.Valid == nil {
		return ones(a, v.N)
	}
	return v.Valid
}

func chooseFixed[T uint8 | int16 | int32 | int64](a *Arena, out *Vec, cond []uint8, x, y *Vec) {
	vals := Alloc[T](a, len(cond))
	from, other := Values[T](x), Values[T](y)
	switch {
	case x.One && y.One:
		p, d := other[0], from[0]^other[0]
		for i, c := range cond {
			vals[i] = p ^ d&-T(c)
		}
	case x.One:
		p := from[0]
		for i, c := range cond {
			q := other[i]
			vals[i] = q ^ (p^q)&-T(c)
		}
	case y.One:
		q := other[0]
		for i, c := range cond {
			vals[i] = q ^ (from[i]^q)&-T(c)
		}
	default:
		for i, c := range cond {
			vals[i] = other[i] ^ (from[i]^other[i])&-T(c)
		}
	}
	out.P = unsafe.Pointer(unsafe.SliceData(vals))
}

// True returns a boolean vec as bytes: which rows are true. They are read only.
func True(a *Arena, v *Vec) []uint8 {
	if v.Kind == Bool && !v.One && v.Valid == nil {
		return Values[uint8](v)
	}
	t := Alloc[uint8](a, v.N)
	switch {
	case v.AllNull():
		clear(t)
	case v.One:
		x := Values[uint8](v)[0]
		for i := range t {
			t[i] = x
		}
	default:
		for i, x := range Values[uint8](v) {
			t[i] = x & (v.Valid[i>>3] >> (i & 7) & 1)
		}
	}
	return t
}
