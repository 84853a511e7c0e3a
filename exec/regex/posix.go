package regex

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// PostgreSQL's regular expressions (AREs) are translated to Go's, which run in linear time. What
// RE2 cannot do — back references, lookaround — is left to a matcher that backtracks; what the two
// interpret differently is rewritten:
//
//   - of several matches at one place PostgreSQL takes the longest, or the
//     shortest where the first quantifier is non-greedy; Go has the former as
//     Longest(), the latter is got by making all quantifiers non-greedy
//   - . matches a newline, ^ and $ only the ends, unless the flags say n, m, p, w
//   - classes know Unicode's letters, and their names differ

// Regex is a compiled expression.
type Regex struct {
	source, flags string
	re            *regexp.Regexp  // finds the match
	back          *regexp2.Regexp // set instead of re for expressions that only a backtracking matcher can match
	// split, where set, matches the text found again, from end to end, with the quantifiers as they
	// were written, to find the groups.
	split *regexp.Regexp
	// direct, where set, is what split is, and finds the match too if it must reach the end of the text or has one way
	// to match.
	direct *direct
	once   *directNode // set for a literal, and for one or more characters of a set: matches are found without a machine
	Groups int
	Global bool
	C      *function.Call // the call that uses it
	size   int            // instructions of re
	auto   maybeAutomaton // says whether there is a match
	slow   *regexp2.Regexp
	// looksBack: ^, \A or a word's edge sees what is before a match.
	looksBack bool
	wide      *Regex // for text beyond ASCII, where edges of words must know it
	behind    *behind
	place     [2]int // room for a match of once
}

func errRegex(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidRegularExpression, "invalid regular expression: "+format, args...)
}

// Compile translates and compiles. flags are those of the functions' argument; g sets Global.
func Compile(pattern, flags string) (*Regex, error) {
	tr := &translator{}
	r, err := compileWith(tr, pattern, flags)
	if err == nil && tr.edges {
		r.wide, err = compileWith(&translator{wideEdges: true}, pattern, flags)
	}
	return r, err
}

func compileWith(tr *translator, pattern, flags string) (*Regex, error) {
	r := &Regex{source: pattern, flags: flags}
	for _, f := range flags {
		if f == 'g' {
			r.Global = true
			continue
		}
		if !tr.flag(f) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", f)
		}
	}
	text, err := tr.translate(pattern)
	if err != nil {
		return nil, err
	}
	whole := text
	if tr.shortest {
		whole = tr.head + tr.lazy.String()
	}
	r.Groups, r.looksBack = tr.groups, tr.looksBack
	if len(whole) > maxRegexText || len(whole)*(r.Groups+1) > maxRegexState {
		return nil, errRegex("regular expression is too complex")
	}
	if tr.backtracks {
		r.back, err = compileBacktracking(whole, searchSoon)
		return r, err
	}
	if r.size, err = regexSize(whole); err != nil {
		return nil, err
	}
	if r.re, err = regexp.Compile(whole); err != nil {
		return nil, goError(err)
	}
	if !tr.shortest {
		r.re.Longest()
	}
	if r.looksBack {
		if r.behind, err = newBehind(whole, !tr.shortest); err != nil {
			return nil, goError(err)
		}
	}
	if r.direct = newDirect(text); r.direct != nil {
		if tr.shortest {
			r.direct.sure = false
		} else {
			r.once = r.direct.once()
		}
	}
	if r.Groups > 0 {
		// a failure here, of size, leaves the groups of the first search
		if x, err := regexp.Compile("^(?:" + text + ")\\z"); err == nil {
			r.split = x
		}
	}
	return r, nil
}

// Match reports whether there is a match in s.
func (r *Regex) Match(s string) (bool, error) {
	if r.wide != nil && !isASCII(s) {
		return r.wide.Match(s)
	}
	if r.back != nil {
		m, err := r.backtrack(newRuneText(r.C, s), 0)
		return m != nil, err
	}
	return r.matchIn(s), nil
}

// First returns the first match in s and its groups, as regexp does, until the next call.
func (r *Regex) First(s string) ([]int, error) {
	if r.wide != nil && !isASCII(s) {
		return r.wide.First(s)
	}
	if r.back != nil {
		return r.backtrack(newRuneText(r.C, s), 0)
	}
	return r.find(s), nil
}

type translator struct {
	fold, expanded, quote bool
	nlStop                bool // . and [^…] do not match a newline
	nlAnchor              bool // ^ and $ match at lines
	groups                int
	around                int  // depth within lookaround, where groups do not capture
	backtracks            bool // what RE2 cannot do was seen
	looksBack, edges      bool // see regex; edges of words were seen
	wideEdges             bool // they know letters beyond ASCII

	s   string
	i   int
	out strings.Builder
	// lazy is out with all quantifiers non-greedy; shortest says that it is the
	// one to search with, head being the flags.
	lazy     strings.Builder
	shortest bool
	head     string
	// shortUntil: quantifiers before it are of a group that is to match the
	// least it can, the first part of a SIMILAR pattern with separators.
	shortUntil int
}

func (t *translator) put(s string) {
	t.out.WriteString(s)
	t.lazy.WriteString(s)
}

func (t *translator) putByte(b byte) { t.put(string(rune(b))) }

func (t *translator) putf(format string, args ...any) { t.put(fmt.Sprintf(format, args...)) }

// flag sets an option; it is false for letters that are none.
func (t *translator) flag(f rune) bool {
	switch f {
	case 'i':
		t.fold = true
	case 'c':
		t.fold = false
	case 'n', 'm':
		t.nlStop, t.nlAnchor = true, true
	case 'p':
		t.nlStop, t.nlAnchor = true, false
	case 'w':
		t.nlStop, t.nlAnchor = false, true
	case 's':
		t.nlStop, t.nlAnchor = false, false
	case 'x':
		t.expanded = true
	case 't':
		t.expanded = false
	case 'q':
		t.quote = true
	case 'e', 'b':
	default:
		return false
	}
	return true
}

func (t *translator) translate(p string) (string, error) {
	if rest, ok := strings.CutPrefix(p, "***:"); ok {
		p = rest
	} else if rest, ok := strings.CutPrefix(p, "***="); ok {
		p, t.quote = rest, true
	}
	if !t.quote && strings.HasPrefix(p, "(?") && len(p) > 2 && p[2] >= 'a' && p[2] <= 'z' {
		end := strings.IndexByte(p, ')')
		if end < 0 {
			return "", errRegex("invalid embedded option")
		}
		for _, f := range p[2:end] {
			if !t.flag(f) || f == 'g' {
				return "", errRegex("invalid embedded option")
			}
		}
		p = p[end+1:]
	}
	if t.quote {
		body := regexp.QuoteMeta(p)
		if t.fold {
			body = "(?i)" + body
		}
		return body, nil
	}
	t.s = p
	if strings.HasPrefix(p, "^(?:") {
		t.shortUntil = max(0, strings.Index(p, "){1,1}?("))
	}
	g, err := t.alternatives(0)
	if err != nil {
		return "", err
	}
	t.shortest = g == lazyMatch
	if t.i < len(t.s) {
		return "", errRegex("parentheses () not balanced")
	}
	flags := "s"
	if t.nlStop {
		flags = ""
	}
	if t.nlAnchor {
		flags += "m"
	}
	if t.fold {
		flags += "i"
	}
	if flags != "" {
		t.head = "(?" + flags + ")"
	}
	return t.head + t.out.String(), nil
}

// greed is what an expression prefers of several matches: a branch what its
// first quantified atom with a preference does, an alternation the longest.
type greed uint8

const (
	noMatter greed = iota
	greedyMatch
	lazyMatch
)

// skip skips white space and comments of expanded syntax.
func (t *translator) skip() {
	for t.i < len(t.s) {
		switch {
		case strings.HasPrefix(t.s[t.i:], "(?#"):
			end := strings.IndexByte(t.s[t.i:], ')')
			if end < 0 {
				return
			}
			t.i += end + 1
		case t.expanded && strings.IndexByte(" \t\n\r\f\v", t.s[t.i]) >= 0:
			t.i++
		case t.expanded && t.s[t.i] == '#':
			end := strings.IndexByte(t.s[t.i:], '\n')
			if end < 0 {
				end = len(t.s) - t.i - 1
			}
			t.i += end + 1
		default:
			return
		}
	}
}

const maxRegexDepth = 200

func (t *translator) alternatives(depth int) (greed, error) {
	if depth > maxRegexDepth {
		return 0, errRegex("regular expression is too complex")
	}
	g, err := t.branch(depth)
	for err == nil && t.i < len(t.s) && t.s[t.i] == '|' {
		t.putByte('|')
		t.i++
		g = greedyMatch
		_, err = t.branch(depth)
	}
	return g, err
}

func (t *translator) branch(depth int) (greed, error) {
	first := noMatter
	for {
		t.skip()
		if t.i >= len(t.s) || t.s[t.i] == '|' || t.s[t.i] == ')' && depth > 0 {
			return first, nil
		}
		if t.s[t.i] == ')' {
			return 0, errRegex("parentheses () not balanced")
		}
		quantifiable, g, err := t.atom(depth)
		if err != nil {
			return 0, err
		}
		t.skip()
		if g, err = t.quantifier(quantifiable, g); err != nil {
			return 0, err
		}
		if first == noMatter {
			first = g
		}
	}
}

// quantifier translates one, if there is one, and returns the preference of the
// atom of preference g with it.
func (t *translator) quantifier(allowed bool, g greed) (greed, error) {
	if t.i >= len(t.s) {
		return g, nil
	}
	var q string
	fixed := false
	switch c := t.s[t.i]; {
	case c == '*' || c == '+' || c == '?':
		q = string(c)
		t.i++
	case c == '{' && t.i+1 < len(t.s) && t.s[t.i+1] >= '0' && t.s[t.i+1] <= '9':
		end := strings.IndexByte(t.s[t.i:], '}')
		if end < 0 {
			return 0, errRegex("braces {} not balanced")
		}
		lo, hi, ranged := strings.Cut(t.s[t.i+1:t.i+end], ",")
		n, err := strconv.Atoi(lo)
		if err != nil || n > 255 {
			return 0, errRegex("invalid repetition count(s)")
		}
		fixed = !ranged
		if ranged && hi != "" {
			m, err := strconv.Atoi(hi)
			if err != nil || m > 255 || m < n {
				return 0, errRegex("invalid repetition count(s)")
			}
		}
		q = t.s[t.i : t.i+end+1]
		t.i += end + 1
	default:
		return g, nil
	}
	if !allowed {
		return 0, errRegex("quantifier operand invalid")
	}
	lazy := t.i < len(t.s) && t.s[t.i] == '?'
	if lazy {
		t.i++
	}
	if t.i < len(t.s) && (t.s[t.i] == '*' || t.s[t.i] == '+' || t.s[t.i] == '?' ||
		t.s[t.i] == '{' && t.i+1 < len(t.s) && t.s[t.i+1] >= '0' && t.s[t.i+1] <= '9') {
		return 0, errRegex("quantifier operand invalid")
	}
	t.put(q)
	switch {
	case fixed:
		if lazy {
			t.put("?")
		}
		return g, nil
	case lazy || t.i <= t.shortUntil:
		t.put("?")
	default:
		t.lazy.WriteByte('?')
	}
	if lazy {
		return lazyMatch, nil
	}
	return greedyMatch, nil
}

func (t *translator) atom(depth int) (quantifiable bool, g greed, err error) {
	rest := t.s[t.i:]
	switch c := rest[0]; c {
	case '(':
		switch {
		case strings.HasPrefix(rest, "(?:"):
			t.put("(?:")
			t.i += 3
		case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!"):
			return false, 0, t.lookaround(3, depth)
		case strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
			return false, 0, t.lookaround(4, depth)
		case strings.HasPrefix(rest, "(?"):
			return false, 0, errRegex("quantifier operand invalid")
		case t.around > 0:
			t.put("(?:")
			t.i++
		default:
			t.groups++
			t.putByte('(')
			t.i++
		}
		if g, err = t.alternatives(depth + 1); err != nil {
			return false, 0, err
		}
		if t.i >= len(t.s) || t.s[t.i] != ')' {
			return false, 0, errRegex("parentheses () not balanced")
		}
		t.i++
		t.putByte(')')
		return true, g, nil
	case '[':
		return true, 0, t.bracket()
	case '\\':
		quantifiable, err = t.escape(false)
		return quantifiable, 0, err
	case '*', '+', '?':
		return false, 0, errRegex("quantifier operand invalid")
	case '{':
		if len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' {
			return false, 0, errRegex("quantifier operand invalid")
		}
		t.i++
		t.put(`\{`)
		return true, g, nil
	case '^':
		t.i++
		t.looksBack = true
		t.putByte('^')
		return false, g, nil
	case '$':
		t.i++
		if t.nlAnchor {
			t.put("$")
		} else {
			t.put(`\z`)
		}
		return false, g, nil
	case '.':
		t.i++
		t.putByte('.')
		return true, g, nil
	}
	r, w := utf8.DecodeRuneInString(rest)
	t.i += w
	t.put(regexp.QuoteMeta(string(r)))
	return true, g, nil
}

// lookaround translates a constraint whose opening has n bytes.
func (t *translator) lookaround(n, depth int) error {
	t.put(t.s[t.i : t.i+n])
	t.i += n
	t.backtracks = true
	t.around++
	if _, err := t.alternatives(depth + 1); err != nil {
		return err
	}
	t.around--
	if t.i >= len(t.s) || t.s[t.i] != ')' {
		return errRegex("parentheses () not balanced")
	}
	t.i++
	t.putByte(')')
	return nil
}

// backReference translates \1 and so on; its first digit has been read. More
// digits belong to it as long as there are that many groups.
func (t *translator) backReference(n int) error {
	for t.i < len(t.s) && t.s[t.i] >= '0' && t.s[t.i] <= '9' && 10*n+int(t.s[t.i]-'0') <= t.groups {
		n = 10*n + int(t.s[t.i]-'0')
		t.i++
	}
	if n > t.groups || t.around > 0 {
		return errRegex("invalid backreference number")
	}
	t.backtracks = true
	t.putf(`(?:\%d)`, n)
	return nil
}

// classes, as they stand within brackets.
var regexClasses = map[string]string{
	"alpha": `\p{L}\p{Nl}`, "digit": `0-9`, "alnum": `\p{L}\p{Nl}\p{Nd}\p{No}`, "upper": `\p{Lu}\p{Lt}`, "lower": `\p{Ll}`,
	"space": ` \t\n\v\f\r\x{85}\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}`,
	"blank": ` \t`, "punct": `!-/:-@\[-` + "`" + `{-~\p{P}\p{S}`, "cntrl": `\x00-\x1f\x7f`,
	"graph": `!-~\p{L}\p{M}\p{N}\p{P}\p{S}`, "print": ` -~\p{L}\p{M}\p{N}\p{P}\p{S}`, "xdigit": `0-9A-Fa-f`,
	"word": `\p{L}\p{Nl}\p{Nd}\p{No}_`, "ascii": `\x00-\x7f`,
}

// escape translates \x, within brackets or without.
func (t *translator) escape(inside bool) (quantifiable bool, err error) {
	if t.i+1 >= len(t.s) {
		return false, errRegex("invalid escape \\ sequence")
	}
	c := t.s[t.i+1]
	t.i += 2
	class := func(name string, not bool) (bool, error) {
		switch {
		case inside && not:
			return false, errRegex("invalid escape \\ sequence")
		case inside:
			t.put(regexClasses[name])
		case not:
			t.put("[^" + regexClasses[name] + "]")
		default:
			t.put("[" + regexClasses[name] + "]")
		}
		return true, nil
	}
	char := func(r rune) (bool, error) {
		t.putf(`\x{%x}`, r)
		return true, nil
	}
	hexes := func(n int, atLeast int) (bool, error) {
		k := 0
		for k < n && t.i+k < len(t.s) && strings.IndexByte("0123456789abcdefABCDEF", t.s[t.i+k]) >= 0 {
			k++
		}
		if k < atLeast {
			return false, errRegex("invalid escape \\ sequence")
		}
		v, err := strconv.ParseUint(t.s[t.i:t.i+k], 16, 32)
		t.i += k
		if err != nil || v > utf8.MaxRune {
			return false, errRegex("invalid escape \\ sequence")
		}
		return char(rune(v))
	}
	switch c {
	case 'd':
		return class("digit", false)
	case 'D':
		return class("digit", true)
	case 's':
		return class("space", false)
	case 'S':
		return class("space", true)
	case 'w':
		return class("word", false)
	case 'W':
		return class("word", true)
	case 'a':
		return char(7)
	case 'b':
		return char(8)
	case 'B':
		t.put(`\\`)
		return true, nil
	case 'e':
		return char(27)
	case 'f':
		return char(12)
	case 'n':
		return char(10)
	case 'r':
		return char(13)
	case 't':
		return char(9)
	case 'v':
		return char(11)
	case 'c':
		if t.i >= len(t.s) {
			return false, errRegex("invalid escape \\ sequence")
		}
		t.i++
		return char(rune(t.s[t.i-1] & 31))
	case 'u':
		return hexes(4, 4)
	case 'U':
		return hexes(8, 8)
	case 'x':
		return hexes(8, 1)
	case '0':
		k := 0
		for k < 2 && t.i+k < len(t.s) && t.s[t.i+k] >= '0' && t.s[t.i+k] <= '7' {
			k++
		}
		v, _ := strconv.ParseUint("0"+t.s[t.i:t.i+k], 8, 32)
		t.i += k
		return char(rune(v))
	}
	if c >= '1' && c <= '9' {
		if inside {
			return false, errRegex("invalid escape \\ sequence")
		}
		return true, t.backReference(int(c - '0'))
	}
	if !inside {
		switch c {
		case 'A':
			t.looksBack = true
			t.put(`\A`)
			return false, nil
		case 'Z':
			t.put(`\z`)
			return false, nil
		case 'y':
			t.edge(true)
			return false, nil
		case 'Y':
			t.edge(false)
			return false, nil
		case 'm':
			return false, t.wordEdge(true)
		case 'M':
			return false, t.wordEdge(false)
		}
	}
	if c|0x20 >= 'a' && c|0x20 <= 'z' {
		return false, errRegex("invalid escape \\ sequence")
	}
	r, w := utf8.DecodeRuneInString(t.s[t.i-1:])
	t.i += w - 1
	t.put(regexp.QuoteMeta(string(r)))
	return true, nil
}

// wordEdge is \m or \M: a word's start or end. It is \b where what stands next
// to it can only match within a word, and needs lookaround elsewhere.
func (t *translator) wordEdge(start bool) error {
	ok := false
	if start {
		rest := t.s[t.i:]
		rest = strings.TrimLeft(rest, "(")
		ok = rest != "" && (wordByte(rest[0]) || strings.HasPrefix(rest, `\w`) || strings.HasPrefix(rest, `\d`) || strings.HasPrefix(rest, "[["))
	} else {
		before := strings.TrimRight(t.s[:t.i-2], ")+")
		ok = before != "" && (wordByte(before[len(before)-1]) || strings.HasSuffix(before, ":]]"))
	}
	word := "[" + regexClasses["word"] + "]"
	switch {
	case ok && !t.wideEdges:
		t.edge(true)
	case start:
		t.backtracks = true
		t.put("(?<!" + word + ")(?=" + word + ")")
	default:
		t.backtracks = true
		t.put("(?<=" + word + ")(?!" + word + ")")
	}
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// bracket translates […].
func (t *translator) bracket() error {
	if strings.HasPrefix(t.s[t.i:], "[[:<:]]") {
		t.i += 7
		return t.wordEdge(true)
	}
	if strings.HasPrefix(t.s[t.i:], "[[:>:]]") {
		t.i += 7
		return t.wordEdge(false)
	}
	t.i++
	t.putByte('[')
	if t.i < len(t.s) && t.s[t.i] == '^' {
		t.i++
		t.putByte('^')
		if t.nlStop {
			t.put(`\n`)
		}
	}
	first := true
	for {
		if t.i >= len(t.s) {
			return errRegex("brackets [] not balanced")
		}
		rest := t.s[t.i:]
		switch {
		case rest[0] == ']' && !first:
			t.i++
			t.putByte(']')
			return nil
		case strings.HasPrefix(rest, "[:"):
			end := strings.Index(rest, ":]")
			if end < 0 {
				return errRegex("brackets [] not balanced")
			}
			cl, ok := regexClasses[rest[2:end]]
			if !ok {
				return errRegex("invalid character class")
			}
			if t.fold && (rest[2:end] == "upper" || rest[2:end] == "lower") {
				cl = regexClasses["alpha"]
			}
			t.put(cl)
			t.i += end + 2
		case rest[0] == '\\':
			if _, err := t.escape(true); err != nil {
				return err
			}
			if err := t.rangeEnd(); err != nil {
				return err
			}
		default:
			if err := t.member(); err != nil {
				return err
			}
			if err := t.rangeEnd(); err != nil {
				return err
			}
		}
		first = false
	}
}

// rangeEnd translates the second half of a-b, if there is one.
func (t *translator) rangeEnd() error {
	if t.i+1 >= len(t.s) || t.s[t.i] != '-' || t.s[t.i+1] == ']' {
		return nil
	}
	t.i++
	t.putByte('-')
	if t.s[t.i] == '\\' {
		_, err := t.escape(true)
		return err
	}
	return t.member()
}

// member translates one character within brackets, [.x.] and [=x=] included.
func (t *translator) member() error {
	rest := t.s[t.i:]
	for _, mark := range []string{".", "="} {
		if inner, ok := strings.CutPrefix(rest, "["+mark); ok {
			end := strings.Index(inner, mark+"]")
			if end < 0 {
				return errRegex("brackets [] not balanced")
			}
			r, w := utf8.DecodeRuneInString(inner)
			if w != end {
				return errRegex("invalid collating element")
			}
			t.putf(`\x{%x}`, r)
			t.i += 2 + end + 2
			return nil
		}
	}
	r, w := utf8.DecodeRuneInString(rest)
	t.i += w
	t.putf(`\x{%x}`, r)
	return nil
}
