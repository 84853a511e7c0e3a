package flags

import (
	"bytes"
	"testing"
)

func TestHelp(t *testing.T) {
	fs := New("sail", "")
	fs.String("to-port", "Basel", "where to\n -x is no flag")
	fs.Bool("q", false, "say little")
	fs.Bool("dry", false, "stay")
	var out bytes.Buffer
	fs.SetOutput(&out)
	if err := fs.Parse([]string{"--help"}); err == nil {
		t.Error("no error of --help")
	}
	want := "Usage: tributary sail [flags]\n\nFlags:\n  --dry\n    \tstay\n  -q\tsay little\n  --to-port string\n    \twhere to\n    \t -x is no flag (default \"Basel\")\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}
