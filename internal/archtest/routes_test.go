package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// routes are what CONTRIBUTING.md says how to add.
var routes = []string{"a scalar function", "an aggregate", "an operator of SQL", "an operator of plans", "an optimiser rule", "a type", "a family of models",
	"an option of a family", "a system view", "a setting", "a file format", "a metric", "a message of the protocol"}

var (
	route = regexp.MustCompile(`^### How to add (.+)$`)
	step  = regexp.MustCompile("^- (`[^`]+`(?:, `[^`]+`)*):? ")
)

// TestRoutes: each route is a list of steps that begin with the files they are about, and these files are
// there, as are those that a step names further on.
func TestRoutes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## Routes\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no routes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var found []string
	steps := map[string]int{}
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		if m := route.FindStringSubmatch(line); m != nil {
			found = append(found, m[1])
			continue
		}
		if !strings.HasPrefix(line, "- ") || len(found) == 0 {
			continue
		}
		at := found[len(found)-1]
		steps[at]++
		m := step.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%s: the step does not begin with a file: %s", at, line)
			continue
		}
		for i, name := range quoted.FindAllStringSubmatch(line, -1) {
			if path := filepath.Join(root, filepath.FromSlash(name[1])); strings.Contains(name[1], "/") || i == 0 {
				if there, err := filepath.Glob(path); err != nil || len(there) == 0 {
					t.Errorf("%s: there is no %s", at, name[1])
				}
			}
		}
	}
	if !slices.Equal(found, routes) {
		t.Errorf("routes in CONTRIBUTING.md: %q, and they should be %q", found, routes)
	}
	for _, r := range routes {
		if steps[r] < 3 {
			t.Errorf("%s has %d steps", r, steps[r])
		}
	}
}
