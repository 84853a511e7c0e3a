package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRacePackages: .ci/race-packages names packages that are there, once each, and its patterns tests that are there. A
// test that was renamed would otherwise run again, or be left out, without a word.
func TestRacePackages(t *testing.T) {
	tests := map[string][]string{}
	eachFile(t, func(p string, f *ast.File) {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(p, "_test.go") && strings.HasPrefix(d.Name.Name, "Test") {
				tests[path.Dir(p)] = append(tests[path.Dir(p)], d.Name.Name)
			}
		}
	})
	text, err := os.ReadFile(filepath.Join(root, ".ci/race-packages"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		dir, flags, _ := strings.Cut(strings.TrimPrefix(line, "./"), " ")
		if dir == "" || dir[0] == '#' {
			continue
		}
		if seen[dir] || tests[dir] == nil {
			t.Errorf("%s is listed twice, or has no tests", dir)
		}
		seen[dir] = true
		_, pattern, _ := strings.Cut(flags, "=")
		for _, p := range splitPattern(pattern, '|') {
			name := splitPattern(p, '/')[0]
			found := false
			for _, test := range tests[dir] {
				found = found || regexp.MustCompile(name).MatchString(test)
			}
			if !found {
				t.Errorf("%s has no test %s, which a pattern names", dir, name)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d packages", len(seen))
	}
}

// splitPattern cuts a pattern of -run or -skip as go test does, at sep outside brackets.
func splitPattern(s string, sep byte) (parts []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case sep:
			if depth == 0 {
				parts, from = append(parts, s[from:i]), i+1
			}
		}
	}
	return append(parts, s[from:])
}
