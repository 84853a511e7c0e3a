package types

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/hash"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
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
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return CompareFloat(x, y)
		}
	case number.Decimal:
		if y, ok := b.(number.Decimal); ok {
			return x.Cmp(y)
		}
	case string:
		if y, ok := b.(string); ok {
			if t.OID == JSONBOID {
				return json.Compare(x, y)
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
	case datetime.Interval:
		if y, ok := b.(datetime.Interval); ok {
			return x.Cmp(y)
		}
	case datetime.TimeTZ:
		if y, ok := b.(datetime.TimeTZ); ok {
			return x.Cmp(y)
		}
	case Array:
		if y, ok := b.(Array); ok {
			for i := range min(len(x.Elems), len(y.Elems)) {
				if c := Compare(x.Elem, x.Elems[i], y.Elems[i]); c != 0 {
					return c
				}
			}
			return cmp.Compare(len(x.Elems), len(y.Elems))
		}
	case Row:
		if y, ok := b.(Row); ok {
			for i := range min(len(x), len(y)) {
				if c := Compare(t.fieldType(i, x[i]), x[i], y[i]); c != 0 {
					return c
				}
			}
			return cmp.Compare(len(x), len(y))
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

// TrimBlanks returns the significant part of a bpchar value, for comparisons and casts: all but the
// blanks at its end.
func TrimBlanks[S string | []byte](s S) S {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}

// Compared returns the part of a string of t that its order by bytes depends on.
func Compared[S string | []byte](t Type, s S) S {
	if t.OID == BpcharOID {
		return TrimBlanks(s)
	}
	return s
}

// EqualByBytes reports whether equal strings of t are the same bytes. They are
// not for bpchar, where blanks at the end do not count, and for jsonb, where 1.0
// is 1.00.
func (t Type) EqualByBytes() bool { return t.OID != BpcharOID && t.OID != JSONBOID }

// Equal reports whether two values of t are equal by the type's = operator,
// NULL being equal to NULL.
func Equal(t Type, a, b Datum) bool { return Compare(t, a, b) == 0 }

// Hash returns a hash of d that equal values share; it is the same on every node.
func Hash(t Type, d Datum, seed uint64) uint64 {
	switch v := d.(type) {
	case nil:
		return hash.Mix(seed, 0x9e3779b97f4a7c15)
	case bool:
		if v {
			return hash.Mix(seed, 1)
		}
		return hash.Mix(seed, 2)
	case int64:
		return hash.Mix(seed, uint64(v))
	case float64:
		switch {
		case v == 0:
			v = 0 // -0 too
		case math.IsNaN(v):
			v = math.NaN()
		}
		return hash.Mix(seed, math.Float64bits(v))
	case number.Decimal:
		var buf [32]byte
		return hash.Bytes(seed, v.HashKey(buf[:0]))
	case string:
		if t.OID == JSONBOID {
			return json.Hash(v, seed)
		}
		return hash.Bytes(seed, []byte(Compared(t, v)))
	case []byte:
		return hash.Bytes(seed, v)
	case [16]byte:
		return hash.Bytes(seed, v[:])
	case datetime.Interval:
		days, micros := v.Span()
		return hash.Mix(hash.Mix(seed, uint64(days)), uint64(micros))
	case datetime.TimeTZ:
		return hash.Mix(hash.Mix(seed, uint64(v.Micros)), uint64(v.Zone))
	case Array:
		h := hash.Mix(seed, uint64(len(v.Elems)))
		for _, e := range v.Elems {
			h = Hash(v.Elem, e, h)
		}
		return h
	case Row:
		h := hash.Mix(seed, uint64(len(v)))
		for i, e := range v {
			h = Hash(t.fieldType(i, e), e, h)
		}
		return h
	}
	return seed
}
