package textfn

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addStrings registers the functions of text.
func addStrings(t function.Table) {
	t.Put("lower(text)", function.Always(casedTexts('A', unicode.ToLower)))
	t.Put("upper(text)", function.Always(casedTexts('a', unicode.ToUpper)))
	t.Put("initcap(text)", function.Always(function.Try1(initcap)))
	t.Puts(function.Always(lengths), "length(text)", "char_length(text)", "character_length(text)", "textlen(text)")
	t.Puts(function.Always(function.Strict1(func(s string) int64 { return runeCount(types.TrimBlanks(s)) })),
		"length(bpchar)", "char_length(bpchar)", "character_length(bpchar)")
	t.Puts(function.Always(function.Strict1(func(s string) int64 { return int64(len(s)) })), "octet_length(text)", "octet_length(bpchar)")
	t.Put("bit_length(text)", function.Always(function.Strict1(func(s string) int64 { return int64(len(s)) * 8 })))
	t.Put("ascii(text)", function.Always(function.Strict1(func(s string) int64 {
		if s == "" {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})))
	t.Put("chr(int4)", function.Always(function.Try1(chr)))
	t.Put("textcat(text,text)", function.Always(concatTexts))
	t.Puts(function.Always(concatAny), "anytextcat(anynonarray,text)", "textanycat(text,anynonarray)")
	t.Put("concat(any)", function.Always(concatColumns))
	t.Put("concat_ws(text,any)", function.Always(concatWithSeparator))
	t.Put("left(text,int4)", function.Always(function.Strict2(func(s string, n int64) string {
		if n >= 0 {
			return s[:function.ByteAt(s, n)]
		}
		return s[:function.ByteAt(s, max(0, runeCount(s)+n))]
	})))
	t.Put("right(text,int4)", function.Always(function.Strict2(func(s string, n int64) string {
		if n >= 0 {
			return s[function.ByteAt(s, max(0, runeCount(s)-n)):]
		}
		return s[function.ByteAt(s, -n):]
	})))
	t.Puts(function.Always(substrings(true)), "substr(text,int4,int4)", "substring(text,int4,int4)")
	t.Puts(function.Always(substrings(false)), "substr(text,int4)", "substring(text,int4)")
	t.Puts(function.Always(function.Strict2(func(s, sub string) int64 { return strpos(s, sub) })), "strpos(text,text)", "position(text,text)")
	t.Put("starts_with(text,text)", function.Always(function.Strict2(strings.HasPrefix)))
	t.Put("replace(text,text,text)", function.Always(function.Try3(func(c *function.Call, s, from, to string) (string, error) {
		if from == "" {
			return s, nil
		}
		return c.Replaced(s, from, to), nil
	})))
	t.Put("translate(text,text,text)", function.Always(function.Try3(translate)))
	t.Put("reverse(text)", function.Always(function.Try1(reverse)))
	t.Put("repeat(text,int4)", function.Always(function.Try2(repeat)))
	t.Put("lpad(text,int4,text)", function.Always(function.Try3(func(c *function.Call, s string, n int64, p string) (string, error) { return pad(c, s, n, p, true) })))
	t.Put("rpad(text,int4,text)", function.Always(function.Try3(func(c *function.Call, s string, n int64, p string) (string, error) { return pad(c, s, n, p, false) })))
	t.Put("lpad(text,int4)", function.Always(function.Try2(func(c *function.Call, s string, n int64) (string, error) { return pad(c, s, n, " ", true) })))
	t.Put("rpad(text,int4)", function.Always(function.Try2(func(c *function.Call, s string, n int64) (string, error) { return pad(c, s, n, " ", false) })))
	for name, f := range map[string]func(string, string) string{
		"btrim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight,
	} {
		t.Put(name+"(text,text)", function.Always(function.Strict2(f)))
		t.Put(name+"(text)", function.Always(function.Strict1(func(s string) string { return f(s, " ") })))
	}
	t.Put("split_part(text,text,int4)", function.Always(function.Try3(splitPart)))
	t.Puts(function.Always(function.Try4(overlay)), "overlay(text,text,int4,int4)")
	t.Put("overlay(text,text,int4)", function.Always(function.Try3(func(c *function.Call, s, by string, from int64) (string, error) {
		return overlay(c, s, by, from, runeCount(by))
	})))
	t.Puts(function.Always(function.Strict1(func(n int64) string { return hex(uint64(uint32(n))) })), "to_hex(int4)")
	t.Puts(function.Always(function.Strict1(func(n int64) string { return hex(uint64(n)) })), "to_hex(int8)")
	t.Put("quote_ident(text)", function.Always(function.Try1(func(c *function.Call, s string) (string, error) { return quoteName(c, s), nil })))
	t.Put("quote_literal(text)", function.Always(function.Try1(func(c *function.Call, s string) (string, error) { return quoteLiteral(c, s), nil })))
	t.Put("quote_nullable(text)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(c, a[0].(string)), nil
	})))
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		return quoteLiteral(c, c.CastText(c.Types[0], a[0])), nil
	})), "quote_literal(anyelement)", "quote_nullable(anyelement)")
	t.Put("parse_ident(text,bool)", function.Always(function.Loose(parseIdent)))
	t.Put("unistr(text)", function.Always(function.Try1(unistr)))
	t.Put("normalize(text,text)", function.Always(function.Try2(normalizeText)))
	t.Put("is_normalized(text,text)", function.Always(function.Try2(func(c *function.Call, s, form string) (bool, error) {
		r, err := normalizeText(c, s, form)
		return r == s, err
	})))
}

// runeCount counts the bytes with which characters begin, eight at a time.
func runeCount(s string) int64 {
	const ones = 0x0101010101010101
	n, b := len(s), vector.StringBytes(s)
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		n -= bits.OnesCount64(x >> 7 &^ (x >> 6) & ones)
	}
	for _, c := range b {
		if c&0xc0 == 0x80 {
			n--
		}
	}
	return int64(n)
}

// lengths counts the characters of each text: of columns without others than ASCII their bytes.
func lengths(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	v := args[0]
	if v.Kind != vector.Str || v.One || c.Ret.Form() != vector.I32 {
		return function.Strict1(runeCount)(c, args)
	}
	out, off := vector.Alloc[int32](c.Arena, c.N), v.Off[:c.N+1]
	data := v.Data[off[0]:off[c.N]]
	c.Meter().Poll(len(data)/8 + c.N)
	if isASCII(data) {
		for i := range out {
			out[i] = off[i+1] - off[i]
		}
	} else {
		for i := range out {
			out[i] = int32(runeCount(v.Str(i)))
		}
	}
	return vector.NewFixed(vector.I32, out, c.Valid), nil
}

func initcap(c *function.Call, s string) (string, error) {
	b := c.Text(len(s))
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

func chr(_ *function.Call, n int64) (string, error) {
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

// concatTexts is text || text … of whole columns: eval makes one call of a chain of them.
func concatTexts(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	out := &vector.Vec{Kind: vector.Str, N: c.N, Valid: c.Valid}
	off := vector.Alloc[int32](c.Arena, c.N+1)
	size := 0
	for _, v := range args {
		if v.One {
			if c.N > 0 {
				size += c.N * len(v.Str(0))
			}
			continue
		}
		for i := range c.N {
			if !c.Skip(i) {
				size += len(v.Str(i))
			}
		}
	}
	if err := vector.TooLarge(c.N, size); err != nil {
		return nil, err
	}
	data := c.Arena.Bytes(size)
	at := 0
	for i := range c.N {
		off[i] = int32(at)
		if !c.Skip(i) {
			for _, v := range args {
				at += copy(data[at:], v.Str(i))
			}
			c.Meter().Poll(at - int(off[i]))
		}
	}
	off[c.N] = int32(at)
	out.Off, out.Data = off, data
	return out, nil
}

// concatAny is || of a text and a value of another type. Integers are written column by column: a
// datum and a text for each would cost several times as much.
func concatAny(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	texts := slices.Clone(args)
	for k := range args {
		switch t := c.Types[k]; {
		case t.OID == types.TextOID:
		case t.IsInteger():
			var err error
			if texts[k], err = Digits(c, function.Arg[int64](c, args, k)); err != nil {
				return nil, err
			}
		default:
			return function.Loose(catAny)(c, args)
		}
	}
	return concatTexts(c, texts)
}

func catAny(c *function.Call, a []types.Datum) (types.Datum, error) {
	l, r := c.CastText(c.Types[0], a[0]), c.CastText(c.Types[1], a[1])
	b := c.Text(len(l) + len(r))
	b.WriteString(l)
	b.WriteString(r)
	return b.String(), nil
}

func strpos(s, sub string) int64 {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return runeCount(s[:i]) + 1
}

func translate(c *function.Call, s, from, to string) (string, error) {
	c.Meter().Scratch(64 * len(from))
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
		c.Meter().Poll(vector.RowWork)
	}
	return c.Mapped(s, func(r rune) rune {
		if y, ok := by[r]; ok {
			return y
		}
		return r
	}), nil
}

func reverse(c *function.Call, s string) (string, error) {
	b := c.Text(len(s))
	for end := len(s); end > 0; {
		_, w := utf8.DecodeLastRuneInString(s[:end])
		b.WriteString(s[end-w : end])
		end -= w
	}
	return b.String(), nil
}

// maxText is the longest value of a string.
const maxText = 1<<30 - 1

func repeat(c *function.Call, s string, n int64) (string, error) {
	b := c.Text(0)
	b.Repeat(s, n)
	return b.String(), nil
}

func pad(c *function.Call, s string, n int64, with string, left bool) (string, error) {
	n = max(n, 0)
	if n > maxText/4 {
		return "", vector.ErrTooLong()
	}
	have := runeCount(s)
	if have >= n || with == "" {
		return s[:function.ByteAt(s, n)], nil
	}
	need := n - have
	w := runeCount(with)
	part := with[:function.ByteAt(with, need%w)]
	b := c.Text(len(s) + vector.Product(need/w, int64(len(with))) + len(part))
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

func splitPart(c *function.Call, s, sep string, n int64) (string, error) {
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
		c.Meter().Poll(i + vector.RowWork)
	}
	return "", nil
}

func overlay(c *function.Call, s, by string, from, n int64) (string, error) {
	if from <= 0 {
		return "", pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	head, err := substring(s, 1, from-1, true)
	if err != nil {
		return "", err
	}
	if from+n > math.MaxInt32 || from+n < math.MinInt32 {
		return "", vector.ErrRange(types.Int4)
	}
	tail, err := substring(s, from+n, 0, false)
	if err != nil {
		return "", err
	}
	b := c.Text(len(head) + len(by) + len(tail))
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
func unistr(c *function.Call, s string) (string, error) {
	bad := func() error {
		return pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").
			WithHint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
	}
	b := c.Text(len(s))
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
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid Unicode code point: %04X", r)
		}
		b.WriteRune(r)
	}
	if high != 0 {
		return "", pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
	}
	return b.String(), nil
}

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// normalizeText is normalize().
func normalizeText(c *function.Call, s, form string) (string, error) {
	f, ok := normalForms[strings.ToUpper(form)]
	if !ok {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", form)
	}
	if f.IsNormalString(s) {
		return s, nil
	}
	// The library puts joiners between combining characters of which more than 30 follow each other;
	// PostgreSQL does not.
	out := f.String(s)
	if strings.Count(out, joiner) != strings.Count(s, joiner) {
		return "", pgerr.Unsupported("normalization of more than 30 combining characters in a row is not supported")
	}
	return out, nil
}

const joiner = "\u034f" // COMBINING GRAPHEME JOINER

// Register registers the functions of text, bytea and bit strings.
func Register(t function.Table) {
	addStrings(t)
	addSimilar(t)
	addBytes(t)
	addSend(t)
	addBits(t)
	addPatterns(t)
	addRegexp(t)
	addFormat(t)
	addHash(t)
}
