package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPager: only what is larger than the terminal goes through the pager, however it is written, and no more
// than a screen of it is held.
func TestPager(t *testing.T) {
	for _, c := range []struct {
		what, text string
		paged      bool
	}{
		{"nothing", "", false},
		{"short", "one\ntwo\n", false},
		{"as wide as the screen", strings.Repeat("x", 20) + "\n", false},
		{"colours take no room", "\x1b[31m" + strings.Repeat("x", 20) + "\x1b[0m\n", false},
		{"too wide", strings.Repeat("x", 21) + "\n", true},
		{"too wide, letters of two cells", strings.Repeat("日", 11) + "\n", true},
		{"letters of more bytes than cells", strings.Repeat("é", 20) + "\n", false},
		{"too wide without an end", strings.Repeat("x", 21), true},
		{"too long", strings.Repeat("x\n", 5), true},
		{"far too long", strings.Repeat("x\n", 50000), true},
	} {
		for _, piece := range []int{1, 3, 1 << 16} {
			to := filepath.Join(t.TempDir(), "paged")
			t.Setenv("PSQL_PAGER", "cat > '"+to+"'")
			var direct strings.Builder
			p := &pager{to: &direct, errs: &direct, columns: 20, lines: 5}
			if piece < 3 && len(c.text) > 10000 {
				continue
			}
			for rest := c.text; rest != ""; {
				n := min(piece, len(rest))
				if _, err := p.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				if rest = rest[n:]; len(p.held) > 200+piece {
					t.Fatalf("%s: %d bytes are held", c.what, len(p.held))
				}
			}
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			paged, _ := os.ReadFile(to)
			if got := string(paged) + direct.String(); got != c.text || (len(paged) > 0) != c.paged {
				t.Errorf("%s in pieces of %d: through the pager %v, %d of %d bytes", c.what, piece, len(paged) > 0, len(got), len(c.text))
			}
		}
	}
}
