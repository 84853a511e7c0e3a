package version_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// TestLayoutsGrow compares the layouts with those of the version before: everything that it stored and
// sent means the same today. Only the ends of lines may be new, and lines.
func TestLayoutsGrow(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(manual.Root(t), "docs/explanation/layouts.md"))
	if err != nil {
		t.Fatal(err)
	}
	now := map[string][]string{}
	within := false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "```") {
			within = !within
		} else if within {
			name, parts := version.Parts(line)
			now[name] = parts
		}
	}
	old, err := os.ReadFile("previous.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(old)) {
		lines++
		name, parts := version.Parts(line)
		got, ok := now[name]
		if !strings.Contains(name, ".") || strings.HasPrefix(name, "options.") { // names, in order
			for _, x := range parts {
				if !slices.Contains(got, x) || !version.Has(name, x) {
					t.Errorf("%s: %s of version %d is gone", name, x, version.Oldest)
				}
			}
			continue
		}
		if !ok || len(got) < len(parts) || !slices.Equal(got[:len(parts)], parts) {
			t.Errorf("%s is not what version %d made of it:\nthen %v\nnow  %v", name, version.Oldest, parts, got)
		}
		if n, ok := version.Known(name); !ok || n != len(parts) {
			t.Errorf("%s: %d fields are known, not %d", name, n, len(parts))
		}
	}
	if lines < 200 {
		t.Errorf("only %d layouts of version %d", lines, version.Oldest)
	}
}

func TestReadable(t *testing.T) {
	for v := range uint32(version.Binary + 3) {
		err := version.Readable(v, "data directory \"x\"")
		if fits := v >= version.Oldest && v <= version.Binary; fits != (err == nil) || err != nil && !pgerr.Is(err, pgerr.FeatureNotSupported) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}
