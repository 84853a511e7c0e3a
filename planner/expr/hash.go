package expr

import (
	"math"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Hash returns a number that is the same for expressions that are equal except for their positions,
// and rarely for others: sets of distinct conditions or aggregates use it instead of comparing with
// each.
func Hash(e Expr) uint64 { return hash(hashSeed, e) }

const hashSeed, hashPrime = 14695981039346656037, 1099511628211 // FNV-1a's

func mixHash(h, v uint64) uint64 { return (h ^ v) * hashPrime }

func mixText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = mixHash(h, uint64(s[i]))
	}
	return h
}

// mixDatum mixes a value in; those that are equal in more than one form, such as intervals, count as one.
func mixDatum(h uint64, d types.Datum) uint64 {
	switch v := d.(type) {
	case int64:
		h = mixHash(h, uint64(v))
	case bool:
		if v {
			h = mixHash(h, 1)
		}
	case string:
		h = mixText(h, v)
	case float64:
		switch {
		case v != v:
			h = mixHash(h, 1)
		case v != 0: // 0 is -0
			h = mixHash(h, math.Float64bits(v))
		}
	case number.Decimal:
		for _, b := range v.HashKey(nil) {
			h = mixHash(h, uint64(b))
		}
	case [16]byte:
		for _, b := range v {
			h = mixHash(h, uint64(b))
		}
	case []byte:
		for _, b := range v {
			h = mixHash(h, uint64(b))
		}
	case types.Array:
		h = mixHash(h, uint64(len(v.Elems)))
		for _, e := range v.Elems {
			h = mixDatum(h, e)
		}
	}
	return h
}

// HashWith is Hash where subqueries are told apart too, by what plan gives for theirs.
func HashWith(e Expr, plan func(*Subquery) uint64) uint64 {
	h := Hash(e)
	Walk(e, func(x Expr) bool {
		if s, ok := x.(*Subquery); ok {
			h = mixHash(h, plan(s))
		}
		return true
	})
	return h
}

func hash(h uint64, e Expr) uint64 {
	if e == nil {
		return mixHash(h, 0)
	}
	h = mixHash(h, uint64(e.Type().OID))
	switch x := e.(type) {
	case *Col:
		return mixHash(h, uint64(x.ID))
	case *Param:
		return mixHash(h, uint64(x.N))
	case *Const:
		return mixDatum(h, x.Val)
	case *Subquery:
		return h // plans are not hashed
	case *Call:
		h = mixText(h, x.Fn.Name)
	case *AnyAll:
		h = mixText(h, x.Fn.Name)
	}
	kids := e.Children()
	h = mixHash(h, uint64(len(kids)))
	for _, k := range kids {
		h = hash(h, k)
	}
	return h
}
