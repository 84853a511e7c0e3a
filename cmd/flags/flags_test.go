package flags

import (
	"bytes"
	"slices"
	"strings"
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

// TestAnywhere: flags stand before, between and after words, but not behind "--".
func TestAnywhere(t *testing.T) {
	fs := New("sail", "")
	to := fs.String("to", "", "")
	dry := fs.Bool("dry", false, "")
	if err := fs.Parse([]string{"fast", "--to", "Basel", "far", "--dry", "--", "--to"}); err != nil {
		t.Fatal(err)
	}
	if *to != "Basel" || !*dry || !slices.Equal(fs.Args(), []string{"fast", "far", "--to"}) {
		t.Errorf("%q %t %q", *to, *dry, fs.Args())
	}
	if err := New("sail", "").Parse([]string{"fast", "--no"}); err == nil {
		t.Error("an unknown flag behind a word passes")
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"TRIBUTARY_TO_PORT": "Basel", "TRIBUTARY_SPEED": "", "TRIBUTARY_JOIN_SECRET": "x", "TRIBUTARY_CREW": "2"}
	fs := New("sail", "")
	to, secret, speed, crew := fs.String("to-port", "", ""), fs.String("join-secret", "", ""), fs.Int("speed", 7, ""), fs.Int("crew", 1, "")
	if err := fs.Parse([]string{"--crew", "3"}); err != nil {
		t.Fatal(err)
	}
	if err := fs.Environment(func(s string) string { return env[s] }); err != nil {
		t.Fatal(err)
	}
	if *to != "Basel" || *secret != "" || *speed != 7 || *crew != 3 || !fs.Given()["to-port"] || fs.Given()["speed"] {
		t.Errorf("%q %q %d %d", *to, *secret, *speed, *crew)
	}
	env["TRIBUTARY_SPEED"] = "fast"
	if err := fs.Environment(func(s string) string { return env[s] }); err == nil || !strings.Contains(err.Error(), "TRIBUTARY_SPEED") {
		t.Error(err)
	}
}

// TestOf: a command's flags are known without running it.
func TestOf(t *testing.T) {
	fs := Of(func() {
		fs := New("sail", "")
		fs.Bool("dry", false, "stay")
		_ = fs.Parse([]string{"--help"})
	})
	if fs == nil || fs.Lookup("dry") == nil {
		t.Error("no flags")
	}
}
