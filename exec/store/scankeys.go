package store

import (
	"cmp"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// keyReader skips rows of a split that have no match in the joins above, or that the sort above does not need.
//
// A key is checked before the scan's own filter if it drops more rows than the filter does, as
// measured on the first rows that the filter passes; else after it, if there is work between the
// scan and the join. Else it is left to the join, unless other keys are checked: then it is too if
// it leaves them fewer rows. The key that drops most is checked first.
type keyReader struct {
	keys     []scanKey
	far      bool    // some key is worth checking for each row
	filtered bool    // the scan has a filter
	room     []int32 // for selections made before it
}

type scanKey struct {
	op.ScanKeys
	num          int16
	asked, given int64 // counts of rows checked and passed, to see whether checking pays
	had, passed  int64 // by the scan's filter
	from         [4]int64
}

func newKeyReader(s *plan.Scan, keys []op.ScanKeys) keyReader {
	var out keyReader
	for _, k := range keys {
		c := scanKey{ScanKeys: k, num: s.Cols[k.Col].Num}
		seen := &k.Filter.Seen
		c.asked, c.given, c.had, c.passed = seen.Asked.Load(), seen.Given.Load(), seen.Had.Load(), seen.Passed.Load()
		c.from = [4]int64{c.asked, c.given, c.had, c.passed}
		out.keys, out.far = append(out.keys, c), out.far || c.Rows
	}
	slices.SortStableFunc(out.keys, func(a, b scanKey) int { return cmp.Compare(a.share(), b.share()) })
	return out
}

// share returns the share of checked rows that had the key, 0 while it is not known.
func (k *scanKey) share() float64 {
	if k.asked < keySample {
		return 0
	}
	return float64(k.given) / float64(k.asked)
}

// report adds this split's counts to those of the filter, for the next splits.
func (r *keyReader) report() {
	for i := range r.keys {
		k := &r.keys[i]
		seen := &k.Filter.Seen
		seen.Asked.Add(k.asked - k.from[0])
		seen.Given.Add(k.given - k.from[1])
		seen.Had.Add(k.had - k.from[2])
		seen.Passed.Add(k.passed - k.from[3])
		k.from = [4]int64{k.asked, k.given, k.had, k.passed}
	}
}

// filter records that the scan's filter passed so many of the rows that it had.
func (r *keyReader) filter(had, passed int) {
	for i := range r.keys {
		r.keys[i].had += int64(had)
		r.keys[i].passed += int64(passed)
	}
}

// mayMatch reports whether some row of a run with these zones may find a match.
func (r *keyReader) mayMatch(zones []catalog.Zone, rows int64) bool {
	for i := range r.keys {
		k := &r.keys[i]
		for j := range zones {
			z := &zones[j]
			if z.Column != k.num {
				continue
			}
			lo, ok := z.Min.(int64)
			hi, too := z.Max.(int64)
			if ok && too && !k.Filter.Any(lo, hi) && (z.Nulls == 0 || !k.Filter.Nulls()) {
				return false
			}
			break
		}
	}
	return true
}

const (
	keySample = 16 << 10 // rows checked before it is judged
	keyShare  = 0.75     // share of rows passed above which checking does not pay
	nearShare = 0.5      // the same where the join follows immediately
)

// before reports whether to check the key before the filter.
func (k *scanKey) before() bool {
	if k.asked < keySample || float64(k.given)*float64(k.had) > float64(k.passed)*float64(k.asked) {
		return false
	}
	return k.Rows || k.share() <= nearShare
}

// after reports whether to check the key after the filter.
func (r *keyReader) after(k *scanKey) bool {
	switch {
	case k.asked < keySample:
		return r.far || r.filtered
	case k.Rows:
		return k.share() <= keyShare
	}
	return r.far && k.share() <= nearShare
}

// rows narrows the selection of n rows whose columns column returns: before the scan's filter, or
// after it, where sel is overwritten.
func (r *keyReader) rows(before bool, sel []int32, n int, column func(i, n int) (arrow.Array, error)) (out []int32, none bool, err error) {
	own := sel[:0] // room for the next selection
	if before {
		own = r.room
	}
	for i := range r.keys {
		k := &r.keys[i]
		switch first := r.filtered && k.before(); {
		case first != before, !before && !r.after(k):
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
		k.asked, k.given = k.asked+int64(had), k.given+int64(len(some))
		if before && cap(some) > cap(r.room) {
			r.room = some[:0]
		}
		if len(some) == 0 {
			return nil, true, nil
		}
		if len(some) < had {
			sel, own = some, some[:0]
		}
	}
	return sel, false, nil
}
