package record

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
)

// Draw marks the rows of a leaf that are held out, before its view v, or another one,
// is split. The marks stay until another drawer draws.
func (l *Leaf) Draw(d *holdout.Drawer, v *View) error {
	v.share = d.Share()
	if l.drawer == d {
		return nil
	}
	l.drawer, l.share = d, d.Share()
	words := int64((l.Rows + 63) / 64)
	if l.held != nil {
		l.held, v.held = nil, nil
		l.store.shrink(8 * words)
	}
	if d.Share() <= 0 || l.store.cfg.Windows != nil {
		return nil
	}
	if err := l.store.grow(8 * words); err != nil {
		return err
	}
	l.held = make([]uint64, words)
	v.held = l.held
	spread := l.draws(d)
	for i := range v.Rows {
		if s := spread[block.RowHash(v.rec(i))]; s != nil {
			if s.drawn() {
				l.held[i/64] |= 1 << (i % 64)
			}
			continue
		}
		if d.Drawn(block.RowHash(v.rec(i))) {
			l.held[i/64] |= 1 << (i % 64)
		}
	}
	return nil
}

// Split parts the rows: those that Leaf.Draw marked make the second view. Both
// live as long as v. Where it marked none the first is v itself. Of a keyed
// store it parts windows: see splitWindows.
func (v *View) Split() (rest, drawn *View) {
	if v.keyed != nil {
		return v.splitWindows(v.share)
	}
	if v.held == nil {
		return v, &View{layout: v.layout, release: func() {}}
	}
	return v.SplitBy(func(i int) bool { return v.held[i/64]>>(i%64)&1 != 0 })
}

// SplitBy parts the rows: those that second takes make the second view. Both live
// as long as v.
func (v *View) SplitBy(second func(i int) bool) (rest, taken *View) {
	a, b := *v, *v
	a.order, b.order, a.recs, b.recs = nil, nil, nil, nil
	a.release, b.release = func() {}, func() {}
	for i, p := range v.order {
		if second(i) {
			b.order = append(b.order, p)
		} else {
			a.order = append(a.order, p)
		}
	}
	a.Rows, b.Rows = len(a.order), len(b.order)
	return &a, &b
}

// Hold marks the rows that are held out of a view that no leaf has.
func (v *View) Hold(d *holdout.Drawer) {
	v.share, v.held = d.Share(), nil
	if !d.Draws() {
		return
	}
	v.held = make([]uint64, (v.Rows+63)/64)
	for i := range v.Rows {
		if d.Drawn(block.RowHash(v.rec(i))) {
			v.held[i/64] |= 1 << (i % 64)
		}
	}
}

// nextBytes is about the memory of a row in the map that Folds makes.
const nextBytes = 48

// Folds divides the rows into k folds, by their hashes; copies of a row go to the folds in turn. The result is charged
// until done is called.
func (v *View) Folds(k int) (folds []uint8, done func(), err error) {
	rows := int64(v.Rows)
	done = func() {}
	if v.store != nil {
		if err := v.store.grow(rows * (1 + nextBytes)); err != nil {
			return nil, nil, err
		}
		defer v.store.shrink(rows * nextBytes)
		done = func() { v.store.shrink(rows) }
	}
	out, next := make([]uint8, v.Rows), make(map[block.RowHash]uint8, v.Rows)
	for i := range out {
		h := block.RowHash(v.rec(i))
		fold, again := next[h]
		if !again {
			fold = uint8(be.Uint64(h[8:]) % uint64(k))
		}
		out[i], next[h] = fold, (fold+1)%uint8(k)
	}
	return out, done, nil
}

// Only returns row i alone, as long as v lives.
func (v *View) Only(i int) *View {
	c := *v
	c.order, c.recs, c.Rows, c.release = v.order[i:i+1], nil, 1, func() {}
	return &c
}

// Banded returns the rows of a view by band, nil for none.
func (v *View) Banded(z holdout.Bands) []*View {
	out := make([]*View, z.Parts())
	for i, at := range v.order {
		p := &out[z.Part(block.RowHash(v.rec(i)))]
		if *p == nil {
			c := *v
			c.order, c.recs, c.Rows, c.release = nil, nil, 0, func() {}
			*p = &c
		}
		(*p).order, (*p).Rows = append((*p).order, at), (*p).Rows+1
	}
	return out
}
