package vector

import (
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// Places remembers where constants are among the values of the dictionary last seen.
type Places struct {
	key arrow.ArrayData
	at  map[string]int32 // -1: it is not there
}

// mostPlaces is how many constants are remembered.
const mostPlaces = 64

// Scatter is Scatter. Where the parts are indices of one dictionary, and constants that are among its values, as in
// CASE … THEN url ELSE 'none', the column has that dictionary too.
func (p *Places) Scatter(a *Arena, n int, t types.Type, parts []Part) (*Vec, error) {
	if v := p.indices(a, n, parts); v != nil {
		return v, nil
	}
	return Scatter(a, n, t, parts)
}

// indices returns nil where the parts have no dictionary in common.
func (p *Places) indices(a *Arena, n int, parts []Part) *Vec {
	var d *Vec
	for _, x := range parts {
		switch {
		case x.V.One:
		case x.V.Kind != Dict || x.V.Key == nil || d != nil && d.Key != x.V.Key:
			return nil
		default:
			d = x.V
		}
	}
	if d == nil || len(parts) == 1 && len(parts[0].Rows) == n {
		return nil
	}
	idx, valid, some := Alloc[int32](a, n), Alloc[byte](a, batch.BitmapBytes(n)), 0
	clear(idx)
	clear(valid)
	put := func(r, k int32) {
		idx[r] = k
		valid[r>>3] |= 1 << (r & 7)
		some++
	}
	for _, x := range parts {
		if x.V.AllNull() || len(x.Rows) == 0 {
			continue
		}
		if x.V.One {
			k := p.place(d, x.V.Str(0))
			if k < 0 {
				return nil
			}
			for _, r := range x.Rows {
				put(r, k)
			}
			continue
		}
		from := Values[int32](x.V)
		for i, r := range x.Rows {
			if !x.V.Null(i) {
				put(r, from[i])
			}
		}
	}
	out := NewFixed(Dict, idx, valid)
	if some == n {
		out.Valid = nil
	}
	out.Dict, out.Key = d.Dict, d.Key
	return out
}

// place returns the index of s in the dictionary of d, -1 if it is not there.
func (p *Places) place(d *Vec, s string) int32 {
	if p.key != d.Key || len(p.at) == mostPlaces {
		p.key, p.at = d.Key, map[string]int32{}
	}
	k, ok := p.at[s]
	if !ok {
		k = -1
		for i := range d.Dict.N {
			if int(d.Dict.Off[i+1]-d.Dict.Off[i]) == len(s) && d.Dict.Str(i) == s {
				k = int32(i)
				break
			}
		}
		p.at[strings.Clone(s)] = k
	}
	return k
}
