package regex

import (
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Back references and lookaround need a matcher that backtracks. Only expressions that have them
// use it: its time may be exponential in the text's length, so a search is abandoned after a while.
// Of several matches at one place it takes the first in the order of the alternatives, which is the
// longest except where an alternation's earlier branch is shorter.

// searchLimit bounds one search; what takes longer than searchSoon is made again
// so that it can be cancelled. The matcher's clock is a goroutine of its own, one
// for all searches, which ends by itself when the last search's limit has passed.
const (
	searchLimit = 5 * time.Second
	searchSoon  = 300 * time.Millisecond
)

func compileBacktracking(text string, limit time.Duration) (*regexp2.Regexp, error) {
	re, err := regexp2.Compile(text, regexp2.None)
	if err != nil {
		return nil, errRegex("%s", err)
	}
	re.MatchTimeout = limit
	return re, nil
}

// runeBytes is what a character takes there, and while it is searched.
const runeBytes = 64

// runeText is a text as the backtracking matcher reads it. at holds the byte offset of each rune,
// and of the end.
type runeText struct {
	runes []rune
	at    []int
}

func newRuneText(c *function.Call, s string) runeText {
	n := utf8.RuneCountInString(s)
	c.Meter().Scratch(runeBytes * n)
	t := runeText{make([]rune, 0, n), make([]int, 0, n+1)}
	for i, r := range s {
		t.runes, t.at = append(t.runes, r), append(t.at, i)
	}
	t.at = append(t.at, len(s))
	return t
}

// backtrack finds the first match from a rune on: byte offsets as regexp returns them, nil if there
// is none.
func (r *Regex) backtrack(t runeText, from int) ([]int, error) {
	m, err := r.patiently(t, from)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidRegularExpression, "regular expression failed: the search took too long")
	}
	if m == nil {
		return nil, nil
	}
	out := make([]int, 2*(r.Groups+1))
	for g := range r.Groups + 1 {
		x := m.GroupByNumber(g)
		if x == nil || len(x.Captures) == 0 {
			out[2*g], out[2*g+1] = -1, -1
			continue
		}
		out[2*g], out[2*g+1] = t.at[x.Index], t.at[x.Index+x.Length]
	}
	return out, nil
}

// backtrackAll is Each for expressions that backtrack.
func (r *Regex) backtrackAll(s string, start, max int, f func(m []int)) error {
	t := newRuneText(r.C, s)
	from := utf8.RuneCountInString(s[:min(start, len(s))])
	for n := 0; from < len(t.at) && (max == 0 || n < max); n++ {
		m, err := r.backtrack(t, from)
		if err != nil || m == nil {
			return err
		}
		r.C.Meter().Poll(vector.PollBytes)
		for from < len(t.at) && t.at[from] < m[1] {
			from++
		}
		if m[0] == m[1] {
			from++
		}
		f(m)
	}
	return nil
}
