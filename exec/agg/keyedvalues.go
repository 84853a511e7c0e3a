package agg

import (
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// keyed is collect of one column whose values are numbers, or are numbered: of mode, of percentile_disc, of
// percentile_cont of several fractions, and of array_agg, string_agg and count of DISTINCT values. A group's values are keys of 64 bits in lists that need no allocation
// each, and are sorted as such. What other nodes and files see of it, and what it makes of sorted rows, is collect's.
type keyed struct {
	*collect
	code   keyCode
	keys   []keyList
	nulls  []bool        // of array_agg: groups with a NULL
	p      []types.Datum // of percentiles: the fraction or fractions, once there is a value
	thin   []uint32      // of DISTINCT: with so many keys a group is rid of duplicates
	free   freeLists     // likewise: that are not used any more
	dense  []denseKeys   // likewise: more keys of groups; nil: there are none
	slab   slab
	beside int64 // bytes of lists beside the slab

	room, all []uint64 // scratch: keys of a batch, and of a group
}

// newKeyed returns nil for calls that it does not compute.
func newKeyed(c *collect) Agg {
	call, value, result := c.call, types.Type{}, c.call.Typ
	switch {
	case call.Fn.Name == "mode" && !call.Distinct && len(c.order) == 1:
		value = c.order[0]
	case call.Fn.Name == "percentile_disc" && !call.Distinct && len(c.order) == 1 && c.args[0].OID == types.Float8OID:
		value = c.order[0]
	case (call.Fn.Name == "percentile_disc" || call.Fn.Name == "percentile_cont") && !call.Distinct && len(c.order) == 1 && fractions(c.args[0]):
		value = c.order[0]
		elem, ok := call.Typ.Elem()
		if !ok || call.Fn.Name == "percentile_cont" && value.OID != types.Float8OID {
			return nil
		}
		if result = elem; value.IsFixed() && elem.OID == value.OID {
			result = value // written as the array has them
		}
	case call.Fn.Name == "array_agg" && call.Distinct && len(c.args) == 1 && len(c.order) <= 1:
		value = c.args[0]
		elem, ok := call.Typ.Elem()
		if !ok || len(c.order) == 1 && c.order[0] != value {
			return nil
		}
		result = elem
	case call.Fn.Name == "count" && call.Distinct && len(c.args) == 1 && len(c.order) == 0:
		value, result = c.args[0], c.args[0]
	case call.Fn.Name == "string_agg" && call.Distinct && len(c.order) <= 1 && separated(call):
		if value = c.args[0]; len(c.order) == 1 && c.order[0] != value {
			return nil
		}
	default:
		return nil
	}
	if value.OID != result.OID || !value.SamePhysical(result) {
		return nil
	}
	code := newKeyCode(value)
	if code == nil {
		return nil
	}
	return &keyed{collect: c, code: code}
}

// separated reports whether all values of a string_agg are separated by the same text, and are not ordered by it.
func separated(call expr.AggCall) bool {
	sep, ok := call.Args[1].(*expr.Const)
	if ok && len(call.OrderBy) > 0 {
		_, same := call.OrderBy[0].Expr.(*expr.Const)
		ok = !same
	}
	return ok && sep.Val != nil
}

// at is the place of the values among the columns of a row.
func (s *keyed) at() int {
	if s.joins() {
		return 0
	}
	return len(s.layout) - 1
}

func (s *keyed) joins() bool { return s.call.Fn.Name == "string_agg" }

func (s *keyed) lists() bool { return s.call.Fn.Name == "array_agg" }

// specs are how the values are ordered.
func (s *keyed) desc() (desc, nullsFirst bool) {
	if len(s.call.OrderBy) == 0 {
		return false, false
	}
	return s.call.OrderBy[0].Desc, s.call.OrderBy[0].NullsFirst
}

func (s *keyed) Resize(groups int) {
	s.keys = grown(s.keys, groups)
	switch s.call.Fn.Name {
	case "array_agg":
		s.nulls = grown(s.nulls, groups)
	case "percentile_disc", "percentile_cont":
		s.p = grown(s.p, groups)
	}
	if s.call.Distinct {
		s.thin = grown(s.thin, groups)
		if s.dense != nil {
			s.dense = grown(s.dense, groups)
		}
	}
}

func (s *keyed) add(g uint32, key uint64) {
	if s.dense != nil && s.dense[g].put(key) {
		return
	}
	p := &s.keys[g]
	if len(p.last) == cap(p.last) {
		if s.thinned(g) {
			s.add(g, key) // perhaps as a bit now
			return
		}
		if !s.free.extend(p) {
			s.beside += p.next(&s.slab, 1)
		}
	}
	p.last = append(p.last, key)
}

func (s *keyed) Update(groups []uint32, args []arrow.Array) error {
	col := args[s.at()]
	s.room = s.code.encode(col, s.room[:0])
	nulls := col.NullN() > 0
	for i, g := range groups {
		if nulls && col.IsNull(i) {
			if s.nulls != nil {
				s.nulls[g] = true
			}
			continue
		}
		if s.p != nil && cap(s.keys[g].last) == 0 {
			s.p[g] = types.DatumAt(s.args[0], args[0], i)
			s.beside += fractionBytes(s.p[g])
		}
		s.add(g, s.room[i])
	}
	return nil
}

// MergeFrom implements Merger.
func (s *keyed) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*keyed)
	alike := s.alike(o)
	for i, g := range groups {
		k := ids[i]
		if s.nulls != nil {
			s.nulls[g] = s.nulls[g] || o.nulls[k]
		}
		if o.count(int(k)) == 0 {
			continue
		}
		if s.p != nil && cap(s.keys[g].last) == 0 {
			s.p[g] = o.p[k]
		}
		if alike && !s.isDense(g) && !o.isDense(k) {
			s.beside += s.keys[g].take(&o.keys[k])
			continue
		}
		s.room = o.keysOf(s.room[:0], int(k))
		s.code.translate(o.code, s.room)
		for _, key := range s.room {
			s.add(g, key)
		}
	}
	return nil
}

// alike reports whether the keys of o are also s's. Those of texts are where s is empty and needs no order of the
// texts, which would be that of o's in all groups.
func (s *keyed) alike(o *keyed) bool {
	t, ok := s.code.(*textKeys)
	if !ok {
		return true
	}
	if s.call.Fn.Name == "count" {
		t.goOn(o.code.(*textKeys))
	}
	return t.goesOn(o.code.(*textKeys))
}

// Takes implements Holistic; what a list has in reserve is charged when it is made.
func (s *keyed) Takes(args []arrow.Array, n int) int64 {
	return 8*firstKeys*int64(n) + s.code.takes(args[s.at()])
}

// Need implements Holistic.
func (s *keyed) Need(from, to int, states bool) int64 {
	n, width := int64(0), s.code.width()
	for g := from; g < to; g++ {
		n += int64(s.count(g))
	}
	if states {
		return (width + 24) * n
	}
	if s.lists() || s.joins() {
		return 2 * (width + 9) * n
	}
	if s.p != nil && fractions(s.args[0]) {
		for _, p := range s.p[from:to] {
			n += fractionBytes(p)
		}
	}
	return 8 * n
}

func (s *keyed) Bytes() int64 {
	return int64(cap(s.keys))*int64(unsafe.Sizeof(keyList{})) + int64(cap(s.nulls)) + 4*int64(cap(s.thin)) + int64(cap(s.dense))*int64(unsafe.Sizeof(denseKeys{})) + 24*int64(cap(s.p)) + 8*int64(cap(s.all)+cap(s.room)) +
		s.beside + s.slab.bytes + s.code.bytes()
}

// States encodes rows as collect does.
func (s *keyed) States(from, to int) (arrow.Array, error) {
	if size := s.Need(from, to, true); size > maxBytes {
		return nil, errTooLong(size)
	}
	offs := make([]int32, 1, to-from+1)
	var dst []byte
	for g := from; g < to; g++ {
		s.all = s.keysOf(s.all[:0], g)
		dst = s.appendRows(dst, g, s.all, true)
		offs = append(offs, int32(len(dst)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offs, dst, nil), nil
}

// appendRows encodes rows of group g; the first part has its NULL.
func (s *keyed) appendRows(dst []byte, g int, keys []uint64, first bool) []byte {
	value := s.layout[s.at()]
	b := array.NewBuilder(memory.DefaultAllocator, value.Arrow())
	for _, k := range keys {
		s.code.append(b, k)
	}
	cols := []arrow.Array{b.NewArray()}
	if first && s.nulls != nil && s.nulls[g] {
		null := make(types.Row, len(s.layout))
		dst = s.layout.Append(dst, null)
	}
	for i := range keys {
		if s.p != nil {
			dst = s.layout[:1].Append(dst, types.Row{s.p[g]})
		}
		for k := range s.layout { // array_agg(DISTINCT x ORDER BY x) has x twice
			switch {
			case s.p != nil && k == 0:
			case s.joins() && k == 1:
				dst = s.layout[1:2].Append(dst, types.Row{s.call.Args[1].(*expr.Const).Val})
			default:
				dst = s.layout[k:k+1].AppendFrom(dst, cols, i)
			}
		}
	}
	return dst
}

// PartialState implements Sortable.
func (s *keyed) PartialState(g, at, size int) ([]byte, int, error) {
	p, n := &s.keys[g], s.count(g)
	end := min(at+max(size/int(s.code.width()+12), 1), n)
	s.all = s.all[:0]
	skip := at
	if s.dense != nil {
		s.dense[g].each(func(key uint64) {
			if skip--; skip < 0 && len(s.all) < end-at {
				s.all = append(s.all, key)
			}
		})
		skip = max(skip, 0)
	}
	p.lists(func(list []uint64) {
		n := min(skip, len(list))
		skip -= n
		s.all = append(s.all, list[n:min(len(list), n+end-at-len(s.all))]...)
	})
	dst := s.appendRows(nil, g, s.all, at == 0)
	if len(dst) > maxBytes {
		return nil, 0, errTooLong(int64(len(dst)))
	}
	if end == n {
		end = -1
	}
	return dst, end, nil
}

func (s *keyed) MergeStates(groups []uint32, states *array.Binary) error {
	return s.layout.columns(groups, states, s.Update)
}

func (s *keyed) Results(from, to int) (arrow.Array, error) {
	switch {
	case s.lists():
		return s.distinct(from, to), nil
	case s.joins():
		return s.joined(from, to)
	case s.p != nil && fractions(s.args[0]):
		return s.percentiles(from, to)
	case s.thin != nil:
		out := make([]int64, to-from)
		for i := range out {
			s.all = s.different(s.keys[from+i].appendTo(s.all[:0]))
			if out[i] = int64(len(s.all)); s.dense != nil {
				out[i] += int64(s.dense[from+i].n)
			}
		}
		return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil), nil
	}
	desc, _ := s.desc()
	b := array.NewBuilder(memory.DefaultAllocator, s.call.Typ.Arrow())
	b.Reserve(to - from)
	rank := s.code.ranks()
	for g := from; g < to; g++ {
		s.all = s.keys[g].appendTo(s.all[:0])
		n := len(s.all)
		if n == 0 {
			b.AppendNull()
			continue
		}
		if s.p == nil {
			s.code.append(b, s.mode(rank, desc))
			continue
		}
		p, ok := s.p[g].(float64)
		if !ok {
			b.AppendNull()
			continue
		}
		if err := checkFraction(p); err != nil {
			return nil, err
		}
		i := max(int(math.Ceil(p*float64(n)))-1, 0)
		if desc {
			i = n - 1 - i
		}
		rank.by(s.all)
		placeKey(s.all, i)
		s.code.append(b, rank.key(s.all[i]))
	}
	return b.NewArray(), nil
}

// mode returns the most frequent of the keys in s.all, the first in order among equals.
func (s *keyed) mode(rank keyRanks, desc bool) uint64 {
	keys := s.all
	rank.by(keys)
	slices.Sort(keys)
	var best uint64
	for i, most := 0, 0; i < len(keys); {
		k := i + 1
		for k < len(keys) && s.code.same(keys[i], keys[k]) {
			k++
		}
		if k-i > most || k-i == most && desc {
			most = k - i
			if best = keys[i]; desc {
				best = keys[k-1]
			}
		}
		i = k
	}
	return rank.key(best)
}

// inOrder returns the ranks of a group's different values; of equal ones the first in that order stays.
func (s *keyed) inOrder(g int, rank keyRanks, desc bool) []uint64 {
	s.all = s.keysOf(s.all[:0], g)
	rank.by(s.all)
	slices.Sort(s.all)
	if desc {
		slices.Reverse(s.all)
	}
	s.all = slices.CompactFunc(s.all, s.code.same)
	return s.all
}

// joined returns the different texts with the separator between them.
func (s *keyed) joined(from, to int) (arrow.Array, error) {
	desc, _ := s.desc()
	separator, _ := s.call.Args[1].(*expr.Const).Val.(string)
	code, rank := s.code.(*textKeys), s.code.ranks()
	offs, valid := make([]int32, 1, to-from+1), make([]byte, batch.BitmapBytes(to-from))
	var out []byte
	for g := from; g < to; g++ {
		for i, k := range s.inOrder(g, rank, desc) {
			if batch.SetBit(valid, g-from); i > 0 {
				out = append(out, separator...)
			}
			if out = append(out, code.text(rank.key(k))...); len(out) > maxBytes {
				return nil, errTooLong(int64(len(out)))
			}
		}
		offs = append(offs, int32(len(out)))
	}
	return batch.FromOffsets(s.call.Typ.Arrow(), offs, out, valid), nil
}

// distinct returns the lists of different values.
func (s *keyed) distinct(from, to int) arrow.Array {
	desc, nullsFirst := s.desc()
	b := array.NewBuilder(memory.DefaultAllocator, s.call.Typ.Arrow()).(*array.ListBuilder)
	b.Reserve(to - from)
	values, rank := b.ValueBuilder(), s.code.ranks()
	for g := from; g < to; g++ {
		keys := s.inOrder(g, rank, desc)
		if len(keys) == 0 && !s.nulls[g] {
			b.AppendNull()
			continue
		}
		b.Append(true)
		if s.nulls[g] && nullsFirst {
			values.AppendNull()
		}
		for _, k := range keys {
			s.code.append(values, rank.key(k))
		}
		if s.nulls[g] && !nullsFirst {
			values.AppendNull()
		}
	}
	return b.NewArray()
}

var _ Sortable = (*keyed)(nil)
