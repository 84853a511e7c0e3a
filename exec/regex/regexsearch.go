package regex

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/tributarydb/tributary/exec/vector"
)

const (
	// maxRegexText is how long an expression may be, maxRegexSize how many
	// instructions it may have, and maxRegexState the bytes its threads may take:
	// each has all groups.
	maxRegexText  = 400_000
	maxRegexSize  = 200_000
	maxRegexState = 64 << 20
	// quickWork is the product of characters and instructions up to which a search does not check the
	// context: some tenths of a second at most.
	quickWork = 1 << 25
)

// regexSize is how many instructions a translated expression has.
func regexSize(text string) (int, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, goError(err)
	}
	groups := tree.MaxCap()
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, goError(err)
	}
	n := len(prog.Inst)
	if n > maxRegexSize || n*(groups+1) > maxRegexState/16 {
		return 0, errRegex("regular expression is too complex")
	}
	return n, nil
}

// search finds the first match of re, of r's expressions, in s. Where it may
// take long, the text is read through the meter, which ends it.
func (r *Regex) search(re *regexp.Regexp, s string) []int {
	m := r.C.Meter()
	m.Poll(vector.RowWork + len(s)/16)
	if m == nil || vector.Product(int64(len(s)), int64(r.size)) <= quickWork {
		return re.FindStringSubmatchIndex(s)
	}
	return re.FindReaderSubmatchIndex(&meteredRunes{s: s, m: m, per: r.size})
}

// matchIn reports whether there is a match.
func (r *Regex) matchIn(s string) bool {
	m := r.C.Meter()
	if d := r.direct; d != nil && (!d.wide || d.anchored || d.prefix != "") {
		if is, ok := d.in(s); ok {
			m.Poll(vector.RowWork + len(s)/16)
			return is
		}
	}
	m.Poll(vector.RowWork + len(s)/16)
	if !r.auto.tried {
		m.Scratch(r.size * 64)
		r.auto = maybeAutomaton{newAutomaton(r.re), true}
	}
	if r.auto.automaton != nil {
		if is, ok := r.auto.in(s, m); ok {
			return is
		}
		r.auto.automaton = nil
	}
	if m == nil || vector.Product(int64(len(s)), int64(r.size)) <= quickWork {
		return r.re.MatchString(s)
	}
	return r.re.MatchReader(&meteredRunes{s: s, m: m, per: r.size})
}

// meteredRunes is a text that is read through a meter, each character counting
// for per bytes.
type meteredRunes struct {
	s   string
	at  int
	m   *vector.Meter
	per int
}

// ReadRune implements io.RuneReader.
func (r *meteredRunes) ReadRune() (rune, int, error) {
	if r.at >= len(r.s) {
		return 0, 0, io.EOF
	}
	r.m.Poll(r.per)
	c, w := rune(r.s[r.at]), 1
	if c >= utf8.RuneSelf {
		c, w = utf8.DecodeRuneInString(r.s[r.at:])
	}
	r.at += w
	return c, w, nil
}

// found is the outcome of a search that backtracks.
type found struct {
	m   *regexp2.Match
	err error
}

// patiently searches by backtracking. The matcher takes no context: a search that does not end soon
// is run again in a goroutine, which the statement may end without; it ends itself when its limit
// has passed.
func (r *Regex) patiently(t runeText, from int) (*regexp2.Match, error) {
	m, err := r.back.FindRunesMatchStartingAt(t.runes, from)
	if err == nil || r.C.Meter() == nil || r.C.Meter().Ctx == nil {
		return m, err
	}
	ctx := r.C.Meter().Ctx
	if err := ctx.Err(); err != nil {
		vector.Abort(err)
	}
	if r.slow == nil {
		if r.slow, err = compileBacktracking(r.back.String(), searchLimit); err != nil {
			return nil, err
		}
	}
	done, slow := make(chan found, 1), r.slow
	go func() { // ends with the search's limit
		m, err := slow.FindRunesMatchStartingAt(t.runes, from)
		done <- found{m, err}
	}()
	select {
	case f := <-done:
		return f.m, f.err
	case <-ctx.Done():
		vector.Abort(ctx.Err())
		return nil, ctx.Err()
	}
}
