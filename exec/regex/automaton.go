package regex

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/vector"
)

// automaton says whether an expression matches somewhere in a text, one table look-up a byte. Its states are the sets of
// instructions that a machine with threads would be at, made when a text first leads to them:
//
//	a[bc]d   in "xabd"   {a} ─x─▶ {a} ─a─▶ {a, [bc]} ─b─▶ {a, d} ─d─▶ matched
//
// Where a set has an end of the text to wait for, what follows it is known with the state.
type automaton struct {
	prog   *syntax.Prog
	prefix string // what a match begins with; empty if it may be at the beginning of the text alone
	states [][]uint32
	ids    map[string]int32
	next   []int32          // by state and byte; unknown: not made yet
	wide   map[uint64]int32 // by state and character beyond ASCII
	ends   []bool           // by state: the end of the text here is a match
	seen   []uint32         // of closure: in which round an instruction was added
	round  uint32
	size   int // of all sets
	begin  int32
	empty  bool // the text of no characters is a match
}

// maybeAutomaton is an automaton that is made when it is first asked for, where it can be.
type maybeAutomaton struct {
	*automaton
	tried bool
}

const (
	unknown int32 = iota
	matched
	dead
	firstState
	// automatonStates, automatonSize and automatonSets bound the states, the instructions and those of all states: about a
	// megabyte. What needs more is not an automaton.
	automatonStates = 1 << 10
	automatonSize   = 1 << 12
	automatonSets   = 1 << 16
	automatonPoll   = 1 << 14 // characters from one look at the meter to the next
)

// newAutomaton returns nil for expressions that look at more than the next character: edges of words and of lines.
func newAutomaton(re *regexp.Regexp) *automaton {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > automatonSize {
		return nil
	}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil
		}
	}
	a := &automaton{prog: prog, ids: map[string]int32{}, wide: map[uint64]int32{}, seen: make([]uint32, len(prog.Inst))}
	a.next, a.ends, a.states = make([]int32, firstState*utf8.RuneSelf), make([]bool, firstState), make([][]uint32, firstState)
	if prog.StartCond()&syntax.EmptyBeginText == 0 {
		a.prefix, _ = re.LiteralPrefix()
	}
	a.empty = re.MatchString("")
	a.round++
	a.begin, _ = a.state(a.closure(nil, uint32(prog.Start), syntax.EmptyBeginText))
	return a
}

// in reports whether s has a match, and asks the meter at times; ok is false where there are too many states.
func (a *automaton) in(s string, m *vector.Meter) (is, ok bool) {
	if s == "" {
		return a.empty, true
	}
	at, i := a.begin, 0
	if a.prefix != "" {
		if i = strings.Index(s, a.prefix); i < 0 {
			return false, true
		}
	}
	asked := i + automatonPoll
	for i < len(s) && at >= firstState {
		if i >= asked {
			m.Poll(4 * automatonPoll) // a look-up takes as long as some bytes
			asked = i + automatonPoll
		}
		if c := s[i]; c < utf8.RuneSelf {
			to := a.next[int(at)*utf8.RuneSelf+int(c)]
			if to == unknown {
				if to, ok = a.step(at, rune(c)); !ok {
					return false, false
				}
				a.next[int(at)*utf8.RuneSelf+int(c)] = to
			}
			at = to
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		key := uint64(at)<<32 | uint64(r)
		to := a.wide[key]
		if to == unknown {
			if to, ok = a.step(at, r); !ok {
				return false, false
			}
			if len(a.wide) < automatonSize {
				a.wide[key] = to
			}
		}
		at = to
		i += n
	}
	return at == matched || at >= firstState && a.ends[at], true
}

// step makes the state to which a character leads.
func (a *automaton) step(from int32, r rune) (to int32, ok bool) {
	a.round++
	var set []uint32
	for _, pc := range a.states[from] {
		if in := &a.prog.Inst[pc]; in.Op != syntax.InstMatch && in.Op != syntax.InstEmptyWidth && in.MatchRune(r) {
			set = a.closure(set, in.Out, 0)
		}
	}
	return a.state(a.closure(set, uint32(a.prog.Start), 0))
}

// closure adds an instruction, and those that it leads to without a character, where cond is true.
func (a *automaton) closure(set []uint32, pc uint32, cond syntax.EmptyOp) []uint32 {
	if a.seen[pc] == a.round {
		return set
	}
	a.seen[pc] = a.round
	switch in := &a.prog.Inst[pc]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return a.closure(a.closure(set, in.Out, cond), in.Arg, cond)
	case syntax.InstCapture, syntax.InstNop:
		return a.closure(set, in.Out, cond)
	case syntax.InstEmptyWidth:
		need := syntax.EmptyOp(in.Arg)
		if need&^cond == 0 {
			return a.closure(set, in.Out, cond)
		}
		if need&^cond == syntax.EmptyEndText {
			set = append(set, pc)
		}
		return set
	case syntax.InstFail:
		return set
	}
	return append(set, pc)
}

// state returns the number of a set.
func (a *automaton) state(set []uint32) (id int32, ok bool) {
	for _, pc := range set {
		if a.prog.Inst[pc].Op == syntax.InstMatch {
			return matched, true
		}
	}
	if len(set) == 0 {
		return dead, true
	}
	slices.Sort(set)
	var text []byte
	for _, pc := range set {
		text = binary.AppendUvarint(text, uint64(pc))
	}
	key := string(text)
	if id, ok = a.ids[key]; ok {
		return id, true
	}
	if a.size += len(set); len(a.states) == automatonStates || a.size > automatonSets {
		return dead, false
	}
	id = int32(len(a.states))
	a.ids[key] = id
	a.states = append(a.states, set)
	a.next = append(a.next, make([]int32, utf8.RuneSelf)...)
	a.round++
	var after []uint32
	for _, pc := range set {
		if in := &a.prog.Inst[pc]; in.Op == syntax.InstEmptyWidth {
			after = a.closure(after, in.Out, syntax.EmptyEndText)
		}
	}
	a.ends = append(a.ends, slices.ContainsFunc(after, func(pc uint32) bool { return a.prog.Inst[pc].Op == syntax.InstMatch }))
	return id, true
}
