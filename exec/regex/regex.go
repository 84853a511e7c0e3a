package regex

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// use sets the call that the expression is used by: its context and its memory.
func (r *Regex) use(c *function.Call) {
	if r.C = c; r.wide != nil {
		r.wide.C = c
	}
}

// GroupsOf makes the array that regexp_match returns for a match: the groups, or the whole where
// there are none.
func (r *Regex) GroupsOf(s string, m []int) types.Array {
	out := types.Array{Elem: types.Text}
	if r.Groups == 0 {
		out.Elems = []types.Datum{s[m[0]:m[1]]}
		return out
	}
	for g := 1; g <= r.Groups; g++ {
		if m[2*g] < 0 {
			out.Elems = append(out.Elems, nil)
		} else {
			out.Elems = append(out.Elems, s[m[2*g]:m[2*g+1]])
		}
	}
	return out
}

// Matches lists the matches from byte offset start on, at most max (0: all).
// An empty match directly after another is a match too, as PostgreSQL counts.
func (r *Regex) Matches(s string, start, max int) ([][]int, error) {
	if r.wide != nil && !isASCII(s) {
		return r.wide.Matches(s, start, max)
	}
	if r.back != nil {
		return r.backtrackAll(s, start, max)
	}
	var out [][]int
	at := start
	for at <= len(s) && (max == 0 || len(out) < max) {
		m := r.from(s, at)
		if m == nil {
			break
		}
		r.C.Meter().Scratch(8*len(m) + matchBytes)
		out = append(out, slices.Clone(m))
		if m[1] > m[0] {
			at = m[1]
			continue
		}
		if m[1] >= len(s) {
			break
		}
		_, w := utf8.DecodeRuneInString(s[m[1]:])
		at = m[1] + w
	}
	return out, nil
}

// Replace replaces match n (0: all) found from byte offset start on.
func (r *Regex) Replace(s, by string, start, n int) (string, error) {
	var ms [][]int
	var m []int // of an expression whose matches need no list: the first
	if r.once != nil && n == 0 && start <= len(s) {
		if m = r.from(s, start); m == nil {
			return s, nil
		}
	} else if n == 1 && start == 0 { // as nearly always: there is no list to make
		m, err := r.First(s)
		if err != nil || m == nil {
			return s, err
		}
		ms = append(r.one[:0], m)
	} else {
		var err error
		if ms, err = r.Matches(s, start, n); err != nil {
			return "", err
		}
		if n > 0 {
			if len(ms) < n {
				return s, nil
			}
			ms = ms[n-1:]
		}
	}
	b := r.C.Text(len(s))
	at := 0
	put := func(m []int) {
		b.WriteString(s[at:m[0]])
		for i := 0; i < len(by); i++ {
			if by[i] != '\\' || i+1 == len(by) {
				_ = b.WriteByte(by[i])
				continue
			}
			i++
			switch c := by[i]; {
			case c == '&':
				b.WriteString(s[m[0]:m[1]])
			case c >= '1' && c <= '9':
				if g := int(c - '0'); g <= r.Groups && m[2*g] >= 0 {
					b.WriteString(s[m[2*g]:m[2*g+1]])
				}
			case c == '\\':
				_ = b.WriteByte('\\')
			default:
				_ = b.WriteByte('\\')
				_ = b.WriteByte(c)
			}
		}
		at = m[1]
	}
	for ; m != nil; m = r.from(s, at) {
		put(m)
	}
	for _, m := range ms {
		put(m)
	}
	b.WriteString(s[at:])
	return b.String(), nil
}

// Of compiles an expression, or returns the one of the last call if it is the same.
func Of(c *function.Call, p, flags string) (*Regex, error) {
	if c.Memo != nil {
		if r, ok := (*c.Memo).(*Regex); ok && r.source == p && r.flags == flags {
			r.use(c)
			return r, nil
		}
	}
	r, err := Compile(strings.Clone(p), strings.Clone(flags))
	if err != nil {
		return nil, err
	}
	r.use(c)
	if c.Memo != nil {
		*c.Memo = r
	}
	return r, nil
}

// OfWithoutG is Of without the option g, which most functions refuse.
func OfWithoutG(c *function.Call, p, flags, name string) (*Regex, error) {
	r, err := Of(c, p, flags)
	if err == nil && r.Global {
		e := pgerr.New(pgerr.InvalidParameterValue, "%s() does not support the \"global\" option", name)
		if name == "regexp_match" {
			e = e.WithHint("Use the regexp_matches function instead.")
		}
		return nil, e
	}
	return r, err
}

// matchBytes is the size of a match in a list beside its offsets.
const matchBytes = 48
