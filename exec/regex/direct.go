package regex

import (
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// direct matches a text from one place to its end by trying, over bytes. Most expressions that take texts apart are
// literals, repeated classes of characters, groups and alternatives, which regexp matches by its general machine,
// a character at a time, first for the bounds of the match and then for the groups. Where trying takes more steps than
// a few times the text's length, it gives up, and regexp's linear machine is asked.
type direct struct {
	first    *directNode
	groups   int
	anchored bool // it begins with ^
	ends     bool // it ends with $: every match reaches the end
	sure     bool // there is one way to match from a place, but for how soon it ends
	prefix   string
	wide     bool      // it has a set of ranges beyond ASCII
	room     directRun // of the last match
	size     int       // its parts
}

// directNode is a part of an expression, with what comes after it.
type directNode struct {
	kind     directKind
	next     *directNode
	literal  string
	set      directSet
	min, max int  // of repeat; max -1: no limit
	lazy     bool // of repeat
	one      bool // of repeat: what follows can be at one place alone, back bytes before the end of the characters
	back     int
	branches []*directNode // of choice, in the order in which they are tried; each goes on after the choice
	group    int           // of mark: the place in the match
}

type directKind uint8

const (
	directEnd directKind = iota
	directLiteral
	directRepeat
	directChoice
	directMark
)

// directSet is a set of characters: some of ASCII, and all others, none, or those in ranges.
type directSet struct {
	ascii [2]uint64
	rest  bool   // all others
	wide  []rune // or these: the first and the last of each range, in order
	// but, where not 0, is that the set has all characters, but for one of ASCII if that is less than utf8.RuneSelf.
	but int
}

// directSteps is how many steps a match may take for each byte of the text, and for a text of any length.
const directSteps = 16

// newDirect returns nil for expressions with parts that it does not know.
func newDirect(text string) *direct {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	groups := tree.MaxCap()
	tree = tree.Simplify()
	list := []*syntax.Regexp{tree}
	for len(list) == 1 && list[0].Op == syntax.OpConcat {
		list = list[0].Sub
	}
	d := &direct{groups: groups}
	if len(list) > 0 && list[0].Op == syntax.OpBeginText {
		d.anchored, list = true, list[1:]
	}
	if len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText {
		d.ends, list = true, list[:len(list)-1]
	}
	at := &directNode{kind: directEnd}
	for _, re := range slices.Backward(list) {
		if at = d.of(re, at); at == nil {
			return nil
		}
	}
	d.first = at
	d.sure = newSureness().of(at)
	for n := at; n != nil; n = n.next { // groups may begin before the literal
		if n.kind == directLiteral {
			d.prefix = n.literal
		}
		if n.kind != directMark {
			break
		}
	}
	return d
}

// mostDirect is how many parts an expression may have.
const mostDirect = 256

// of makes the nodes of re before next; nil if it has unknown parts.
func (d *direct) of(re *syntax.Regexp, next *directNode) *directNode {
	if d.size++; d.size > mostDirect || re.Flags&syntax.FoldCase != 0 && re.Op == syntax.OpLiteral {
		return nil
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		return &directNode{kind: directLiteral, literal: string(re.Rune), next: next}
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			if next = d.of(sub, next); next == nil {
				return nil
			}
		}
		return next
	case syntax.OpCapture:
		end := &directNode{kind: directMark, group: 2*re.Cap + 1, next: next}
		in := d.of(re.Sub[0], end)
		if in == nil {
			return nil
		}
		return &directNode{kind: directMark, group: 2 * re.Cap, next: in}
	case syntax.OpAlternate:
		n := &directNode{kind: directChoice}
		for _, sub := range re.Sub {
			b := d.of(sub, next)
			if b == nil {
				return nil
			}
			n.branches = append(n.branches, b)
		}
		return n
	}
	n := &directNode{kind: directRepeat, min: 1, max: 1, next: next, lazy: re.Flags&syntax.NonGreedy != 0}
	of := re
	switch re.Op {
	case syntax.OpStar:
		n.min, n.max, of = 0, -1, re.Sub[0]
	case syntax.OpPlus:
		n.max, of = -1, re.Sub[0]
	case syntax.OpQuest:
		n.min, of = 0, re.Sub[0]
	}
	var ok bool
	if n.set, ok = directSetOf(of); ok {
		n.set.but = n.set.missing()
		d.wide = d.wide || n.set.wide != nil
		return n
	}
	if re.Op != syntax.OpQuest {
		return nil
	}
	in := d.of(of, next)
	if in == nil {
		return nil
	}
	branches := []*directNode{in, next}
	if n.lazy {
		slices.Reverse(branches)
	}
	return &directNode{kind: directChoice, branches: branches}
}

// directSetOf is the set of an expression of one character; false if it is another.
func directSetOf(re *syntax.Regexp) (s directSet, ok bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		return directSet{ascii: [2]uint64{^uint64(0), ^uint64(0)}, rest: true}, true
	case syntax.OpAnyCharNotNL:
		return directSet{ascii: [2]uint64{^uint64(1 << '\n'), ^uint64(0)}, rest: true}, true
	case syntax.OpLiteral:
		if len(re.Rune) != 1 || re.Flags&syntax.FoldCase != 0 {
			return s, false
		}
		if r := re.Rune[0]; r >= utf8.RuneSelf {
			s.wide = []rune{r, r}
			return s, true
		}
		s.ascii[re.Rune[0]/64] = 1 << (re.Rune[0] % 64)
		return s, true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			for c := lo; c <= min(hi, utf8.RuneSelf-1); c++ {
				s.ascii[c/64] |= 1 << (c % 64)
			}
			switch {
			case lo <= utf8.RuneSelf && hi == utf8.MaxRune:
				s.rest = true
			case hi >= utf8.RuneSelf:
				s.wide = append(s.wide, max(lo, utf8.RuneSelf), hi)
			}
		}
		return s, true
	}
	return s, false
}

// missing is but.
func (s *directSet) missing() int {
	n := bits.OnesCount64(s.ascii[0]) + bits.OnesCount64(s.ascii[1])
	switch {
	case !s.rest || n < utf8.RuneSelf-1:
		return 0
	case n == utf8.RuneSelf:
		return utf8.RuneSelf
	case s.ascii[0] == ^uint64(0):
		return 64 + bits.TrailingZeros64(^s.ascii[1])
	}
	return bits.TrailingZeros64(^s.ascii[0])
}

// span is how many bytes t begins with that are of characters of the set.
func (s *directSet) span(t string) int {
	n := 0
	switch {
	case s.but == utf8.RuneSelf:
		return len(t)
	case s.but > 0:
		if n = strings.IndexByte(t, byte(s.but)); n < 0 {
			return len(t)
		}
		return n
	}
	for {
		for n < len(t) && t[n] < utf8.RuneSelf && s.ascii[t[n]>>6]>>(t[n]&63)&1 != 0 {
			n++
		}
		if n >= len(t) || t[n] < utf8.RuneSelf {
			return n
		}
		w := s.beyond(t, n)
		if w == 0 {
			return n
		}
		n += w
	}
}

// width is how many bytes the character of t at i has; 0 if it is not in the set.
func (s *directSet) width(t string, i int) int {
	if c := t[i]; c < utf8.RuneSelf {
		return int(s.ascii[c>>6] >> (c & 63) & 1)
	}
	return s.beyond(t, i)
}

// beyond is width of a character beyond ASCII.
func (s *directSet) beyond(t string, i int) int {
	if s.wide != nil {
		if r, w := utf8.DecodeRuneInString(t[i:]); s.hasWide(r) {
			return w
		}
	} else if s.rest {
		return after(t, i) - i
	}
	return 0
}

func (s *directSet) hasWide(r rune) bool {
	lo, hi := 0, len(s.wide)/2
	for lo < hi {
		switch m := (lo + hi) / 2; {
		case r < s.wide[2*m]:
			hi = m
		case r > s.wide[2*m+1]:
			lo = m + 1
		default:
			return true
		}
	}
	return false
}

// directRun is a match that is being tried.
type directRun struct {
	s     string
	marks []int
	steps int  // left
	any   bool // a match may end anywhere
	end   int  // of the match
}

// in reports whether there is a match in s; ok is false if it gave up.
func (d *direct) in(s string) (found, ok bool) {
	m, ok := d.search(s, !d.ends)
	return m != nil, ok
}

// once returns the node of an expression that is nothing but a literal, or one or more characters of a set; else nil.
func (d *direct) once() *directNode {
	n := d.first
	if d.anchored || d.ends || d.groups > 0 || n.next == nil || n.next.kind != directEnd {
		return nil
	}
	if n.kind == directLiteral && n.literal != "" || n.kind == directRepeat && n.min == 1 && !n.lazy {
		return n
	}
	return nil
}

// from returns the first match of such a node from byte at on; its place is negative where there is none.
func (n *directNode) from(s string, at int) (begin, end int) {
	if n.kind == directLiteral {
		k := strings.Index(s[at:], n.literal)
		if k < 0 {
			return -1, -1
		}
		return at + k, at + k + len(n.literal)
	}
	for at < len(s) {
		for at < len(s) && s[at] < utf8.RuneSelf && n.set.ascii[s[at]>>6]>>(s[at]&63)&1 == 0 {
			at++
		}
		if at >= len(s) {
			break
		}
		w := n.set.width(s, at)
		switch {
		case w == 0:
			for at++; at < len(s) && s[at]&0xC0 == 0x80; at++ {
			}
			continue
		case n.max == 1:
			return at, at + w
		}
		return at, at + w + n.set.span(s[at+w:])
	}
	return -1, -1
}

// find returns the first match of an expression that ends with $ or has one way to match, and its groups, as regexp does,
// until the next call; ok is false if it gave up.
func (d *direct) find(s string) (m []int, ok bool) { return d.search(s, !d.ends) }

func (d *direct) search(s string, anywhere bool) (m []int, ok bool) {
	run := d.run(s)
	run.any = anywhere
	for at := 0; ; {
		if d.prefix != "" && !d.anchored {
			k := strings.Index(s[at:], d.prefix)
			if k < 0 {
				return nil, true
			}
			at += k
		}
		if run.match(d.first, at) {
			run.marks[0], run.marks[1] = at, run.end
			return run.marks, true
		}
		if run.steps < 0 {
			return nil, false
		}
		if d.anchored || at >= len(s) {
			return nil, true
		}
		at = after(s, at)
	}
}

// whole matches all of s; ok is false if it gave up. What it returns is valid until the next call.
func (d *direct) whole(s string) (m []int, ok bool) {
	run := d.run(s)
	if run.match(d.first, 0) {
		run.marks[0], run.marks[1] = 0, len(s)
		return run.marks, true
	}
	return nil, run.steps >= 0
}

func (d *direct) run(s string) *directRun {
	r := &d.room
	r.s, r.steps, r.any = s, directSteps*(len(s)+64), false
	if r.marks == nil {
		r.marks = make([]int, 2*(d.groups+1))
	}
	for i := range r.marks {
		r.marks[i] = -1
	}
	return r
}

// after is the place after the character at i.
func after(s string, i int) int {
	for i++; i < len(s) && !utf8.RuneStart(s[i]); i++ {
	}
	return i
}

// match reports whether n and all after it match from i to the end.
func (r *directRun) match(n *directNode, i int) bool {
	for {
		if r.steps--; r.steps < 0 {
			return false
		}
		switch n.kind {
		case directEnd:
			r.end = i
			return i == len(r.s) || r.any
		case directLiteral:
			if !strings.HasPrefix(r.s[i:], n.literal) {
				return false
			}
			i, n = i+len(n.literal), n.next
		case directMark:
			old := r.marks[n.group]
			r.marks[n.group] = i
			if r.match(n.next, i) {
				return true
			}
			r.marks[n.group] = old
			return false
		case directChoice:
			last := len(n.branches) - 1
			for _, b := range n.branches[:last] {
				if r.match(b, i) {
					return true
				}
			}
			n = n.branches[last]
		case directRepeat:
			if n.lazy {
				return r.lazily(n, i)
			}
			return r.greedily(n, i)
		}
	}
}

// greedily tries the most characters first.
func (r *directRun) greedily(n *directNode, i int) bool {
	least, k, end := i, 0, i
	if n.max < 0 {
		for k < n.min && end < len(r.s) {
			w := n.set.width(r.s, end)
			if w == 0 {
				break
			}
			end += w
			k++
		}
		if least = end; k < n.min {
			return false
		}
		end += n.set.span(r.s[end:])
		r.steps -= (end - least) / 8
	} else {
		for k < n.max && end < len(r.s) {
			w := n.set.width(r.s, end)
			if w == 0 {
				break
			}
			end += w
			if k++; k == n.min {
				least = end
			}
		}
		if k < n.min {
			return false
		}
		if n.min == 0 {
			least = i
		}
	}
	if n.next.kind == directEnd { // fewer do not reach the end
		r.end = end
		return end == len(r.s) || r.any
	}
	if n.one { // there is one place for what follows
		return r.match(n.next, max(end-n.back, least))
	}
	for {
		if n.next.kind == directLiteral { // back to where it is
			at := strings.LastIndex(r.s[least:min(end+len(n.next.literal), len(r.s))], n.next.literal)
			if at < 0 {
				return false
			}
			end = least + at
		}
		if r.match(n.next, end) {
			return true
		}
		if end <= least || r.steps < 0 {
			return false
		}
		for end--; !utf8.RuneStart(r.s[end]); end-- {
		}
	}
}

// lazily tries the fewest characters first.
func (r *directRun) lazily(n *directNode, i int) bool {
	for k := 0; ; k++ {
		if k >= n.min && r.match(n.next, i) {
			return true
		}
		if k == n.max || r.steps < 0 || i >= len(r.s) {
			return false
		}
		w := n.set.width(r.s, i)
		if w == 0 {
			return false
		}
		i += w
	}
}
