package eval

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addStrings registers the functions of text.
func addStrings(t table) {
	t.put("lower(text)", always(try1(func(c *call, s string) (string, error) { return c.mapped(s, unicode.ToLower), nil })))
	t.put("upper(text)", always(try1(func(c *call, s string) (string, error) { return c.mapped(s, unicode.ToUpper), nil })))
	t.put("initcap(text)", always(try1(initcap)))
	t.puts(always(strict1(runeCount)), "length(text)", "char_length(text)", "character_length(text)", "textlen(text)")
	t.puts(always(strict1(func(s string) int64 { return runeCount(types.TrimBlanks(s)) })),
		"length(bpchar)", "char_length(bpchar)", "character_length(bpchar)")
	t.puts(always(strict1(func(s string) int64 { return int64(len(s)) })), "octet_length(text)", "octet_length(bpchar)")
	t.put("bit_length(text)", always(strict1(func(s string) int64 { return int64(len(s)) * 8 })))
	t.put("ascii(text)", always(strict1(func(s string) int64 {
		if s == "" {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})))
	t.put("chr(int4)", always(try1(chr)))
	t.put("textcat(text,text)", always(concatTexts))
	t.puts(always(loose(catAny)), "anytextcat(anynonarray,text)", "textanycat(text,anynonarray)")
	t.put("concat(any)", always(loose(concat)))
	t.put("concat_ws(text,any)", always(loose(concatWS)))
	t.put("left(text,int4)", always(strict2(func(s string, n int64) string {
		if n >= 0 {
			return s[:byteAt(s, n)]
		}
		return s[:byteAt(s, max(0, runeCount(s)+n))]
	})))
	t.put("right(text,int4)", always(strict2(func(s string, n int64) string {
		if n >= 0 {
			return s[byteAt(s, max(0, runeCount(s)-n)):]
		}
		return s[byteAt(s, -n):]
	})))
	t.puts(always(try3(func(c *call, s string, from, n int64) (string, error) { return substring(s, from, n, true) })),
		"substr(text,int4,int4)", "substring(text,int4,int4)")
	t.puts(always(strict2(func(s string, from int64) string { r, _ := substring(s, from, 0, false); return r })),
		"substr(text,int4)", "substring(text,int4)")
	t.puts(always(strict2(func(s, sub string) int64 { return strpos(s, sub) })), "strpos(text,text)", "position(text,text)")
	t.put("starts_with(text,text)", always(strict2(strings.HasPrefix)))
	t.put("replace(text,text,text)", always(try3(func(c *call, s, from, to string) (string, error) {
		if from == "" {
			return s, nil
		}
		return c.replaced(s, from, to), nil
	})))
	t.put("translate(text,text,text)", always(try3(translate)))
	t.put("reverse(text)", always(try1(reverse)))
	t.put("repeat(text,int4)", always(try2(repeat)))
	t.put("lpad(text,int4,text)", always(try3(func(c *call, s string, n int64, p string) (string, error) { return pad(c, s, n, p, true) })))
	t.put("rpad(text,int4,text)", always(try3(func(c *call, s string, n int64, p string) (string, error) { return pad(c, s, n, p, false) })))
	t.put("lpad(text,int4)", always(try2(func(c *call, s string, n int64) (string, error) { return pad(c, s, n, " ", true) })))
	t.put("rpad(text,int4)", always(try2(func(c *call, s string, n int64) (string, error) { return pad(c, s, n, " ", false) })))
	for name, f := range map[string]func(string, string) string{
		"btrim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight,
	} {
		t.put(name+"(text,text)", always(strict2(f)))
		t.put(name+"(text)", always(strict1(func(s string) string { return f(s, " ") })))
	}
	t.put("split_part(text,text,int4)", always(try3(splitPart)))
	t.puts(always(try4(overlay)), "overlay(text,text,int4,int4)")
	t.put("overlay(text,text,int4)", always(try3(func(c *call, s, by string, from int64) (string, error) {
		return overlay(c, s, by, from, runeCount(by))
	})))
	t.puts(always(strict1(func(n int64) string { return hex(uint64(uint32(n))) })), "to_hex(int4)")
	t.puts(always(strict1(func(n int64) string { return hex(uint64(n)) })), "to_hex(int8)")
	t.put("quote_ident(text)", always(try1(func(c *call, s string) (string, error) { return quoteName(c, s), nil })))
	t.put("quote_literal(text)", always(try1(func(c *call, s string) (string, error) { return quoteLiteral(c, s), nil })))
	t.put("quote_nullable(text)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(c, a[0].(string)), nil
	})))
	t.puts(always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(c, c.castText(c.types[0], a[0])), nil
	})), "quote_literal(anyelement)", "quote_nullable(anyelement)")
	t.put("parse_ident(text,bool)", always(loose(parseIdent)))
	t.put("unistr(text)", always(try1(unistr)))
	t.put("normalize(text,text)", always(try2(normalizeText)))
	t.put("is_normalized(text,text)", always(try2(func(c *call, s, form string) (bool, error) {
		r, err := normalizeText(c, s, form)
		return r == s, err
	})))
}

func runeCount(s string) int64 {
	return int64(utf8.RuneCountInString(s))
}

func initcap(c *call, s string) (string, error) {
	b := c.text(len(s))
	in := false
	for _, r := range s {
		if in {
			r = unicode.ToLower(r)
		} else {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		in = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return b.String(), nil
}

func chr(_ *call, n int64) (string, error) {
	switch {
	case n < 0:
		return "", pgerr.New(pgerr.InvalidParameterValue, "character number must be positive")
	case n == 0:
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "null character not permitted")
	case n > utf8.MaxRune:
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "requested character too large for encoding: %d", n)
	case n >= 0xd800 && n < 0xe000:
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "requested character not valid for encoding: %d", n)
	}
	return string(rune(n)), nil
}

// concatTexts is text || text, without a builder a row.
func concatTexts(c *call, args []*vec) (*vec, error) {
	l, r := args[0], args[1]
	out := &vec{kind: kStr, n: c.n, valid: c.valid}
	off := alloc[int32](c.a, c.n+1)
	size := 0
	for i := range c.n {
		if !c.skip(i) {
			size += len(l.str(i)) + len(r.str(i))
		}
	}
	if err := tooLarge(c.n, size); err != nil {
		return nil, err
	}
	data := c.a.bytes(size)
	at := 0
	for i := range c.n {
		off[i] = int32(at)
		if !c.skip(i) {
			at += copy(data[at:], l.str(i))
			at += copy(data[at:], r.str(i))
			c.meter().poll(at - int(off[i]))
		}
	}
	off[c.n] = int32(at)
	out.off, out.data = off, data
	return out, nil
}

func catAny(c *call, a []types.Datum) (types.Datum, error) {
	l, r := c.castText(c.types[0], a[0]), c.castText(c.types[1], a[1])
	b := c.text(len(l) + len(r))
	b.WriteString(l)
	b.WriteString(r)
	return b.String(), nil
}

func concat(c *call, a []types.Datum) (types.Datum, error) {
	return c.joined("", a, c.types), nil
}

func concatWS(c *call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil {
		return nil, nil
	}
	return c.joined(a[0].(string), a[1:], c.types[1:]), nil
}

// substring counts characters from 1; a start before the string eats from the
// length.
func substring(s string, from, n int64, limited bool) (string, error) {
	end := int64(math.MaxInt64)
	if limited {
		if n < 0 {
			return "", pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
		}
		end = from + n
	}
	if from < 1 {
		from = 1
	}
	if end <= from {
		return "", nil
	}
	i := byteAt(s, from-1)
	if !limited {
		return s[i:], nil
	}
	return s[i : i+byteAt(s[i:], end-from)], nil
}

func strpos(s, sub string) int64 {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return runeCount(s[:i]) + 1
}

func translate(c *call, s, from, to string) (string, error) {
	c.meter().scratch(64 * len(from))
	by := make(map[rune]rune, len(from))
	for _, x := range from {
		y, w := rune(-1), 0
		if to != "" {
			y, w = utf8.DecodeRuneInString(to)
			to = to[w:]
		}
		if _, ok := by[x]; !ok {
			by[x] = y
		}
		c.meter().poll(rowWork)
	}
	return c.mapped(s, func(r rune) rune {
		if y, ok := by[r]; ok {
			return y
		}
		return r
	}), nil
}

func reverse(c *call, s string) (string, error) {
	b := c.text(len(s))
	for end := len(s); end > 0; {
		_, w := utf8.DecodeLastRuneInString(s[:end])
		b.WriteString(s[end-w : end])
		end -= w
	}
	return b.String(), nil
}

// maxText is what one value of a string may be long.
const maxText = 1<<30 - 1

func repeat(c *call, s string, n int64) (string, error) {
	b := c.text(0)
	b.Repeat(s, n)
	return b.String(), nil
}

func pad(c *call, s string, n int64, with string, left bool) (string, error) {
	n = max(n, 0)
	if n > maxText/4 {
		return "", errTooLong()
	}
	have := runeCount(s)
	if have >= n || with == "" {
		return s[:byteAt(s, n)], nil
	}
	need := n - have
	w := runeCount(with)
	part := with[:byteAt(with, need%w)]
	b := c.text(len(s) + product(need/w, int64(len(with))) + len(part))
	if !left {
		b.WriteString(s)
	}
	b.Repeat(with, need/w)
	b.WriteString(part)
	if left {
		b.WriteString(s)
	}
	return b.String(), nil
}

func splitPart(c *call, s, sep string, n int64) (string, error) {
	if n == 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "field position must not be zero")
	}
	if s == "" {
		return "", nil
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return s, nil
		}
		return "", nil
	}
	if n < 0 {
		n += int64(strings.Count(s, sep)) + 2
	}
	for ; n > 0; n-- {
		i := strings.Index(s, sep)
		switch {
		case n == 1 && i < 0:
			return s, nil
		case n == 1:
			return s[:i], nil
		case i < 0:
			return "", nil
		}
		s = s[i+len(sep):]
		c.meter().poll(i + rowWork)
	}
	return "", nil
}

func overlay(c *call, s, by string, from, n int64) (string, error) {
	if from <= 0 {
		return "", pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	head, err := substring(s, 1, from-1, true)
	if err != nil {
		return "", err
	}
	if from+n > math.MaxInt32 || from+n < math.MinInt32 {
		return "", errRange(types.Int4)
	}
	tail, err := substring(s, from+n, 0, false)
	if err != nil {
		return "", err
	}
	b := c.text(len(head) + len(by) + len(tail))
	b.WriteString(head)
	b.WriteString(by)
	b.WriteString(tail)
	return b.String(), nil
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	i := len(b)
	for {
		i--
		b[i] = digits[v&15]
		v >>= 4
		if v == 0 {
			return string(b[i:])
		}
	}
}

// unistr reads \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX.
func unistr(c *call, s string) (string, error) {
	bad := func() error {
		return pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").
			WithHint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
	}
	b := c.text(len(s))
	high := rune(0)
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			if high != 0 {
				return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
			}
			_ = b.WriteByte(s[i])
			i++
			continue
		}
		i++
		if i < len(s) && s[i] == '\\' {
			_ = b.WriteByte('\\')
			i++
			continue
		}
		n := 4
		if i < len(s) {
			switch s[i] {
			case 'u':
				i++
			case '+':
				n = 6
				i++
			case 'U':
				n = 8
				i++
			}
		}
		if i+n > len(s) {
			return "", bad()
		}
		var r rune
		for _, c := range s[i : i+n] {
			d := strings.IndexRune("0123456789abcdef", unicode.ToLower(c))
			if d < 0 {
				return "", bad()
			}
			r = r<<4 | rune(d)
		}
		i += n
		switch {
		case r >= 0xd800 && r < 0xdc00:
			if high != 0 {
				return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
			}
			high = r
			continue
		case r >= 0xdc00 && r < 0xe000:
			if high == 0 {
				return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
			}
			r = 0x10000 + (high-0xd800)<<10 + (r - 0xdc00)
			high = 0
		case high != 0:
			return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
		}
		if r <= 0 || r > utf8.MaxRune {
			return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode code point: %04X", r)
		}
		b.WriteRune(r)
	}
	if high != 0 {
		return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
	}
	return b.String(), nil
}

// normalizeText: text of ASCII is normal in every form; what else needs tables
// that the standard library lacks is refused.
func normalizeText(_ *call, s, form string) (string, error) {
	switch strings.ToUpper(form) {
	case "NFC", "NFD", "NFKC", "NFKD":
	default:
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", form)
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "", pgerr.Unsupported("Unicode normalization of text beyond ASCII is not supported")
		}
	}
	return s, nil
}

// registerText registers the functions of text, bytea and bit strings.
func registerText(t table) {
	addStrings(t)
	addBytes(t)
	addSend(t)
	addBits(t)
	addPatterns(t)
	addRegexp(t)
	addFormat(t)
}
