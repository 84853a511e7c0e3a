package agg

import "github.com/tributarydb/tributary/sql/types"

// Growing is the value of the rows of a group so far, when more will be added and it will be asked for
// again: rows that it has seen are not read again. Without it a running json_agg of n rows reads n²/2.
type Growing struct {
	c  *collect
	f  fold
	at int // the place after the rows in f (rowList.From)
}

// NewGrowing returns the value of the only group of a; nil if a must look at all rows again, as one that
// sorts them.
func NewGrowing(a Agg) *Growing {
	c, ok := a.(*collect)
	if !ok || c.sorts() {
		return nil
	}
	g := &Growing{c: c, f: c.newFold(0)}
	if _, ok := g.f.(*listFold); ok {
		g.f = &arrayFold{elem: c.args[0]}
	}
	return g
}

// Result is the value of all rows that were added. It may take what Need returns.
func (g *Growing) Result() (d types.Datum, err error) {
	if g.at, err = g.c.rows[0].From(g.c.layout, g.at, g.f.add); err != nil {
		return nil, err
	}
	return g.f.result()
}

// Held is the bytes that are kept between results.
func (g *Growing) Held() int64 { return g.f.held() }

// arrayFold is array_agg of values, which results have in common: each is a longer part of one slice.
type arrayFold struct {
	elem  types.Type
	elems []types.Datum
	bytes int64
}

func (f *arrayFold) add(row types.Row) error {
	f.elems = append(f.elems, row[0])
	f.bytes += types.DatumBytes(row[0])
	return nil
}

func (f *arrayFold) result() (types.Datum, error) {
	if len(f.elems) == 0 {
		return nil, nil
	}
	return types.Array{Elem: f.elem, Elems: f.elems}, nil
}

func (f *arrayFold) held() int64 { return f.bytes + 16*int64(cap(f.elems)) }
