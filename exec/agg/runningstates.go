package agg

// Runner is implemented by aggregates that turn the states of rows that follow each
// other into those of all rows up to them. Run adds to each of groups, in their order, the
// state of the group numbered before it, whose rows come first.
type Runner interface {
	Run(groups []uint32) error
}

// Run implements Runner.
func (c *count) Run(groups []uint32) error {
	for _, g := range groups {
		c.n[g] += c.n[g-1]
	}
	return nil
}

// Run implements Runner: sums do not depend on the order.
func (s *intSum) Run(groups []uint32) error { return s.MergeFrom(groups, s, before(groups)) }

// Run implements Runner.
func (s *decimalSum) Run(groups []uint32) error { return s.MergeFrom(groups, s, before(groups)) }

func before(groups []uint32) []uint32 {
	out := make([]uint32, len(groups))
	for i, g := range groups {
		out[i] = g - 1
	}
	return out
}

// Run implements Runner.
func (e *fixedExtreme[T]) Run(groups []uint32) error {
	runExtreme(groups, e.v, e.has, e.put)
	return nil
}

// Run implements Runner.
func (e *numericExtreme) Run(groups []uint32) error {
	runExtreme(groups, e.v, e.has, e.put)
	return nil
}

// runExtreme combines each group with the one before it: of equal values the first stays.
func runExtreme[T any](groups []uint32, v []T, has []bool, put func(g uint32, x T)) {
	for _, g := range groups {
		if !has[g-1] {
			continue
		}
		x, had := v[g], has[g]
		v[g], has[g] = v[g-1], true
		if had {
			put(g, x)
		}
	}
}
