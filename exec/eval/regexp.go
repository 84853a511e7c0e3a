package eval

import (
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addRegexp registers the functions and operators of regular expressions.
func addRegexp(t table) {
	for _, ty := range []string{"text", "bpchar", "name"} {
		args := "(" + ty + ",text)"
		t.put(ty+"regexeq"+args, always(regexMatch("", false)))
		t.put(ty+"regexne"+args, always(regexMatch("", true)))
		t.put(ty+"icregexeq"+args, always(regexMatch("i", false)))
		t.put(ty+"icregexne"+args, always(regexMatch("i", true)))
	}
	t.put("regexp_like(text,text)", always(regexMatch("", false)))
	t.put("regexp_like(text,text,text)", always(try3(func(c *call, s, p, f string) (bool, error) {
		r, err := regexNoG(c, p, f, "regexp_like")
		if err != nil {
			return false, err
		}
		return r.match(s)
	})))
	t.put("regexp_match(text,text)", always(loose(regexpMatch)))
	t.put("regexp_match(text,text,text)", always(loose(regexpMatch)))
	t.put("substring(text,text)", always(try2(func(c *call, s, p string) (string, error) { return regexSubstring(c, s, p) })))
	t.put("substring(text,text,text)", always(try3(func(c *call, s, p, e string) (string, error) {
		q, err := similarToRegex(c, p, &e)
		if err != nil {
			return "", err
		}
		return regexSubstring(c, s, q)
	})))
	t.put("similar_to_escape(text)", always(try1(func(c *call, p string) (string, error) {
		e := `\`
		return similarToRegex(c, p, &e)
	})))
	t.put("similar_to_escape(text,text)", always(try2(func(c *call, p, e string) (string, error) { return similarToRegex(c, p, &e) })))
	t.put("similar_escape(text,text)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		e := `\`
		if a[1] != nil {
			e = a[1].(string)
		}
		return orNil(similarToRegex(c, a[0].(string), &e))
	})))
	t.put("regexp_replace(text,text,text)", always(try3(func(c *call, s, p, by string) (string, error) {
		r, err := regexOf(c, p, "")
		if err != nil {
			return "", err
		}
		return r.replace(s, by, 0, 1)
	})))
	t.put("regexp_replace(text,text,text,text)", always(try4(func(c *call, s, p, by, f string) (string, error) {
		if f != "" && f[0] >= '0' && f[0] <= '9' {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", f[0]).
				WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.")
		}
		r, err := regexOf(c, p, f)
		if err != nil {
			return "", err
		}
		n := 1
		if r.global {
			n = 0
		}
		return r.replace(s, by, 0, n)
	})))
	for _, id := range []string{"(text,text,text,int4)", "(text,text,text,int4,int4)", "(text,text,text,int4,int4,text)"} {
		t.put("regexp_replace"+id, always(loose(regexpReplaceN)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,text)"} {
		t.put("regexp_count"+id, always(loose(regexpCount)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,int4)", "(text,text,int4,int4,int4)",
		"(text,text,int4,int4,int4,text)", "(text,text,int4,int4,int4,text,int4)"} {
		t.put("regexp_instr"+id, always(loose(regexpInstr)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,int4)", "(text,text,int4,int4,text)", "(text,text,int4,int4,text,int4)"} {
		t.put("regexp_substr"+id, always(loose(regexpSubstr)))
	}
	t.puts(always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		parts, err := regexpSplit(c, a)
		if err != nil {
			return nil, err
		}
		out := types.Array{Elem: types.Text}
		c.meter().scratch(2 * boxedBytes * len(parts))
		for _, p := range parts {
			out.Elems = append(out.Elems, p)
		}
		return out, nil
	})), "regexp_split_to_array(text,text)", "regexp_split_to_array(text,text,text)")
}

func regexMatch(flags string, not bool) impl {
	return try2(func(c *call, s, p string) (bool, error) {
		r, err := regexOf(c, p, flags)
		if err != nil {
			return false, err
		}
		yes, err := r.match(s)
		return yes != not, err
	})
}

func argText(a []types.Datum, i int) string {
	if i < len(a) {
		s, _ := a[i].(string)
		return s
	}
	return ""
}

func argInt(a []types.Datum, i int, def int64) int64 {
	if i < len(a) {
		if n, ok := a[i].(int64); ok {
			return n
		}
	}
	return def
}

func regexpMatch(c *call, a []types.Datum) (types.Datum, error) {
	r, err := regexNoG(c, a[1].(string), argText(a, 2), "regexp_match")
	if err != nil {
		return nil, err
	}
	s := a[0].(string)
	m, err := r.first(s)
	if err != nil || m == nil {
		return nil, err
	}
	return r.groupsOf(s, m), nil
}

func regexSubstring(c *call, s, p string) (string, error) {
	r, err := regexOf(c, p, "")
	if err != nil {
		return "", err
	}
	m, err := r.first(s)
	if err != nil {
		return "", err
	}
	if m == nil {
		return "", errNull
	}
	if r.groups > 0 {
		if m[2] < 0 {
			return "", errNull
		}
		return s[m[2]:m[3]], nil
	}
	return s[m[0]:m[1]], nil
}

func errArg(name string, v int64) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, v)
}

// startOf turns a start argument, in characters from 1, into a byte offset; -1
// beyond the end.
func startOf(s string, n int64) (int, error) {
	if n <= 0 {
		return 0, errArg("start", n)
	}
	if n-1 > runeCount(s) {
		return -1, nil
	}
	return byteAt(s, n-1), nil
}

func regexpReplaceN(c *call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 3, 1))
	if err != nil {
		return nil, err
	}
	r, err := regexOf(c, a[1].(string), argText(a, 5))
	if err != nil {
		return nil, err
	}
	n := argInt(a, 4, 1)
	if n < 0 {
		return nil, errArg("n", n)
	}
	if len(a) <= 4 && r.global {
		n = 0
	}
	if start < 0 {
		return s, nil
	}
	return orNil(r.replace(s, a[2].(string), start, int(n)))
}

func regexpCount(c *call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 2, 1))
	if err != nil {
		return nil, err
	}
	r, err := regexNoG(c, a[1].(string), argText(a, 3), "regexp_count")
	if err != nil {
		return nil, err
	}
	if start < 0 {
		return int64(0), nil
	}
	ms, err := r.matches(s, start, 0)
	return int64(len(ms)), err
}

func regexpInstr(c *call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 2, 1))
	if err != nil {
		return nil, err
	}
	n, end, sub := argInt(a, 3, 1), argInt(a, 4, 0), argInt(a, 6, 0)
	switch {
	case n <= 0:
		return nil, errArg("n", n)
	case end != 0 && end != 1:
		return nil, errArg("endoption", end)
	case sub < 0:
		return nil, errArg("subexpr", sub)
	}
	r, err := regexNoG(c, a[1].(string), argText(a, 5), "regexp_instr")
	if err != nil {
		return nil, err
	}
	if start < 0 || sub > int64(r.groups) {
		return int64(0), nil
	}
	ms, err := r.matches(s, start, int(n))
	if err != nil {
		return nil, err
	}
	if int64(len(ms)) < n {
		return int64(0), nil
	}
	pos := ms[n-1][2*sub+end]
	if pos < 0 {
		return int64(0), nil
	}
	return runeCount(s[:pos]) + 1, nil
}

func regexpSubstr(c *call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 2, 1))
	if err != nil {
		return nil, err
	}
	n, sub := argInt(a, 3, 1), argInt(a, 5, 0)
	switch {
	case n <= 0:
		return nil, errArg("n", n)
	case sub < 0:
		return nil, errArg("subexpr", sub)
	}
	r, err := regexNoG(c, a[1].(string), argText(a, 4), "regexp_substr")
	if err != nil {
		return nil, err
	}
	if start < 0 || sub > int64(r.groups) {
		return nil, nil
	}
	ms, err := r.matches(s, start, int(n))
	if err != nil {
		return nil, err
	}
	if int64(len(ms)) < n {
		return nil, nil
	}
	m := ms[n-1]
	if m[2*sub] < 0 {
		return nil, nil
	}
	return s[m[2*sub]:m[2*sub+1]], nil
}

// regexpSplit is regexp_split_to_array and _to_table: empty matches split
// between characters, but not at the ends or right after a match.
func regexpSplit(c *call, a []types.Datum) ([]string, error) {
	s := a[0].(string)
	r, err := regexNoG(c, a[1].(string), argText(a, 2), "regexp_split_to_table")
	if err != nil {
		return nil, err
	}
	ms, err := r.matches(s, 0, 0)
	if err != nil {
		return nil, err
	}
	r.c.meter().scratch(32 * len(ms))
	var out []string
	at := 0
	for _, m := range ms {
		if m[0] == m[1] && (m[0] == at && m[0] == 0 || m[0] >= len(s) || m[0] == at) {
			continue
		}
		out = append(out, s[at:m[0]])
		at = m[1]
	}
	return append(out, s[at:]), nil
}

// similarToRegex turns a pattern of SIMILAR TO into a regular expression.
// esc is the escape character, "" for none.
func similarToRegex(c *call, p string, esc *string) (string, error) {
	e := rune(-1)
	if *esc != "" {
		if utf8.RuneCountInString(*esc) > 1 {
			return "", errEscape()
		}
		e, _ = utf8.DecodeRuneInString(*esc)
	}
	b := c.text(2 * len(p))
	b.WriteString("^(?:")
	escaped, inClass := false, false
	quotes := 0
	for _, r := range p {
		switch {
		case escaped:
			escaped = false
			if r == '"' && !inClass {
				switch quotes {
				case 0:
					b.WriteString("){1,1}?(")
				case 1:
					b.WriteString("){1,1}(?:")
				default:
					return "", pgerr.New(pgerr.InvalidUseOfEscapeCharacter, "SQL regular expression may not contain more than two escape-double-quote separators")
				}
				quotes++
				continue
			}
			// the meaning of escapes such as \d is kept from the pattern
			_ = b.WriteByte('\\')
			b.WriteRune(r)
		case r == e:
			escaped = true
		case inClass:
			if r == '\\' {
				_ = b.WriteByte('\\')
			}
			b.WriteRune(r)
			if r == ']' {
				inClass = false
			}
		case r == '[':
			b.WriteRune(r)
			inClass = true
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			_ = b.WriteByte('.')
		case r == '(':
			b.WriteString("(?:")
		case r == '\\' || r == '.' || r == '^' || r == '$':
			_ = b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}
