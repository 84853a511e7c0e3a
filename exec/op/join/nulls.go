package join

// nulls finds, for rows without a match of AntiNull joins and of Marks that are
// IN, whether the answer is NULL rather than false: a NULL on either side, and
// a build row to meet.
func (p *prober) nulls() {
	if !p.t.nonEmpty.Load() {
		return
	}
	null := p.cfg.nullKeys(p.keys, p.n)
	any := p.t.hasNull.Load()
	for i := 0; i < p.n; i++ {
		if any || null != nil && null[i] {
			p.unknown[i] = true
		}
	}
}
