package expr

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
		// Values that are equal in more than one form count as one.
		switch v := x.Val.(type) {
		case int64:
			h = mixHash(h, uint64(v))
		case bool:
			if v {
				h = mixHash(h, 1)
			}
		case string:
			h = mixText(h, v)
		}
		return h
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
