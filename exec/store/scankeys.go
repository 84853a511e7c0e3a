package store

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// keyReader leaves out rows of a split that find no match in the joins above.
type keyReader []scanKey

type scanKey struct {
	op.ScanKeys
	num          int16
	asked, given int // rows, to see whether asking pays
}

func newKeyReader(s *plan.Scan, keys []op.ScanKeys) keyReader {
	var out keyReader
	for _, k := range keys {
		out = append(out, scanKey{ScanKeys: k, num: s.Cols[k.Col].Num})
	}
	return out
}

// mayMatch tells whether some row of a run with these zones may find a match.
func (r keyReader) mayMatch(zones []catalog.Zone, rows int64) bool {
	for i := range r {
		k := &r[i]
		for j := range zones {
			z := &zones[j]
			if z.Column != k.num {
				continue
			}
			lo, ok := z.Min.(int64)
			hi, too := z.Max.(int64)
			if ok && too && !k.Filter.Any(lo, hi) {
				return false
			}
			break
		}
	}
	return true
}

const (
	keySample = 16 << 10 // rows that are asked before it is judged
	keyShare  = 0.75     // of the rows, given: asking does not pay
)

// rows narrows the selection of n rows whose columns column gives.
func (r keyReader) rows(sel []int32, n int, column func(i, n int) (arrow.Array, error)) (out []int32, none bool, err error) {
	var own []int32 // sel's room, where a filter before has made it: the next writes over it
	for i := range r {
		k := &r[i]
		if !k.Rows || k.asked >= keySample && float64(k.given) > keyShare*float64(k.asked) {
			continue
		}
		arr, err := column(k.Col, n)
		if err != nil {
			return nil, false, err
		}
		some, ok := k.Filter.Select(arr, sel, own)
		if !ok {
			continue
		}
		had := n
		if sel != nil {
			had = len(sel)
		}
		k.asked, k.given = k.asked+had, k.given+len(some)
		if len(some) == 0 {
			return nil, true, nil
		}
		if len(some) < had {
			sel, own = some, some[:0]
		}
	}
	return sel, false, nil
}
