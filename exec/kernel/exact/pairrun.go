package exact

// pairRun is room for pairs of one group, of which each of eight lanes has sums of its own.
type pairRun struct {
	xs, ys [fullRows]float64
	lanes  [16][8]int64
	groups [fullRows]uint32
}

const pairRunBytes = 8*fullRows*2 + 4*fullRows + 16*8*8

// AddList adds the pairs of some rows, all if rows is nil, to one group.
func (t *Pairs) AddList(g uint32, rows []int32, xs, ys []float64) {
	if t.run == nil {
		t.run = &pairRun{}
	}
	r := t.run
	if rows == nil {
		t.bases(xs, ys)
		ys = ys[:len(xs)]
		for len(xs) > 0 {
			n := min(len(xs), fullRows)
			t.addRun(g, xs[:n], ys[:n])
			xs, ys = xs[n:], ys[n:]
		}
		return
	}
	for len(rows) > 0 {
		n := min(len(rows), fullRows)
		for i, row := range rows[:n] {
			r.xs[i], r.ys[i] = xs[row], ys[row]
		}
		t.bases(r.xs[:n], r.ys[:n])
		t.addRun(g, r.xs[:n], r.ys[:n])
		rows = rows[n:]
	}
}

// addRun adds up to fullRows pairs.
func (t *Pairs) addRun(g uint32, xs, ys []float64) {
	r := t.run
	for len(xs) > 0 {
		n := len(xs) &^ 7
		if n > 0 && wide && t.x != 0 && t.y != 0 {
			r.lanes = [16][8]int64{}
			if n = addPairRun(&r.lanes[0][0], &xs[0], &ys[0], n, int(t.x), int(t.y)); n > 0 {
				t.n[g] += int64(n)
				t.carry(g)
				for i, lane := range t.s[g].limbs() {
					for _, v := range &r.lanes[i] {
						*lane += v
					}
				}
				t.carry(g)
			}
		} else {
			n = 0
		}
		if n == 0 {
			n = min(len(xs), 8)
			if !wide {
				n = len(xs)
			}
			for i := range r.groups[:n] {
				r.groups[i] = g
			}
			t.add(r.groups[:n], xs[:n], ys[:n])
		}
		xs, ys = xs[n:], ys[n:]
	}
}

// limbs are all those of the sums of a group.
func (p *shortPair) limbs() [16]*int64 {
	return [16]*int64{&p.x[0], &p.x[1], &p.y[0], &p.y[1], &p.xy[0], &p.xy[1], &p.xy[2], &p.xy[3],
		&p.xx[0], &p.xx[1], &p.xx[2], &p.xx[3], &p.yy[0], &p.yy[1], &p.yy[2], &p.yy[3]}
}
