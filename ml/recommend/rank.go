package recommend

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
)

// atOnce is how many rows are compared with the items at once.
const atOnce = 4

// Rank implements family.Ranker.
func (p *predictor) Rank(b *block.Block, by family.RankBy, k int) *family.Ranked {
	out := &family.Ranked{Column: p.item}
	top := family.NewTop(k)
	p.compare(b, by == family.RankSimilar, func(user, item int32, z []float64) {
		if z == nil {
			out.End()
			return
		}
		from := p.outset(user)
		switch by {
		case family.RankSimilar:
			from, z[item] = 0, math.Inf(-1)
			for i, l := range p.long {
				if l > 0 {
					z[i] /= l
				}
			}
		case family.RankUnseen:
			p.unpack(int(p.at[user]), func(i int) { z[i] = math.Inf(-1) })
		}
		for i, v := range z[:p.items] {
			top.Offer(v, int32(i))
		}
		out.Take(top, from)
	})
	return out
}

// Most implements family.Ranker.
func (p *predictor) Most() int { return p.items }

// Places implements family.Ranker.
func (p *predictor) Places(b *block.Block) (places, of []float64) {
	places, of = make([]float64, 0, b.Rows), make([]float64, 0, b.Rows)
	p.compare(b, false, func(user, item int32, z []float64) {
		if z == nil || item < 0 {
			places, of = append(places, math.NaN()), append(of, math.NaN())
			return
		}
		own, place, all := z[item], 1, p.items
		p.unpack(int(p.at[user]), func(i int) {
			if z[i] = math.Inf(-1); i != int(item) {
				all--
			}
		})
		for i, v := range z[:p.items] {
			if v > own || v == own && i < int(item) {
				place++
			}
		}
		places, of = append(places, float64(place)), append(of, float64(all))
	})
	return places, of
}

// compare calls do with the products of all items' vectors with that of each row's user, or item, normalised; with nil
// where training did not have it.
func (p *predictor) compare(b *block.Block, items bool, do func(user, item int32, z []float64)) {
	d, n := p.width(), padded(p.items)
	var user, item [atOnce]int32
	w, z := make([]float64, atOnce*d), make([]float64, atOnce*n)
	for from := 0; from < b.Rows; from += atOnce {
		rows := min(atOnce, b.Rows-from)
		clear(w)
		clear(z)
		for r := range rows {
			user[r], item[r] = p.codes(b.CodeAt(from+r, 0), b.CodeAt(from+r, 1))
			v := w[r*d:][:d]
			switch {
			case items && item[r] >= 0:
				if p.vector(v, 1, int(item[r]), 0); p.long[item[r]] > 0 {
					f64.Scale(v, 1/p.long[item[r]])
				}
			case !items && user[r] >= 0:
				p.vector(v, 0, int(user[r]), 1)
			}
		}
		// As many items at once as stay in the nearest caches, with all rows.
		const tile = 256
		for at := 0; at < n; at += tile {
			m := min(tile, n-at)
			f64.MarginsOf(z[at:], n, m, p.tiles[at*d:(at+m)*d], w[:rows*d], d)
		}
		for r := range rows {
			if items && item[r] < 0 || !items && user[r] < 0 {
				do(user[r], item[r], nil)
			} else {
				do(user[r], item[r], z[r*n:][:n])
			}
		}
	}
}

// Scratch implements family.ScratchPredictor.
func (p *predictor) Scratch() int64 { return 8 * int64(atOnce) * int64(padded(p.items)+p.width()) }
