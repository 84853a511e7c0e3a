package metric

import (
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/canon"
)

// Concordance is the state of Harrell's index (pairs.Concordance): all rows, since
// the index is exact.
type Concordance struct{ rows []pairs.WeightedSurvival }

// Add counts a row.
func (c *Concordance) Add(r pairs.WeightedSurvival) {
	if r.Weight != 0 {
		c.rows = append(c.rows, r)
	}
}

// Merge adds another state.
func (c *Concordance) Merge(o *Concordance) { c.rows = append(c.rows, o.rows...) }

// Value is the index; ok is false where no pair can be compared.
func (c *Concordance) Value() (v float64, ok bool) { return pairs.Concordance(c.rows) }

// Encode writes the bytes of the state.
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
		c.rows = append(c.rows, pairs.WeightedSurvival{Time: d.F64(), Event: d.Bool(), Risk: d.F64(), Weight: d.F64()})
	}
	return c
}
