package regex

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
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
func (r *Regex) Matches(s string, start, max int) (out [][]int, err error) {
	err = r.Each(s, start, max, func(m []int) {
		r.C.Meter().Scratch(8*len(m) + matchBytes)
		out = append(out, slices.Clone(m))
	})
	return out, err
}

// Each calls f for what Matches lists. A match is valid until f returns.
func (r *Regex) Each(s string, start, max int, f func(m []int)) error {
	if r.wide != nil && !isASCII(s) {
		return r.wide.Each(s, start, max, f)
	}
	if r.back != nil {
		return r.backtrackAll(s, start, max, f)
	}
	for at, n := start, 0; at <= len(s) && (max == 0 || n < max); n++ {
		m := r.from(s, at)
		if m == nil {
			break
		}
		end, empty := m[1], m[1] == m[0]
		if f(m); !empty {
			at = end
			continue
		}
		if end >= len(s) {
			break
		}
		at = after(s, end)
	}
	return nil
}

// Splitter gives the parts of a text between the matches, as regexp_split_to_table does: empty matches split between
// characters, but not at the ends or right after a match.
type Splitter struct {
	r         *Regex
	s         string
	at, from  int // where the part begins, and where the next match may
	done      bool
	parts     []string // of expressions that backtrack, all of them
	backtrack bool
}

// Split begins with s.
func (r *Regex) Split(s string) (Splitter, error) {
	if r.wide != nil && !isASCII(s) {
		return r.wide.Split(s)
	}
	p := Splitter{r: r, s: s, backtrack: r.back != nil}
	if !p.backtrack {
		return p, nil
	}
	err := r.backtrackAll(s, 0, 0, func(m []int) {
		if p.splits(m) {
			r.C.Meter().Scratch(32)
			p.parts = append(p.parts, s[p.at:m[0]])
			p.at = m[1]
		}
	})
	p.parts = append(p.parts, s[p.at:])
	return p, err
}

func (p *Splitter) splits(m []int) bool { return m[0] < m[1] || m[0] != p.at && m[0] < len(p.s) }

// Next returns the next part.
func (p *Splitter) Next() (part string, ok bool) {
	if p.backtrack {
		if len(p.parts) == 0 {
			return "", false
		}
		part, p.parts = p.parts[0], p.parts[1:]
		return part, true
	}
	for !p.done && p.from <= len(p.s) {
		m := p.r.from(p.s, p.from)
		if m == nil {
			break
		}
		begin, end, splits := m[0], m[1], p.splits(m)
		if p.from = end; begin == end {
			if end >= len(p.s) {
				break
			}
			p.from = after(p.s, end)
		}
		if splits {
			part, p.at = p.s[p.at:begin], end
			return part, true
		}
	}
	if p.done {
		return "", false
	}
	p.done = true
	return p.s[p.at:], true
}

// Replace replaces match n (0: all) found from byte offset start on.
func (r *Regex) Replace(s, by string, start, n int) (string, error) {
	if r.once != nil && n == 0 && start <= len(s) {
		return r.replaceOnce(s, by, start), nil
	}
	var b *vector.Text
	at, k := 0, 0
	err := r.Each(s, start, n, func(m []int) {
		if k++; k < n {
			return
		}
		if k == max(n, 1) {
			b = r.C.Text(len(s))
		}
		b.WriteString(s[at:m[0]])
		r.put(b, s, by, m)
		at = m[1]
	})
	if err != nil || k < max(n, 1) {
		return s, err
	}
	b.WriteString(s[at:])
	return b.String(), nil
}

// replaceOnce replaces all matches of an expression that needs no machine and has no empty match.
func (r *Regex) replaceOnce(s, by string, start int) string {
	m := r.from(s, start)
	if m == nil {
		return s
	}
	b, at := r.C.Text(len(s)), 0
	for ; m != nil; m = r.from(s, at) {
		b.WriteString(s[at:m[0]])
		r.put(b, s, by, m)
		at = m[1]
	}
	b.WriteString(s[at:])
	return b.String()
}

// put writes what replaces a match of s.
func (r *Regex) put(b *vector.Text, s, by string, m []int) {
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
