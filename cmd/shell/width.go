package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// width returns how many cells of a terminal a line takes: two for CJK and emoji, none for what combines.
func width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

const tab = 8

// display returns a value as lines that a terminal shows as they are: tabs become spaces up to the next
// stop, and control characters are written as psql writes them, so that no value moves the cursor.
func display(v string) []string {
	plain, lines := true, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c == '\n':
			lines++
		case c < ' ' || c >= 0x7f:
			plain = false
		}
	}
	if plain && lines == 0 {
		return []string{v}
	}
	out := strings.Split(v, "\n")
	if plain {
		return out
	}
	for i, l := range out {
		var b strings.Builder
		for j, r := range l {
			switch {
			case r == '\t':
				n := tab - width(b.String())%tab
				b.WriteString(strings.Repeat(" ", n))
			case r == '\r':
				b.WriteString(`\r`)
			case r == utf8.RuneError && l[j] >= utf8.RuneSelf && !strings.HasPrefix(l[j:], "\uFFFD"):
				fmt.Fprintf(&b, `\x%02X`, l[j])
			case r < ' ' || r == 0x7f:
				fmt.Fprintf(&b, `\x%02X`, r)
			case unicode.Is(unicode.Cc, r):
				fmt.Fprintf(&b, `\u%04X`, r)
			default:
				b.WriteRune(r)
			}
		}
		out[i] = b.String()
	}
	return out
}

func pad(n int) string { return strings.Repeat(" ", max(0, n)) }
