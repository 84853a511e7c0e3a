package charset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Charset is an encoding other than UTF8. nil stands for UTF8, which is not converted.
type Charset struct {
	Name string // as PostgreSQL shows it
	conv encoding.Encoding
	// length is how many bytes the character takes that b begins with, 0 where they mean nothing; nil for one byte each.
	length func(b []byte) int
	// narrow: of what conv knows, only characters whose bytes all are 0xA1 or more belong to the encoding.
	narrow bool
	// windows: conv takes bytes without a meaning for control characters.
	windows bool
}

func list() []*Charset {
	one := func(name string, conv encoding.Encoding) *Charset { return &Charset{Name: name, conv: conv} }
	win := func(name string, conv encoding.Encoding) *Charset {
		return &Charset{Name: name, conv: conv, windows: true}
	}
	return []*Charset{
		one("LATIN1", charmap.ISO8859_1), one("LATIN2", charmap.ISO8859_2), one("LATIN3", charmap.ISO8859_3), one("LATIN4", charmap.ISO8859_4),
		one("LATIN5", charmap.ISO8859_9), one("LATIN6", charmap.ISO8859_10), one("LATIN7", charmap.ISO8859_13), one("LATIN8", charmap.ISO8859_14),
		one("LATIN9", charmap.ISO8859_15), one("LATIN10", charmap.ISO8859_16), one("ISO_8859_5", charmap.ISO8859_5), one("ISO_8859_6", charmap.ISO8859_6),
		one("ISO_8859_7", charmap.ISO8859_7), one("ISO_8859_8", charmap.ISO8859_8), one("WIN866", charmap.CodePage866), one("KOI8R", charmap.KOI8R), one("KOI8U", charmap.KOI8U),
		win("WIN874", charmap.Windows874), win("WIN1250", charmap.Windows1250), win("WIN1251", charmap.Windows1251), win("WIN1252", charmap.Windows1252),
		win("WIN1253", charmap.Windows1253), win("WIN1254", charmap.Windows1254), win("WIN1255", charmap.Windows1255), win("WIN1256", charmap.Windows1256),
		win("WIN1257", charmap.Windows1257), win("WIN1258", charmap.Windows1258),
		{Name: "EUC_JP", conv: japanese.EUCJP, length: eucJP}, {Name: "SJIS", conv: japanese.ShiftJIS, length: sjis},
		{Name: "EUC_KR", conv: korean.EUCKR, length: euc, narrow: true}, {Name: "UHC", conv: korean.EUCKR, length: double},
		{Name: "EUC_CN", conv: simplifiedchinese.GBK, length: euc, narrow: true}, {Name: "GBK", conv: simplifiedchinese.GBK, length: double},
		{Name: "GB18030", conv: simplifiedchinese.GB18030, length: gb18030}, {Name: "BIG5", conv: traditionalchinese.Big5, length: double},
	}
}

// aliases are PostgreSQL's other names.
var aliases = map[string]string{
	"UNICODE": "UTF8", "ISO88591": "LATIN1", "ISO88592": "LATIN2", "ISO88593": "LATIN3", "ISO88594": "LATIN4", "ISO88599": "LATIN5", "ISO885910": "LATIN6",
	"ISO885913": "LATIN7", "ISO885914": "LATIN8", "ISO885915": "LATIN9", "ISO885916": "LATIN10", "ABC": "WIN1258", "ALT": "WIN866", "KOI8": "KOI8R",
	"MSKANJI": "SJIS", "SHIFTJIS": "SJIS", "TCVN": "WIN1258", "TCVN5712": "WIN1258", "VSCII": "WIN1258", "WIN": "WIN1251", "WIN932": "SJIS", "WIN936": "GBK",
	"WIN949": "UHC", "WIN950": "BIG5", "WINDOWS932": "SJIS", "WINDOWS936": "GBK", "WINDOWS949": "UHC", "WINDOWS950": "BIG5", "WINDOWS866": "WIN866",
	"WINDOWS874": "WIN874", "WINDOWS1250": "WIN1250", "WINDOWS1251": "WIN1251", "WINDOWS1252": "WIN1252", "WINDOWS1253": "WIN1253", "WINDOWS1254": "WIN1254",
	"WINDOWS1255": "WIN1255", "WINDOWS1256": "WIN1256", "WINDOWS1257": "WIN1257", "WINDOWS1258": "WIN1258",
}

var byName = func() map[string]*Charset {
	out := map[string]*Charset{}
	for _, c := range list() {
		out[plain(c.Name)] = c
	}
	return out
}()

// unconverted are PostgreSQL's encodings that nothing converts here.
var unconverted = map[string]string{"EUCTW": "EUC_TW", "JOHAB": "JOHAB", "MULEINTERNAL": "MULE_INTERNAL", "EUCJIS2004": "EUC_JIS_2004", "SHIFTJIS2004": "SHIFT_JIS_2004"}

// plain leaves letters and digits, as PostgreSQL compares names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 32
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
}

// Find returns the encoding of a name and the name that PostgreSQL shows for it; nil for UTF8 and SQL_ASCII, whose bytes are taken as they
// are. known is false for no encoding; the error is for one that cannot be converted.
func Find(name string) (c *Charset, shown string, known bool, err error) {
	key := plain(name)
	if a, ok := aliases[key]; ok {
		key = a
	}
	switch key {
	case "UTF8":
		return nil, "UTF8", true, nil
	case "SQLASCII":
		return nil, "SQL_ASCII", true, nil
	}
	if n, ok := unconverted[key]; ok {
		return nil, n, true, pgerr.Unsupported("conversion between %s and UTF8 is not supported", n)
	}
	if c = byName[plain(key)]; c != nil {
		return c, c.Name, true, nil
	}
	return nil, "", false, nil
}

func ascii[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Decode converts to UTF8.
func (c *Charset) Decode(b []byte) ([]byte, error) {
	if c == nil || ascii(b) {
		return b, nil
	}
	out, err := c.conv.NewDecoder().Bytes(b)
	x := byCharset()[c.Name]
	if err == nil && c.length == nil && !c.windows && (len(x.read) == 0 || c.controls()) && !strings.Contains(string(out), "\ufffd") {
		return out, nil
	}
	out = make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		n, err := c.first(b)
		if err != nil {
			return nil, err
		}
		if b[0] < utf8.RuneSelf {
			out = append(out, b[0])
		} else if r, ok := x.read[string(b[:n])]; ok {
			if r == none {
				return nil, untranslatable(b[:n], c.Name, "UTF8")
			}
			out = utf8.AppendRune(out, r)
		} else {
			ch, err := c.conv.NewDecoder().Bytes(b[:n])
			r, size := utf8.DecodeRune(ch)
			if err != nil || r == utf8.RuneError || size != len(ch) && c.Name != "BIG5" || c.windows && r < 0xa0 || c.length != nil && r < 0xa0 {
				return nil, untranslatable(b[:n], c.Name, "UTF8")
			}
			out = append(out, ch...)
		}
		b = b[n:]
	}
	return out, nil
}

// first returns how many bytes the first character of b takes.
func (c *Charset) first(b []byte) (int, error) {
	if b[0] < utf8.RuneSelf || c.length == nil {
		return 1, nil
	}
	n := c.length(b)
	if n == 0 || n > len(b) {
		return 0, invalid(c.Name, b[:min(c.width(b), len(b))])
	}
	return n, nil
}

// Count returns how many characters b has, with or without an equivalent in UTF8.
func (c *Charset) Count(b []byte) (int, error) {
	chars := 0
	for ; len(b) > 0; chars++ {
		n, err := c.first(b)
		if err != nil {
			return 0, err
		}
		b = b[n:]
	}
	return chars, nil
}

// Encode appends UTF8 text in the encoding.
func (c *Charset) Encode(dst []byte, s string) ([]byte, error) {
	if c == nil || ascii(s) {
		return append(dst, s...), nil
	}
	x := byCharset()[c.Name]
	plain := !c.windows && !c.narrow
	for _, r := range s {
		if _, other := x.write[r]; other {
			plain = false
			break
		}
	}
	if plain {
		if out, err := c.conv.NewEncoder().String(s); err == nil {
			return append(dst, out...), nil
		}
	}
	enc := c.conv.NewEncoder()
	for _, r := range s {
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			continue
		}
		out, other := x.write[r]
		var err error
		if !other {
			out, err = enc.String(string(r))
		}
		bad := err != nil || out == "" || !other && c.windows && r < 0xa0
		for i := 0; c.narrow && i < len(out); i++ {
			bad = bad || out[i] < 0xa1
		}
		if bad {
			return dst, untranslatable([]byte(string(r)), "UTF8", c.Name)
		}
		dst = append(dst, out...)
	}
	return dst, nil
}

// CompleteBytes returns how many bytes of b are whole characters: what follows is the beginning of one.
func (c *Charset) CompleteBytes(b []byte) int {
	if c == nil || c.length == nil {
		return len(b)
	}
	at := 0
	for at < len(b) {
		n := 1
		if b[at] >= utf8.RuneSelf {
			if n = c.length(b[at:]); n == 0 {
				n = 1 // which Decode refuses
			}
		}
		if at+n > len(b) {
			break
		}
		at += n
	}
	return at
}

// width is how many bytes a character would take that begins as b does.
func (c *Charset) width(b []byte) int {
	switch {
	case c.Name == "EUC_JP" && b[0] == 0x8f:
		return 3
	case c.Name == "GB18030" && len(b) > 1 && b[1] >= '0' && b[1] <= '9':
		return 4
	}
	return 2
}

func invalid(name string, b []byte) error {
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding %q: %s", name, bytesOf(b))
}

func untranslatable(b []byte, from, to string) error {
	return pgerr.New(pgerr.UntranslatableCharacter, "character with byte sequence %s in encoding %q has no equivalent in encoding %q", bytesOf(b), from, to)
}

func bytesOf(b []byte) string {
	var out []string
	for _, x := range b {
		out = append(out, fmt.Sprintf("0x%02x", x))
	}
	return strings.Join(out, " ")
}
