package eval

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addStrings registers the functions of text.
func addStrings(t table) {
	t.put("lower(text)", always(strict1(strings.ToLower)))
	t.put("upper(text)", always(strict1(strings.ToUpper)))
	t.put("initcap(text)", always(strict1(initcap)))
	t.puts(always(strict1(runeCount)), "length(text)", "length(bpchar)", "char_length(text)", "char_length(bpchar)",
		"character_length(text)", "character_length(bpchar)", "textlen(text)")
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
	t.put("replace(text,text,text)", always(strict3(func(s, from, to string) string {
		if from == "" {
			return s
		}
		return strings.ReplaceAll(s, from, to)
	})))
	t.put("translate(text,text,text)", always(strict3(translate)))
	t.put("reverse(text)", always(strict1(reverse)))
	t.put("repeat(text,int4)", always(try2(repeat)))
	t.put("lpad(text,int4,text)", always(try3(func(_ *call, s string, n int64, p string) (string, error) { return pad(s, n, p, true) })))
	t.put("rpad(text,int4,text)", always(try3(func(_ *call, s string, n int64, p string) (string, error) { return pad(s, n, p, false) })))
	t.put("lpad(text,int4)", always(try2(func(_ *call, s string, n int64) (string, error) { return pad(s, n, " ", true) })))
	t.put("rpad(text,int4)", always(try2(func(_ *call, s string, n int64) (string, error) { return pad(s, n, " ", false) })))
	for name, f := range map[string]func(string, string) string{
		"btrim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight,
	} {
		t.put(name+"(text,text)", always(strict2(f)))
		t.put(name+"(text)", always(strict1(func(s string) string { return f(s, " ") })))
	}
	t.put("split_part(text,text,int4)", always(try3(splitPart)))
	t.puts(always(try4(func(_ *call, s, by string, from, n int64) (string, error) { return overlay(s, by, from, n) })), "overlay(text,text,int4,int4)")
	t.put("overlay(text,text,int4)", always(try3(func(_ *call, s, by string, from int64) (string, error) {
		return overlay(s, by, from, runeCount(by))
	})))
	t.puts(always(strict1(func(n int64) string { return hex(uint64(uint32(n))) })), "to_hex(int4)")
	t.puts(always(strict1(func(n int64) string { return hex(uint64(n)) })), "to_hex(int8)")
	t.put("quote_ident(text)", always(strict1(parse.QuoteName)))
	t.put("quote_literal(text)", always(strict1(quoteLiteral)))
	t.put("quote_nullable(text)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(a[0].(string)), nil
	})))
	t.puts(always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(castText(c.types[0], a[0], c.env)), nil
	})), "quote_literal(anyelement)", "quote_nullable(anyelement)")
	t.put("parse_ident(text,bool)", always(loose(parseIdent)))
	t.put("unistr(text)", always(try1(func(_ *call, s string) (string, error) { return unistr(s) })))
	t.put("normalize(text,text)", always(try2(normalizeText)))
	t.put("is_normalized(text,text)", always(try2(func(c *call, s, form string) (bool, error) {
		r, err := normalizeText(c, s, form)
		return r == s, err
	})))
}

func runeCount(s string) int64 {
	return int64(utf8.RuneCountInString(s))
}

// byteAt is the byte offset of character n, len(s) beyond the end.
func byteAt(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
		} else {
			_, w := utf8.DecodeRuneInString(s[i:])
			i += w
		}
	}
	return i
}

func initcap(s string) string {
	var b strings.Builder
	b.Grow(len(s))
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
	return b.String()
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
	data := alloc[byte](c.a, size)
	at := 0
	for i := range c.n {
		off[i] = int32(at)
		if !c.skip(i) {
			at += copy(data[at:], l.str(i))
			at += copy(data[at:], r.str(i))
		}
	}
	off[c.n] = int32(at)
	out.off, out.data = off, data
	return out, nil
}

// castText is a value as text, as a cast gives it: true and false in full.
func castText(t types.Type, d types.Datum, env *Env) string {
	if b, ok := d.(bool); ok {
		if b {
			return "true"
		}
		return "false"
	}
	return types.TextOf(t, d, env.types())
}

func catAny(c *call, a []types.Datum) (types.Datum, error) {
	return castText(c.types[0], a[0], c.env) + castText(c.types[1], a[1], c.env), nil
}

func concat(c *call, a []types.Datum) (types.Datum, error) {
	var b strings.Builder
	for i, d := range a {
		if d != nil {
			b.WriteString(types.TextOf(c.types[i], d, c.env.types()))
		}
	}
	return b.String(), nil
}

func concatWS(c *call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil {
		return nil, nil
	}
	sep := a[0].(string)
	var b strings.Builder
	first := true
	for i, d := range a[1:] {
		if d == nil {
			continue
		}
		if !first {
			b.WriteString(sep)
		}
		first = false
		b.WriteString(types.TextOf(c.types[i+1], d, c.env.types()))
	}
	return b.String(), nil
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

func translate(s, from, to string) string {
	f, t := []rune(from), []rune(to)
	return strings.Map(func(r rune) rune {
		for i, x := range f {
			if x == r {
				if i < len(t) {
					return t[i]
				}
				return -1
			}
		}
		return r
	}, s)
}

func reverse(s string) string {
	b := make([]byte, len(s))
	at := len(s)
	for i := 0; i < len(s); {
		_, w := utf8.DecodeRuneInString(s[i:])
		at -= w
		copy(b[at:], s[i:i+w])
		i += w
	}
	return string(b)
}

// maxText is what one value of a string may be long.
const maxText = 1<<30 - 1

func errTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")
}

func repeat(_ *call, s string, n int64) (string, error) {
	if n <= 0 {
		return "", nil
	}
	if len(s) > 0 && n > maxText/int64(len(s)) {
		return "", errTooLong()
	}
	return strings.Repeat(s, int(n)), nil
}

func pad(s string, n int64, with string, left bool) (string, error) {
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
	p := strings.Repeat(with, int(need/w)) + with[:byteAt(with, need%w)]
	if left {
		return p + s, nil
	}
	return s + p, nil
}

func splitPart(_ *call, s, sep string, n int64) (string, error) {
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
	parts := strings.Split(s, sep)
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return "", nil
	}
	return parts[n-1], nil
}

func overlay(s, by string, from, n int64) (string, error) {
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
	return head + by + tail, nil
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
func unistr(s string) (string, error) {
	bad := func() error {
		return pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").
			WithHint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
	}
	var b strings.Builder
	high := rune(0)
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			if high != 0 {
				return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
			}
			b.WriteByte(s[i])
			i++
			continue
		}
		i++
		if i < len(s) && s[i] == '\\' {
			b.WriteByte('\\')
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
