package types

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// Compare orders two values of t as a btree index does: NaN after all numbers,
// intervals with months of 30 days, strings by bytes, bpchar without trailing
// blanks, NULL after everything.
func Compare(t Type, a, b Datum) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return 1
		}
		return -1
	}
	switch x := a.(type) {
	case bool:
		if y, ok := b.(bool); ok {
			switch {
			case x == y:
				return 0
			case x:
				return 1
			}
			return -1
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp64(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return CompareFloat(x, y)
		}
	case Decimal:
		if y, ok := b.(Decimal); ok {
			return x.Cmp(y)
		}
	case string:
		if y, ok := b.(string); ok {
			if t.OID == JSONBOID {
				return CompareJSONB(x, y)
			}
			return strings.Compare(Compared(t, x), Compared(t, y))
		}
	case []byte:
		if y, ok := b.([]byte); ok {
			return bytes.Compare(x, y)
		}
	case [16]byte:
		if y, ok := b.([16]byte); ok {
			return bytes.Compare(x[:], y[:])
		}
	case Interval:
		if y, ok := b.(Interval); ok {
			return x.Cmp(y)
		}
	case TimeTZ:
		if y, ok := b.(TimeTZ); ok {
			return x.Cmp(y)
		}
	case Array:
		if y, ok := b.(Array); ok {
			for i := range min(len(x.Elems), len(y.Elems)) {
				if c := Compare(x.Elem, x.Elems[i], y.Elems[i]); c != 0 {
					return c
				}
			}
			return sgn(len(x.Elems) - len(y.Elems))
		}
	case Row:
		if y, ok := b.(Row); ok {
			for i := range min(len(x), len(y)) {
				if c := Compare(t.fieldType(i, x[i]), x[i], y[i]); c != 0 {
					return c
				}
			}
			return sgn(len(x) - len(y))
		}
	}
	return 0
}

// CompareFloat orders floats with NaN equal to itself and above all others.
func CompareFloat(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	nx, ny := math.IsNaN(x), math.IsNaN(y)
	switch {
	case nx && ny:
		return 0
	case nx:
		return 1
	}
	return -1
}

// Cmp orders intervals: a month is 30 days, a day 24 hours.
func (iv Interval) Cmp(o Interval) int {
	ad, am := iv.span()
	bd, bm := o.span()
	if c := cmp64(ad, bd); c != 0 {
		return c
	}
	return cmp64(am, bm)
}

// span is the interval as whole days and a rest within a day.
func (iv Interval) span() (days, micros int64) {
	days, micros = iv.Micros/microsPerDay, iv.Micros%microsPerDay
	if micros < 0 {
		days, micros = days-1, micros+microsPerDay
	}
	return days + int64(iv.Months)*30 + int64(iv.Days), micros
}

// Cmp orders by the instant, then by the zone.
func (v TimeTZ) Cmp(o TimeTZ) int {
	if c := cmp64(v.Micros+int64(v.Zone)*1e6, o.Micros+int64(o.Zone)*1e6); c != 0 {
		return c
	}
	return cmp64(int64(v.Zone), int64(o.Zone))
}

// TrimBlanks is the part of a bpchar value that counts when it is compared or
// becomes another type: all but the blanks at its end.
func TrimBlanks[S string | []byte](s S) S {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}

// Compared is the part of a string of t that its order by bytes looks at.
func Compared[S string | []byte](t Type, s S) S {
	if t.OID == BpcharOID {
		return TrimBlanks(s)
	}
	return s
}

// EqualByBytes tells whether equal strings of t are the same bytes. They are
// not for bpchar, where blanks at the end do not count, and for jsonb, where 1.0
// is 1.00.
func (t Type) EqualByBytes() bool { return t.OID != BpcharOID && t.OID != JSONBOID }

// Equal tells whether two values of t are equal by the type's = operator,
// NULL being equal to NULL.
func Equal(t Type, a, b Datum) bool { return Compare(t, a, b) == 0 }

// Hash is a hash of d that equal values share; it is the same on every node.
func Hash(t Type, d Datum, seed uint64) uint64 {
	switch v := d.(type) {
	case nil:
		return mix64(seed, 0x9e3779b97f4a7c15)
	case bool:
		if v {
			return mix64(seed, 1)
		}
		return mix64(seed, 2)
	case int64:
		return mix64(seed, uint64(v))
	case float64:
		switch {
		case v == 0:
			v = 0 // -0 too
		case math.IsNaN(v):
			v = math.NaN()
		}
		return mix64(seed, math.Float64bits(v))
	case Decimal:
		var buf [32]byte
		return hashBytes(seed, v.HashKey(buf[:0]))
	case string:
		if t.OID == JSONBOID {
			return hashJSONB(v, seed)
		}
		return hashBytes(seed, []byte(Compared(t, v)))
	case []byte:
		return hashBytes(seed, v)
	case [16]byte:
		return hashBytes(seed, v[:])
	case Interval:
		days, micros := v.span()
		return mix64(mix64(seed, uint64(days)), uint64(micros))
	case TimeTZ:
		return mix64(mix64(seed, uint64(v.Micros)), uint64(v.Zone))
	case Array:
		h := mix64(seed, uint64(len(v.Elems)))
		for _, e := range v.Elems {
			h = Hash(v.Elem, e, h)
		}
		return h
	case Row:
		h := mix64(seed, uint64(len(v)))
		for i, e := range v {
			h = Hash(t.fieldType(i, e), e, h)
		}
		return h
	}
	return seed
}

// mix64 folds a word into a hash by a full 128-bit multiply.
func mix64(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0xa0761d6478bd642f, v^0xe7037ed1a0b428db)
	hi2, lo2 := bits.Mul64(hi^lo^h, 0x8ebc6af09c88c6e3)
	return hi2 ^ lo2
}

func hashBytes(h uint64, b []byte) uint64 {
	h = mix64(h, uint64(len(b)))
	for len(b) >= 8 {
		h = mix64(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) > 0 {
		var w [8]byte
		copy(w[:], b)
		h = mix64(h, binary.LittleEndian.Uint64(w[:]))
	}
	return h
}
