package join

// nulls finds, for rows without a match of AntiNull joins and of Marks that are
// IN, whether the answer is NULL rather than false: a NULL on either side, and
// a build row to meet.
func (p *prober) nulls() {
	if !p.t.nonEmpty.Load() {
		return
	}
	any, null := p.t.hasNull.Load(), p.cfg.nullKeys(p.keys, p.n)
	for i := range p.unknown[:p.n] {
		at := i
		if p.sel != nil {
			at = int(p.sel[i])
		}
		if any || null != nil && null[at] {
			p.unknown[i] = true
		}
	}
}
