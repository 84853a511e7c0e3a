package textfn

import (
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel/search"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// addPatterns registers LIKE and ILIKE.
func addPatterns(t function.Table) {
	for _, ty := range []string{"text", "bpchar", "name"} {
		args := "(" + ty + ",text)"
		t.Put(ty+"like"+args, function.Always(likeImpl(false, false)))
		t.Put(ty+"nlike"+args, function.Always(likeImpl(false, true)))
		t.Put(ty+"iclike"+args, function.Always(likeImpl(true, false)))
		t.Put(ty+"icnlike"+args, function.Always(likeImpl(true, true)))
		if ty != "bpchar" {
			t.Put("like"+args, function.Always(likeImpl(false, false)))
			t.Put("notlike"+args, function.Always(likeImpl(false, true)))
		}
	}
	t.Puts(function.Always(likeBytes(false)), "bytealike(bytea,bytea)", "like(bytea,bytea)")
	t.Puts(function.Always(likeBytes(true)), "byteanlike(bytea,bytea)", "notlike(bytea,bytea)")
	t.Put("like_escape(text,text)", function.Always(function.Try2(likeEscape)))
	t.Put("like_escape(bytea,bytea)", function.Always(function.Try2(func(c *function.Call, p, e []byte) ([]byte, error) {
		if len(e) > 1 {
			return nil, errEscape()
		}
		out := c.Text(len(p))
		for i := 0; i < len(p); i++ {
			switch {
			case len(e) == 1 && p[i] == e[0] && e[0] != '\\' && i+1 < len(p):
				i++
				_, _ = out.Write([]byte{'\\', p[i]})
			case p[i] == '\\' && !(len(e) == 1 && e[0] == '\\'):
				out.WriteString(`\\`)
			default:
				_ = out.WriteByte(p[i])
			}
		}
		return out.Bytes(), nil
	})))
}

// PatternFunc reports whether f can fail only by its pattern. With a constant pattern it may be
// computed for dictionary entries that no row has, since a bad pattern fails for any string.
func PatternFunc(f *fn.Func) bool {
	switch {
	case strings.Contains(f.Name, "like") && f.Name != "like_escape",
		strings.Contains(f.Name, "regexeq"), strings.Contains(f.Name, "regexne"):
		return true
	}
	switch f.Name {
	case "substr", "substring", "regexp_replace", "regexp_like", "regexp_count":
		return true
	}
	return false
}

// likePattern is a compiled LIKE pattern: runs of literal bytes and one-character wildcards,
// separated by %.
type likePattern struct {
	source string
	form   likeForm
	lit    string // for the simple forms
	segs   []likeSeg
	open   [2]bool // % at the start, at the end
	bytes  bool    // _ is a byte
	fold   bool    // ILIKE
	broken bool    // ends with the escape character
	reach  *likePattern
	needle *search.Needle // a literal that every matching string contains; nil: none known
}

type likeForm uint8

const (
	likeGeneral likeForm = iota
	likeExact
	likePrefix
	likeSuffix
	likeContains
	likeAny
)

// likeSeg is a run without %: alternating literals and counts of _.
type likeSeg []likeTok

type likeTok struct {
	lit string
	any bool // one character
}

func compileLike(p string, fold, bytes bool) *likePattern {
	if fold {
		p2 := strings.ToLower(p)
		l := compileLike(p2, false, bytes)
		l.source, l.fold = p, true
		return l
	}
	l := &likePattern{source: p, bytes: bytes}
	var seg likeSeg
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			seg = append(seg, likeTok{lit: lit.String()})
			lit.Reset()
		}
	}
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i+1 == len(p) {
				l.broken = true
				l.reach = compileLike(p[:i]+"_%", false, bytes)
				continue
			}
			i++
			lit.WriteByte(p[i])
		case '%':
			flush()
			if len(seg) > 0 {
				l.segs, seg = append(l.segs, seg), nil
			}
			if len(l.segs) == 0 {
				l.open[0] = true
			}
			l.open[1] = true
			continue
		case '_':
			flush()
			seg = append(seg, likeTok{any: true})
		default:
			lit.WriteByte(p[i])
		}
		l.open[1] = false
	}
	flush()
	if len(seg) > 0 {
		l.segs = append(l.segs, seg)
	}
	single := len(l.segs) == 1 && len(l.segs[0]) == 1 && !l.segs[0][0].any
	if single {
		l.lit = l.segs[0][0].lit
	}
	switch {
	case l.broken:
	case len(l.segs) == 0 && l.open[0]:
		l.form = likeAny
	case len(l.segs) == 0:
		l.form = likeExact
	case single && !l.open[0] && !l.open[1]:
		l.form = likeExact
	case single && !l.open[0]:
		l.form = likePrefix
	case single && !l.open[1]:
		l.form = likeSuffix
	case single:
		l.form = likeContains
	}
	l.needle = l.needleOf()
	return l
}

// needleOf makes a needle of the longest literal, where a string that matches may have it
// anywhere.
func (l *likePattern) needleOf() *search.Needle {
	if l.broken || !l.open[0] {
		return nil // most strings are decided by their start
	}
	longest := ""
	for _, seg := range l.segs {
		for _, t := range seg {
			if len(t.lit) > len(longest) {
				longest = t.lit
			}
		}
	}
	if len(longest) < 2 || l.form == likeSuffix {
		return nil
	}
	return search.New(longest)
}

func (l *likePattern) match(s string) (bool, error) {
	if l.fold {
		s = strings.ToLower(s)
	}
	switch l.form {
	case likeExact:
		return s == l.lit, nil
	case likePrefix:
		return strings.HasPrefix(s, l.lit), nil
	case likeSuffix:
		return strings.HasSuffix(s, l.lit), nil
	case likeContains:
		return strings.Contains(s, l.lit), nil
	case likeAny:
		return true, nil
	}
	if l.broken {
		// the pattern's last character is the escape: an error, as in
		// PostgreSQL, only for a string that matches all before it and has
		// characters left
		if ok, _ := l.reach.match(s); ok {
			return false, pgerr.New(pgerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")
		}
		return false, nil
	}
	segs := l.segs
	if !l.open[0] {
		n, ok := l.at(segs[0], s)
		if !ok {
			return false, nil
		}
		s, segs = s[n:], segs[1:]
		if len(segs) == 0 {
			return l.open[1] || s == "", nil
		}
	}
	last := len(segs)
	if !l.open[1] {
		last--
	}
	for _, seg := range segs[:last] {
		from, n, ok := l.find(seg, s)
		if !ok {
			return false, nil
		}
		s = s[from+n:]
	}
	if l.open[1] {
		return true, nil
	}
	return l.ends(segs[last], s), nil
}

// at matches a run at the start of s, and returns its length.
func (l *likePattern) at(seg likeSeg, s string) (int, bool) {
	n := 0
	for _, t := range seg {
		if t.any {
			if n >= len(s) {
				return 0, false
			}
			n += l.width(s[n:])
			continue
		}
		if !strings.HasPrefix(s[n:], t.lit) {
			return 0, false
		}
		n += len(t.lit)
	}
	return n, true
}

func (l *likePattern) width(s string) int {
	if l.bytes || s[0] < utf8.RuneSelf {
		return 1
	}
	_, w := utf8.DecodeRuneInString(s)
	return w
}

// find returns the first place where a run matches.
func (l *likePattern) find(seg likeSeg, s string) (from, n int, ok bool) {
	for from <= len(s) {
		if !seg[0].any {
			i := strings.Index(s[from:], seg[0].lit)
			if i < 0 {
				return 0, 0, false
			}
			from += i
		}
		if n, ok := l.at(seg, s[from:]); ok {
			return from, n, true
		}
		if from == len(s) {
			break
		}
		from += l.width(s[from:])
	}
	return 0, 0, false
}

// ends reports whether a run matches the end of s: it has a fixed number of
// characters, so there is one place to look.
func (l *likePattern) ends(seg likeSeg, s string) bool {
	i := len(s)
	for k := len(seg) - 1; k >= 0; k-- {
		t := seg[k]
		if t.any {
			if i == 0 {
				return false
			}
			w := 1
			if !l.bytes {
				_, w = utf8.DecodeLastRuneInString(s[:i])
			}
			i -= w
			continue
		}
		if !strings.HasSuffix(s[:i], t.lit) {
			return false
		}
		i -= len(t.lit)
	}
	return true
}

// patternOf returns the compiled form of a pattern, from the call's memo if it is the same as the
// last one.
func patternOf(c *function.Call, p string, fold, bytes bool) *likePattern {
	if l, ok := (*c.Memo).(*likePattern); ok && l.source == p {
		return l
	}
	c.Meter().Scratch(64 * len(p))
	l := compileLike(strings.Clone(p), fold, bytes)
	*c.Memo = l
	return l
}

func likeImpl(fold, not bool) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[uint8](c.Arena, c.N)
		s, p := args[0], args[1]
		flip := vector.ByteOf(not)
		var l *likePattern
		if p.One {
			l = patternOf(c, p.Str(0), fold, false)
			if !fold && l.needle != nil && !s.One && s.Kind != vector.Dict {
				likeColumn(c, l, s, flip, out)
				return vector.NewBool(out, c.Valid), nil
			}
		}
		for i := range out {
			if c.Skip(i) {
				out[i] = 0
				continue
			}
			if !p.One {
				l = patternOf(c, p.Str(i), fold, false)
			}
			x := s.Str(i)
			if fold {
				c.Meter().Scratch(len(x))
			}
			ok, err := l.match(x)
			if err != nil {
				return nil, err
			}
			c.Meter().Poll(len(x))
			c.RowDone()
			out[i] = vector.ByteOf(ok) ^ flip
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// likeColumn matches a whole column: only strings with the needle are matched one by one.
func likeColumn(c *function.Call, l *likePattern, s *vector.Vec, flip uint8, out []uint8) {
	for i := range out {
		out[i] = flip
	}
	offs := s.Off[:len(out)+1]
	l.needle.Rows(offs, s.Data, func(i int) {
		if ok, _ := l.match(s.Str(i)); ok {
			out[i] = 1 ^ flip
		}
	})
	if c.Valid != nil {
		for i := range out {
			if c.Skip(i) {
				out[i] = 0
			}
		}
	}
	c.Meter().Poll(int(offs[len(out)]-offs[0]) + len(out)*vector.RowWork)
}

func likeBytes(not bool) function.Impl {
	return function.Try2(func(c *function.Call, s, p []byte) (bool, error) {
		ok, err := patternOf(c, string(p), false, true).match(vector.BytesString(s))
		return ok != not, err
	})
}

func errEscape() error {
	return pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
		WithHint("Escape string must be empty or one character.")
}

// likeEscape rewrites a pattern to the escape character \.
func likeEscape(c *function.Call, p, e string) (string, error) {
	if utf8.RuneCountInString(e) > 1 {
		return "", errEscape()
	}
	if e == `\` {
		return p, nil
	}
	b := c.Text(len(p))
	esc := false
	for _, r := range p {
		switch {
		case e != "" && string(r) == e && !esc:
			_ = b.WriteByte('\\')
			esc = true
			continue
		case r == '\\' && !esc:
			b.WriteString(`\\`)
			continue
		}
		b.WriteRune(r)
		esc = false
	}
	return b.String(), nil
}
