package charset

import (
	"encoding/hex"
	"testing"
	"unicode/utf8"
)

// TestDifferences: where the tables of golang.org/x/text are not PostgreSQL 15's, its answers are given. They are of all
// bytes and all characters; here are some of each kind.
func TestDifferences(t *testing.T) {
	for _, c := range []struct{ name, bytes, read, write string }{
		{"LATIN2", "85", "\u0085", "85"}, {"ISO_8859_7", "9f", "\u009f", "9f"}, // control characters
		{"KOI8U", "ae", "╝", "ae"}, {"KOI8U", "", "ў", ""}, {"WIN1255", "ca", "", ""},
		{"EUC_JP", "f9a1", "", ""}, {"EUC_JP", "8ff3f3", "ⅰ", "8ff3f3"}, {"EUC_JP", "", "№", "ade2"}, // IBM's and NEC's extensions
		{"SJIS", "ed40", "纊", "fa5c"}, {"SJIS", "", "¢", "8191"}, {"SJIS", "", "¬", "81ca"}, {"SJIS", "fa54", "￢", "81ca"},
		{"UHC", "c9a1", "\ue000", "c9a1"}, {"EUC_KR", "a2e8", "㉾", "a2e8"}, {"EUC_CN", "a1a4", "・", "a1a4"}, {"EUC_CN", "", "·", ""},
		{"GBK", "a2e3", "", ""}, {"GB18030", "aaa1", "\ue000", "aaa1"}, {"BIG5", "8740", "", ""}, {"BIG5", "c7c1", "Щ", "c7c1"}, {"BIG5", "", "═", "a2a4"},
	} {
		cs := byName[plain(c.name)]
		if c.bytes != "" {
			b, _ := hex.DecodeString(c.bytes)
			got, err := cs.Decode(b)
			if string(got) != c.read || (err == nil) != (c.read != "") {
				t.Errorf("%s: %s is %q (%v), not %q", c.name, c.bytes, got, err, c.read)
			}
			if n, err := cs.Count(b); n != 1 || err != nil {
				t.Errorf("%s: %s has %d characters (%v)", c.name, c.bytes, n, err)
			}
		}
		if r, _ := utf8.DecodeRuneInString(c.read); c.read != "" {
			got, err := cs.Encode(nil, "x"+string(r))
			if want := c.write; err == nil && hex.EncodeToString(got) != "78"+want || (err == nil) != (want != "") {
				t.Errorf("%s: %q is written %x (%v), not %s", c.name, r, got, err, want)
			}
		}
	}
}
