package metric

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/ml/canon"
)

// Concordance is Harrell's index (Harrell et al. 1982): of the pairs of rows of
// which it is known whose event came first, the share in which that row has the
// greater risk, ties of risk counting half. A pair counts w·w of its weights. It
// is exact, so it grows with the rows.
type Concordance struct{ rows []Survival }

// Survival is a row: when its event happened, or until when it had not.
type Survival struct {
	Time   float64
	Event  bool
	Risk   float64
	Weight float64
}

// ConcordanceBytes is the memory of a Concordance of so many rows and of its Value.
func ConcordanceBytes(rows int64) int64 {
	return rows * int64(unsafe.Sizeof(Survival{})+2*unsafe.Sizeof(float64(0)))
}

// Add counts a row.
func (c *Concordance) Add(r Survival) {
	if r.Weight != 0 {
		c.rows = append(c.rows, r)
	}
}

// Merge adds another state.
func (c *Concordance) Merge(o *Concordance) { c.rows = append(c.rows, o.rows...) }

// Value is the index; ok is false where no pair can be compared. Of two rows with
// the same time only an event and one that had none can be.
func (c *Concordance) Value() (v float64, ok bool) {
	rows := c.rows
	slices.SortFunc(rows, func(a, b Survival) int { // whatever order they came in
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Risk, b.Risk), cmp.Compare(a.Weight, b.Weight))
	})
	risks := make([]float64, len(rows))
	for i, r := range rows {
		risks[i] = r.Risk
	}
	slices.Sort(risks)
	risks = slices.Compact(risks)
	later := make(sums, len(risks)+1) // weights of rows that lasted longer, by risk
	var all, concordant, pairs float64
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].Time == rows[from].Time {
			to++
		}
		for pass := range 3 { // those without an event, the pairs, those with one
			for _, r := range rows[from:to] {
				at, _ := slices.BinarySearch(risks, r.Risk)
				switch {
				case pass != 1 && r.Event == (pass == 2):
					later.add(at, r.Weight)
					all += r.Weight
				case pass == 1 && r.Event:
					below, upTo := later.below(at), later.below(at+1)
					concordant += float64(r.Weight * (below + float64(0.5*(upTo-below))))
					pairs += float64(r.Weight * all)
				}
			}
		}
		from = to
	}
	if pairs == 0 {
		return 0, false
	}
	return concordant / pairs, true
}

// sums are numbers whose first so many are added up quickly (Fenwick 1994).
type sums []float64

func (s sums) add(i int, v float64) {
	for i++; i < len(s); i += i & -i {
		s[i] += v
	}
}

// below is the sum of the first n.
func (s sums) below(n int) (v float64) {
	for ; n > 0; n -= n & -n {
		v += s[n]
	}
	return v
}

// Encode gives the bytes of the state.
func (c *Concordance) Encode(e *canon.E) {
	e.U32(uint32(len(c.rows)))
	for _, r := range c.rows {
		e.F64(r.Time)
		e.Bool(r.Event)
		e.F64(r.Risk)
		e.F64(r.Weight)
	}
}

// DecodeConcordance reads what Encode wrote.
func DecodeConcordance(d *canon.D) *Concordance {
	c := &Concordance{}
	for range d.Count(25) {
		c.rows = append(c.rows, Survival{d.F64(), d.Bool(), d.F64(), d.F64()})
	}
	return c
}
