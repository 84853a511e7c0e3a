package recommend

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor is a trained model.
type predictor struct {
	*sides
	fitted *feature.Fitted
	mean   float64
	of     [2][]float32 // the vectors of users and of items
	seen   []byte       // what each user has rated: see pack
	at     []int32      // where in seen the items of each user are
	tiles  []float32    // the items' vectors, eight items a tile, padded with zeros
	long   []float64    // the lengths of the items' factors
}

// pack returns the items that each user has: their number, the first, and the distances of those that follow.
func (r *ratings) pack() []byte {
	b := make([]byte, 0, len(r.Other)+2*len(r.Start))
	for u := range len(r.Start) - 1 {
		own := r.Other[r.Start[u]:r.Start[u+1]]
		b = binary.AppendUvarint(b, uint64(len(own)))
		last := int32(0)
		for _, i := range own {
			b = binary.AppendUvarint(b, uint64(i-last))
			last = i
		}
	}
	return b
}

// unpack calls do, if it is not nil, with the numbers of the items that begin at at, and returns where they end; ok is
// false for bytes that are none.
func (p *predictor) unpack(at int, do func(item int)) (end int, ok bool) {
	next := func() int {
		v, n := binary.Uvarint(p.seen[at:])
		if at += n; n <= 0 || v > math.MaxInt32 {
			ok = false
			return 0
		}
		return int(v)
	}
	ok = true
	item := 0
	for k := range next() {
		d := next()
		if item += d; !ok || item >= p.items || k > 0 && d == 0 {
			return at, false
		}
		if do != nil {
			do(item)
		}
	}
	return at, ok
}

// prepare makes what is made of the vectors; ok is false if they and seen are no model.
func (p *predictor) prepare() (ok bool) {
	if !p.fits(p.of[0], p.of[1]) {
		return false
	}
	p.at = make([]int32, p.users)
	at := 0
	for u := range p.users {
		p.at[u] = int32(at)
		if at, ok = p.unpack(at, nil); !ok {
			return false
		}
	}
	if at != len(p.seen) {
		return false
	}
	d := p.width()
	none := make([]float32, d)
	p.tiles, p.long = make([]float32, padded(p.items)*d), make([]float64, p.items)
	var rows [f64.Lanes]*float32
	for i := 0; i < p.items; i += f64.Lanes {
		for l := range rows {
			if rows[l] = &none[0]; i+l < p.items {
				own := p.of[1][(i+l)*d:][:d]
				sum := 0.0
				for _, x := range own[:p.factors] {
					sum = f64.FMA(float64(x), float64(x), sum)
				}
				rows[l], p.long[i+l] = &own[0], math.Sqrt(sum)
			}
		}
		f64.Gather32(p.tiles[i*d:], &rows, d)
	}
	return true
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.Bool(p.implicit)
	e.U8(uint8(p.user))
	e.U32(uint32(p.factors))
	e.F64(p.mean)
	e.F32s(p.of[0])
	e.F32s(p.of[1])
	e.Bytes(p.seen)
}

// Decode implements family.Family.
func (factorization) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	s := &sides{implicit: d.Bool(), user: int(d.U8()), factors: int(d.U32())}
	p := &predictor{sides: s, fitted: f, mean: d.F64(), of: [2][]float32{d.F32s(), d.F32s()}, seen: slices.Clone(d.Bytes())}
	if s.user > 1 || s.factors < 1 || s.factors > mostFactors || len(f.Cols) != 2 || f.Codes != 2 || p.mean-p.mean != 0 {
		d.Fail()
		return nil, d.Done("a factorization")
	}
	s.item = 1 - s.user
	s.users, s.items = len(f.Cols[s.user].Cats), len(f.Cols[s.item].Cats)
	for _, list := range p.of {
		for _, x := range list {
			if x-x != 0 {
				d.Fail()
			}
		}
	}
	if !d.OK() || !p.prepare() {
		d.Fail()
		return nil, d.Done("a factorization")
	}
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 {
	return 4*int64(len(p.of[0])+len(p.of[1])+len(p.tiles)+len(p.at)) + 8*int64(len(p.long)) + int64(len(p.seen)) + 512
}

// vector is that of one of a side, with the intercept of the other side's vectors, 1 or 0.
func (p *predictor) vector(to []float64, side, number int, intercept float64) {
	d := p.width()
	widen(to[:d], p.of[side][number*d:][:d])
	if !p.implicit {
		to[d-1] = intercept
	}
}

// outset is what the predictions of a user begin with, beside the products.
func (p *predictor) outset(user int32) float64 {
	if p.implicit || user < 0 {
		return p.mean
	}
	d := p.width()
	return p.mean + float64(p.of[0][int(user)*d+d-1])
}

// Score implements family.Predictor. Of a user or an item that training did not have nothing but intercepts counts.
func (p *predictor) Score(b *block.Block) *family.Scores {
	out := &family.Scores{Rows: b.Rows, Value: make([]float64, b.Rows)}
	d := p.width()
	for i := range out.Value {
		user, item := p.codes(b.CodeAt(i, 0), b.CodeAt(i, 1))
		sum := 0.0
		switch {
		case item >= 0 && user >= 0: // in the order of f64.Margins
			x, y := p.of[0][int(user)*d:][:d], p.of[1][int(item)*d:][:d]
			for j, v := range y[:p.factors] {
				sum = f64.FMA(float64(x[j]), float64(v), sum)
			}
			if !p.implicit {
				sum += float64(y[d-1])
			}
		case item >= 0 && !p.implicit:
			sum = float64(p.of[1][int(item)*d+d-1])
		}
		out.Value[i] = sum + p.outset(user)
	}
	return out
}

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	return nil, pgerr.Unsupported("factorizations can be written in the format json only")
}

// List implements family.Lister: the factors and intercepts of users and items, whose values stand as classes.
func (p *predictor) List(relation string, _ int, put func(row []types.Datum) error) (ok bool, err error) {
	if relation != "weights" {
		return false, nil
	}
	add := func(class types.Datum, name string, v float64) {
		if err == nil {
			err = put(append([]types.Datum{class, name, v}, make([]types.Datum, 6)...))
		}
	}
	d := p.width()
	if !p.implicit {
		add(nil, "intercept", p.mean)
	}
	for side, col := range []int{p.user, p.item} {
		c := &p.fitted.Cols[col]
		for k, key := range c.Cats {
			text := feature.KeyText(c.Type, key)
			for j, x := range p.of[side][k*d:][:d] {
				if j == p.factors {
					add(text, c.Name+" intercept", float64(x))
				} else {
					add(text, fmt.Sprintf("%s[%d]", c.Name, j+1), float64(x))
				}
			}
		}
	}
	return true, err
}

// Interfaces.
var (
	_ family.Described = (*predictor)(nil)
	_ family.Lister    = (*predictor)(nil)
	_ family.Ranker    = (*predictor)(nil)
)
