package textfn

import (
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/regex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addRegexp registers the functions and operators of regular expressions.
func addRegexp(t function.Table) {
	for _, ty := range []string{"text", "bpchar", "name"} {
		args := "(" + ty + ",text)"
		t.Put(ty+"regexeq"+args, function.Always(regexMatch("", false)))
		t.Put(ty+"regexne"+args, function.Always(regexMatch("", true)))
		t.Put(ty+"icregexeq"+args, function.Always(regexMatch("i", false)))
		t.Put(ty+"icregexne"+args, function.Always(regexMatch("i", true)))
	}
	t.Put("regexp_like(text,text)", function.Always(regexMatch("", false)))
	t.Put("regexp_like(text,text,text)", function.Always(function.Try3(func(c *function.Call, s, p, f string) (bool, error) {
		r, err := regex.OfWithoutG(c, p, f, "regexp_like")
		if err != nil {
			return false, err
		}
		return r.Match(s)
	})))
	t.Put("regexp_match(text,text)", function.Always(function.Loose(regexpMatch)))
	t.Put("regexp_match(text,text,text)", function.Always(function.Loose(regexpMatch)))
	t.Put("substring(text,text)", function.Always(function.Try2(func(c *function.Call, s, p string) (string, error) { return regexSubstring(c, s, p) })))
	t.Put("substring(text,text,text)", function.Always(function.Try3(func(c *function.Call, s, p, e string) (string, error) {
		q, err := similarToRegex(c, p, &e)
		if err != nil {
			return "", err
		}
		return regexSubstring(c, s, q)
	})))
	t.Put("similar_to_escape(text)", function.Always(function.Try1(func(c *function.Call, p string) (string, error) {
		e := `\`
		return similarToRegex(c, p, &e)
	})))
	t.Put("similar_to_escape(text,text)", function.Always(function.Try2(func(c *function.Call, p, e string) (string, error) { return similarToRegex(c, p, &e) })))
	t.Put("similar_escape(text,text)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		e := `\`
		if a[1] != nil {
			e = a[1].(string)
		}
		return function.OrNull(similarToRegex(c, a[0].(string), &e))
	})))
	t.Put("regexp_replace(text,text,text)", function.Always(function.Try3(func(c *function.Call, s, p, by string) (string, error) {
		r, err := regex.Of(c, p, "")
		if err != nil {
			return "", err
		}
		return r.Replace(s, by, 0, 1)
	})))
	t.Put("regexp_replace(text,text,text,text)", function.Always(function.Try4(func(c *function.Call, s, p, by, f string) (string, error) {
		if f != "" && f[0] >= '0' && f[0] <= '9' {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", f[0]).
				WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.")
		}
		r, err := regex.Of(c, p, f)
		if err != nil {
			return "", err
		}
		n := 1
		if r.Global {
			n = 0
		}
		return r.Replace(s, by, 0, n)
	})))
	for _, id := range []string{"(text,text,text,int4)", "(text,text,text,int4,int4)", "(text,text,text,int4,int4,text)"} {
		t.Put("regexp_replace"+id, function.Always(function.Loose(regexpReplaceN)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,text)"} {
		t.Put("regexp_count"+id, function.Always(function.Loose(regexpCount)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,int4)", "(text,text,int4,int4,int4)",
		"(text,text,int4,int4,int4,text)", "(text,text,int4,int4,int4,text,int4)"} {
		t.Put("regexp_instr"+id, function.Always(function.Loose(regexpInstr)))
	}
	for _, id := range []string{"(text,text)", "(text,text,int4)", "(text,text,int4,int4)", "(text,text,int4,int4,text)", "(text,text,int4,int4,text,int4)"} {
		t.Put("regexp_substr"+id, function.Always(function.Loose(regexpSubstr)))
	}
	t.Puts(function.Always(function.Loose(regexpSplit)), "regexp_split_to_array(text,text)", "regexp_split_to_array(text,text,text)")
}

func regexMatch(flags string, not bool) function.Impl {
	return function.Try2(func(c *function.Call, s, p string) (bool, error) {
		r, err := regex.Of(c, p, flags)
		if err != nil {
			return false, err
		}
		yes, err := r.Match(s)
		return yes != not, err
	})
}

// ArgText returns argument i, empty where it was left out.
func ArgText(a []types.Datum, i int) string {
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

func regexpMatch(c *function.Call, a []types.Datum) (types.Datum, error) {
	r, err := regex.OfWithoutG(c, a[1].(string), ArgText(a, 2), "regexp_match")
	if err != nil {
		return nil, err
	}
	s := a[0].(string)
	m, err := r.First(s)
	if err != nil || m == nil {
		return nil, err
	}
	return r.GroupsOf(s, m), nil
}

func regexSubstring(c *function.Call, s, p string) (string, error) {
	r, err := regex.Of(c, p, "")
	if err != nil {
		return "", err
	}
	m, err := r.First(s)
	if err != nil {
		return "", err
	}
	if m == nil {
		return "", function.ErrNull
	}
	if r.Groups > 0 {
		if m[2] < 0 {
			return "", function.ErrNull
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
	return function.ByteAt(s, n-1), nil
}

func regexpReplaceN(c *function.Call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 3, 1))
	if err != nil {
		return nil, err
	}
	r, err := regex.Of(c, a[1].(string), ArgText(a, 5))
	if err != nil {
		return nil, err
	}
	n := argInt(a, 4, 1)
	if n < 0 {
		return nil, errArg("n", n)
	}
	if len(a) <= 4 && r.Global {
		n = 0
	}
	if start < 0 {
		return s, nil
	}
	return function.OrNull(r.Replace(s, a[2].(string), start, int(n)))
}

func regexpCount(c *function.Call, a []types.Datum) (types.Datum, error) {
	s := a[0].(string)
	start, err := startOf(s, argInt(a, 2, 1))
	if err != nil {
		return nil, err
	}
	r, err := regex.OfWithoutG(c, a[1].(string), ArgText(a, 3), "regexp_count")
	if err != nil {
		return nil, err
	}
	if start < 0 {
		return int64(0), nil
	}
	n := int64(0)
	err = r.Each(s, start, 0, func([]int) { n++ })
	return n, err
}

func regexpInstr(c *function.Call, a []types.Datum) (types.Datum, error) {
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
	r, err := regex.OfWithoutG(c, a[1].(string), ArgText(a, 5), "regexp_instr")
	if err != nil {
		return nil, err
	}
	if start < 0 || sub > int64(r.Groups) {
		return int64(0), nil
	}
	ms, err := r.Matches(s, start, int(n))
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

func regexpSubstr(c *function.Call, a []types.Datum) (types.Datum, error) {
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
	r, err := regex.OfWithoutG(c, a[1].(string), ArgText(a, 4), "regexp_substr")
	if err != nil {
		return nil, err
	}
	if start < 0 || sub > int64(r.Groups) {
		return nil, nil
	}
	ms, err := r.Matches(s, start, int(n))
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

func regexpSplit(c *function.Call, a []types.Datum) (types.Datum, error) {
	r, err := regex.OfWithoutG(c, a[1].(string), ArgText(a, 2), "regexp_split_to_array")
	if err != nil {
		return nil, err
	}
	parts, err := r.Split(a[0].(string))
	if err != nil {
		return nil, err
	}
	out := types.Array{Elem: types.Text}
	for s, ok := parts.Next(); ok; s, ok = parts.Next() {
		c.Meter().Scratch(2 * function.BoxedBytes)
		out.Elems = append(out.Elems, s)
	}
	return out, nil
}

// similarToRegex turns a pattern of SIMILAR TO into a regular expression.
// esc is the escape character, "" for none.
func similarToRegex(c *function.Call, p string, esc *string) (string, error) {
	e := rune(-1)
	if *esc != "" {
		if utf8.RuneCountInString(*esc) > 1 {
			return "", errEscape()
		}
		e, _ = utf8.DecodeRuneInString(*esc)
	}
	b := c.Text(2 * len(p))
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
			// escaped, so that a \d in the pattern is a backslash and a d
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
