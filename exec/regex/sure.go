package regex

import (
	"slices"
	"unicode/utf8"
)

// sureness tells of expressions whether the next character always says how a match goes on, or where what is repeated ends.
// The first match that is found by taking what there is is then the longest one too, which PostgreSQL asks for:
//
//	pump-([0-9]+)        what is after the digits is none
//	^(\S+)Z \[(\w+)\]    Z is among \S, but the blank after it is not: Z is the last before it
//	(a?)(ab)?            not of this kind: of "ab" it takes a, and the longest match is ab
type sureness struct {
	seen   map[*directNode]bool
	firsts map[*directNode]starts
}

// starts are the characters that a part of an expression and what follows it may begin with.
type starts struct {
	ascii [2]uint64
	wide  []rune // beyond ASCII: the first and the last of ranges
	none  bool   // it may be nothing, to the end
}

func newSureness() *sureness {
	return &sureness{map[*directNode]bool{}, map[*directNode]starts{}}
}

func (a starts) meets(b starts) bool {
	if a.ascii[0]&b.ascii[0] != 0 || a.ascii[1]&b.ascii[1] != 0 {
		return true
	}
	for i := 0; i < len(a.wide); i += 2 {
		for j := 0; j < len(b.wide); j += 2 {
			if a.wide[i] <= b.wide[j+1] && b.wide[j] <= a.wide[i+1] {
				return true
			}
		}
	}
	return false
}

func (a *starts) add(b starts) {
	a.ascii[0] |= b.ascii[0]
	a.ascii[1] |= b.ascii[1]
	a.wide, a.none = slices.Concat(a.wide, b.wide), a.none || b.none
}

func startsOf(s *directSet) starts {
	if s.rest {
		return starts{ascii: s.ascii, wide: []rune{utf8.RuneSelf, utf8.MaxRune}}
	}
	return starts{ascii: s.ascii, wide: s.wide}
}

func (u *sureness) first(n *directNode) (out starts) {
	if f, ok := u.firsts[n]; ok {
		return f
	}
	switch n.kind {
	case directEnd:
		out.none = true
	case directLiteral:
		if n.literal == "" {
			out = u.first(n.next)
		} else if c := n.literal[0]; c < utf8.RuneSelf {
			out.ascii[c>>6] = 1 << (c & 63)
		} else {
			r, _ := utf8.DecodeRuneInString(n.literal)
			out.wide = []rune{r, r}
		}
	case directMark:
		out = u.first(n.next)
	case directRepeat:
		if n.max != 0 {
			out = startsOf(&n.set)
		}
		if n.min == 0 {
			out.add(u.first(n.next))
		}
	case directChoice:
		for _, b := range n.branches {
			out.add(u.first(b))
		}
	}
	u.firsts[n] = out
	return out
}

// of reports whether that holds of n and all after it.
func (u *sureness) of(n *directNode) bool {
	if u.seen[n] {
		return true
	}
	u.seen[n] = true
	switch n.kind {
	case directEnd:
		return true
	case directRepeat:
		return (n.min == n.max || !n.lazy && u.ends(n)) && u.of(n.next)
	case directChoice:
		var all starts
		for i, b := range n.branches {
			f := u.first(b)
			if f.meets(all) || f.none && i+1 < len(n.branches) || !u.of(b) {
				return false
			}
			all.add(f)
		}
		return true
	}
	return u.of(n.next)
}

// ends reports whether the characters that n repeats end at one place, and notes how far before it what follows is.
func (u *sureness) ends(n *directNode) bool {
	next := n.next
	for next.kind == directMark {
		next = next.next
	}
	if !startsOf(&n.set).meets(u.first(next)) {
		n.one = true
		return true
	}
	if next.kind != directLiteral || n.max >= 0 {
		return false
	}
	for i := range len(next.literal) {
		if next.literal[i] >= utf8.RuneSelf {
			return false
		}
		if n.set.width(next.literal, i) == 0 {
			n.one, n.back = true, i
			return true
		}
	}
	return false
}
