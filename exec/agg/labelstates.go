package agg

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// byLabel keeps a state S for each label's rows. A score is defined for two labels only: with a
// third a group is invalid, and its states are dropped.
type byLabel[S any, P sideOf[S]] struct {
	ofLabels
	groups []labelled[S]
	bytes  int64
}

type labelled[S any] struct {
	over  bool
	sides []side[S] // in the order of arrival, at most two
	upper int       // the side of the greater label, of two
}

// side is the rows of one label.
type side[S any] struct {
	label uint32
	of    S
}

// sideOf is what is kept of a side.
type sideOf[S any] interface {
	*S
	held() int64 // the memory
	merge(o *S)  // o stays as it is
	append(dst []byte) []byte
	// decode merges what append wrote and returns the rest; false where b is malformed. With a nil
	// receiver it only skips it.
	decode(b []byte) ([]byte, bool)
}

// sideBytes is what a side takes beside what it holds.
const sideBytes = 64

func (s *byLabel[S, P]) Resize(groups int) { s.groups = grown(s.groups, groups) }

// side returns the state of a label's rows in a group; nil if the group is invalid.
func (s *byLabel[S, P]) side(g, label uint32) *S {
	x := &s.groups[g]
	for i := range x.sides {
		if x.sides[i].label == label {
			return &x.sides[i].of
		}
	}
	if len(x.sides) == 2 {
		s.drop(x)
	}
	if x.over {
		return nil
	}
	x.sides = append(x.sides, side[S]{label: label})
	d := &x.sides[len(x.sides)-1]
	s.bytes += sideBytes + P(&d.of).held()
	if len(x.sides) == 2 && s.labels.keys[x.sides[1].label] > s.labels.keys[x.sides[0].label] {
		x.upper = 1
	}
	return &d.of
}

func (s *byLabel[S, P]) drop(x *labelled[S]) {
	for i := range x.sides {
		s.bytes -= sideBytes + P(&x.sides[i].of).held()
	}
	*x = labelled[S]{over: true}
}

// change calls f with a side, and accounts for its memory.
func (s *byLabel[S, P]) change(to *S, f func(P)) {
	was := P(to).held()
	f(to)
	s.bytes += P(to).held() - was
}

// of reports whether all rows have labels of the sides that a group has, and returns the second
// one's label, where there is one. labels is the number of labels in all.
func (x *labelled[S]) of(label []uint32, labels int) (second uint32, ok bool) {
	if x.over || len(x.sides) == 0 {
		return 0, false
	}
	first, second := x.sides[0].label, uint32(math.MaxUint32)
	if len(x.sides) == 2 {
		second = x.sides[1].label
	}
	if labels == len(x.sides) {
		return second, true
	}
	for _, l := range label {
		if l != first && l != second {
			return 0, false
		}
	}
	return second, true
}

// sorted returns a group's sides, the lesser label first.
func (s *byLabel[S, P]) sorted(g int) []side[S] {
	return slices.SortedFunc(slices.Values(s.groups[g].sides), func(a, b side[S]) int {
		return cmp.Compare(s.labels.keys[a.label], s.labels.keys[b.label])
	})
}

func (s *byLabel[S, P]) holds(from, to int) (n int64) {
	for g := from; g < to; g++ {
		for i := range s.groups[g].sides {
			n += P(&s.groups[g].sides[i].of).held()
		}
	}
	return n
}

// A state is a byte that is set if the group is invalid, then each side: the label's key with its
// length, and its state.
func (s *byLabel[S, P]) States(from, to int) (arrow.Array, error) {
	if size := s.holds(from, to); size > maxBytes {
		return nil, errTooLong(size)
	}
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		x := &s.groups[g]
		if x.over {
			return append(dst, 1), true
		}
		dst = append(dst, 0)
		for i := range x.sides {
			d := &x.sides[i]
			key := s.labels.keys[d.label]
			dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
			dst = P(&d.of).append(dst)
		}
		return dst, true
	}), nil
}

func (s *byLabel[S, P]) MergeStates(groups []uint32, states *array.Binary) error {
	for g, b := range stored(groups, states) {
		if len(b) == 0 || b[0] > 1 {
			return badState()
		}
		if x := &s.groups[g]; b[0] == 1 && !x.over {
			s.drop(x)
		}
		for b = b[1:]; len(b) > 0; {
			n, w := binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w) {
				return badState()
			}
			to := s.side(g, s.labels.number(b[w:w+int(n)]))
			b = b[w+int(n):]
			ok := false
			if to == nil {
				b, ok = P(nil).decode(b)
			} else {
				s.change(to, func(p P) { b, ok = p.decode(b) })
			}
			if !ok {
				return badState()
			}
		}
	}
	return nil
}

func (s *byLabel[S, P]) mergeFrom(groups []uint32, o *byLabel[S, P], ids []uint32) {
	for i, g := range groups {
		from := &o.groups[ids[i]]
		if x := &s.groups[g]; from.over && !x.over {
			s.drop(x)
		}
		for k := range from.sides {
			d := &from.sides[k]
			if to := s.side(g, s.labels.number([]byte(o.labels.keys[d.label]))); to != nil {
				s.change(to, func(p P) { p.merge(&d.of) })
			}
		}
	}
}

func (s *byLabel[S, P]) Bytes() int64 { return s.bytes + s.labels.bytes + int64(cap(s.groups))*32 }
