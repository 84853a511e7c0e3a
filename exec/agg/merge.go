package agg

// Merger is an Agg that merges the states of another of its kind without encoding them: state
// ids[i] of from is added to group groups[i].
type Merger interface {
	MergeFrom(groups []uint32, from Agg, ids []uint32) error
}

// MergeFrom implements Merger.
func (c *count) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*count)
	for i, g := range groups {
		c.n[g] += o.n[ids[i]]
	}
	return nil
}

// MergeFrom implements Merger.
func (s *intSum) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*intSum)
	for i, g := range groups {
		k := ids[i]
		p := o.at(int(k))
		s.add(g, p.sum, p.n)
		if o.over != nil {
			s.addHigh(g, o.over[k])
		}
	}
	return nil
}

// MergeFrom implements Merger.
func (s *floatSum) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	s.s.Merge(groups, &from.(*floatSum).s, ids)
	return nil
}

// MergeFrom implements Merger.
func (e *fixedExtreme[T]) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*fixedExtreme[T])
	for i, g := range groups {
		if o.has[ids[i]] {
			e.put(g, o.v[ids[i]])
		}
	}
	return nil
}

// MergeFrom implements Merger.
func (e *anyExtreme) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*anyExtreme)
	for i, g := range groups {
		e.put(g, o.v[ids[i]])
	}
	return nil
}

// MergeFrom implements Merger.
func (c *collect) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*collect)
	for i, g := range groups {
		c.bytes += c.rows[g].AppendList(&o.rows[ids[i]])
	}
	return nil
}

// MergeFrom implements Merger.
func (p *pair) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	p.spreads = nil
	p.s.Merge(groups, &from.(*pair).s, ids)
	return nil
}

// MergeFrom implements Merger.
func (v *floatVariance) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	v.s.Merge(groups, &from.(*floatVariance).s, ids)
	return nil
}

// MergeFrom implements Merger.
func (s *intervalSum) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*intervalSum)
	for i, g := range groups {
		s.add(g, o.sum[ids[i]], o.n[ids[i]])
	}
	return nil
}

// MergeFrom implements Merger.
func (l *logic) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*logic)
	for i, g := range groups {
		if x := o.v[ids[i]]; x > 0 {
			l.put(g, x == 2)
		}
	}
	return nil
}
