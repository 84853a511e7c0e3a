package console

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAppendText: texts are written as encoding/json reads them; what is no UTF-8 is replaced.
func TestAppendText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "é", "\"", "\\", "\n", "\x00", "\x1f", "<", "\u2028", "漢", "\xff", "\xed\xa0\x80", "😀"}
	for range 2000 {
		var in strings.Builder
		for range rnd.IntN(6) {
			in.WriteString(parts[rnd.IntN(len(parts))])
		}
		var out string
		line := appendText(nil, []byte(in.String()))
		if err := json.Unmarshal(line, &out); err != nil || out != strings.ToValidUTF8(in.String(), "\uFFFD") {
			t.Fatalf("%q: %s, %q, %v", in.String(), line, out, err)
		}
	}
}
