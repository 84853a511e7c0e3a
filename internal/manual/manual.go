package manual

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var write = flag.Bool("manual", false, "write what tests make into the pages of the manual")

// Root is the directory of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
}

// Part compares the generated part name of a page with want. The page's path is
// relative to the module's directory.
func Part(t testing.TB, page, name, want string) {
	t.Helper()
	want = strings.TrimSpace(want)
	Page(t, page, func(text string) string {
		head, rest, ok := strings.Cut(text, "<!-- made: "+name+" -->\n")
		got, tail, ok2 := strings.Cut(rest, "<!-- end: "+name+" -->")
		if !ok || !ok2 {
			t.Fatalf("%s has no part %q", page, name)
		}
		if strings.TrimSpace(got) == want {
			return text
		}
		return head + "<!-- made: " + name + " -->\n" + want + "\n<!-- end: " + name + " -->" + tail
	})
}

// Page compares a page with what remake returns for it.
func Page(t testing.TB, page string, remake func(text string) string) {
	t.Helper()
	path := filepath.Join(Root(t), filepath.FromSlash(page))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := remake(string(b))
	if want == string(b) {
		return
	}
	if *write {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, now := strings.Split(string(b), "\n"), strings.Split(want, "\n")
	for i := range now {
		if i >= len(got) || got[i] != now[i] {
			old := "its end"
			if i < len(got) {
				old = got[i]
			}
			t.Errorf("%s, line %d: the page says\n%s\nand it should be\n%s\n(go test with -manual writes it)", page, i+1, old, now[i])
			return
		}
	}
	t.Errorf("%s has lines after its end (go test with -manual writes it)", page)
}

// Pages returns the pages of the manual, in order.
func Pages(t testing.TB) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(Root(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			pages = append(pages, filepath.ToSlash(f[len(Root(t))+1:]))
		}
	}
	return pages
}

// Table writes a Markdown table. Bars in cells are escaped.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// Initials writes a Markdown table of names by their first letters, which is how one looks a name up.
func Initials(names []string) string {
	var rows [][]string
	for _, name := range names {
		initial := strings.TrimLeft(name, "_")[:1]
		if len(rows) == 0 || rows[len(rows)-1][0] != initial {
			rows = append(rows, []string{initial, ""})
		}
		last := rows[len(rows)-1]
		last[1] = strings.TrimPrefix(last[1]+", `"+name+"`", ", ")
	}
	return Table([]string{"", ""}, rows)
}

var named = regexp.MustCompile("`([a-z][a-z0-9]*(?:/[a-zA-Z0-9_.*-]+)+)`")

// Files fails the test if a page names a file or a directory that does not exist. A
// name is text in backquotes with a slash and no spaces; it may be a pattern.
func Files(t testing.TB, page string) {
	t.Helper()
	dir := Root(t)
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range named.FindAllStringSubmatch(string(b), -1) {
		if found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(m[1]))); err != nil || len(found) == 0 {
			t.Errorf("%s names %s, which is not there", page, m[1])
		}
	}
}
