package manual

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tributarydb/tributary/docs"
)

// prose calls f for each line of a page that is neither code nor a hidden comment, with its number.
func prose(t *testing.T, page string, f func(n int, line string)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	until := ""
	for n, line := range strings.Split(string(b), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case until != "":
			if strings.HasPrefix(trimmed, until) {
				until = ""
			}
			line = ""
		case strings.HasPrefix(trimmed, "```"):
			until, line = "```", ""
		case strings.HasPrefix(trimmed, "<!-- run"):
			until, line = "-->", ""
		}
		f(n+1, line)
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	head = regexp.MustCompile(`^#{1,4} (.+)$`)
)

// TestLinks: the files and the headings that pages link to exist. Pages of the manual link to each other
// only, since the nodes serve nothing else.
func TestLinks(t *testing.T) {
	root := Root(t)
	anchors := map[string][]string{}
	for _, p := range Pages(t) {
		prose(t, p, func(_ int, line string) {
			if m := head.FindStringSubmatch(line); m != nil {
				a := docs.Anchor(m[1])
				if n := len(slices.DeleteFunc(slices.Clone(anchors[p]), func(s string) bool { return s != a })); n > 0 {
					a = fmt.Sprintf("%s_%d", a, n)
				}
				anchors[p] = append(anchors[p], a)
			}
		})
	}
	for _, p := range append([]string{"README.md", "CONTRIBUTING.md", "SUPPORT.md", "CHANGELOG.md", "SECURITY.md"}, Pages(t)...) {
		prose(t, p, func(n int, line string) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				file, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(file, ":") {
					continue
				}
				to := p
				if file != "" {
					to = path.Join(path.Dir(p), file)
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
					t.Errorf("%s, line %d: there is no %s", p, n, to)
				} else if strings.HasPrefix(p, "docs/") && (path.Ext(to) != ".md" && path.Ext(to) != ".svg" || !strings.HasPrefix(to, "docs/")) {
					t.Errorf("%s, line %d: %s is no page of the manual", p, n, to)
				} else if anchor != "" && strings.HasPrefix(to, "docs/") && !slices.Contains(anchors[to], anchor) {
					t.Errorf("%s, line %d: %s has no heading %s", p, n, to, anchor)
				}
			}
		})
	}
}

// TestLines: lines of text have at most 100 characters, and paragraphs at most six lines, so that pages
// can be read. Tables and code are as wide as they must be, and decisions are notes.
func TestLines(t *testing.T) {
	const longest, most = 100, 6
	for _, p := range Pages(t) {
		if strings.HasPrefix(p, "docs/decisions/") {
			continue
		}
		lines, made := 0, false
		prose(t, p, func(n int, line string) {
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, "<!--"):
				made = strings.HasPrefix(trimmed, "<!-- made") || made && !strings.HasPrefix(trimmed, "<!-- end")
				lines = 0
				return
			case made, trimmed == "", trimmed[0] == '|', trimmed[0] == '#':
				lines = 0
				return
			case strings.HasPrefix(trimmed, "- "), regexp.MustCompile(`^\d+\. `).MatchString(trimmed):
				lines = 0
			}
			if c := utf8.RuneCountInString(line); c > longest {
				t.Errorf("%s, line %d has %d characters", p, n, c)
			}
			if lines++; lines == most+1 {
				t.Errorf("%s, line %d: a paragraph of more than %d lines", p, n, most)
			}
		})
	}
}

// TestContents: docs/index.md lists all pages under their titles, and so does the navigation of mkdocs.yml.
func TestContents(t *testing.T) {
	var listed []string
	var nav strings.Builder
	nav.WriteString("nav:\n  - Manual: index.md\n")
	for _, s := range docs.Contents() {
		if s.Title == "Decisions" {
			continue
		}
		fmt.Fprintf(&nav, "  - %q:\n", s.Title)
		for _, p := range s.Pages {
			listed = append(listed, "docs/"+p.Path)
			fmt.Fprintf(&nav, "      - %q: %s\n", p.Title, p.Path)
			if first, _, _ := strings.Cut(docs.Text(p.Path), "\n"); first != "# "+p.Title {
				t.Errorf("%s is called %q in the contents and %q itself", p.Path, p.Title, first)
			}
		}
	}
	for _, p := range Pages(t) {
		if p != "docs/index.md" && !strings.HasPrefix(p, "docs/decisions/") && !slices.Contains(listed, p) {
			t.Errorf("docs/index.md does not list %s", p)
		}
	}
	Page(t, "mkdocs.yml", func(text string) string {
		head, _, _ := strings.Cut(text, "nav:\n")
		return head + nav.String()
	})
}
