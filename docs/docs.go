package docs

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Files are the pages, by their paths in this directory.
//
//go:embed *.md */*.md *.svg
var Files embed.FS

// Section is a heading of index.md with the pages below it.
type Section struct {
	Title string
	Pages []Page
}

// Page is a page of the manual. Its path is that of its file.
type Page struct {
	Title, Path string
}

var item = regexp.MustCompile(`(?m)^(?:## (.+)|- \[(.+)\]\((.+\.md)\).*)$`)

// Contents returns the sections of index.md, and one of the decisions.
var Contents = sync.OnceValue(func() (sections []Section) {
	for _, m := range item.FindAllStringSubmatch(Text("index.md"), -1) {
		switch {
		case m[1] != "":
			sections = append(sections, Section{Title: m[1]})
		case len(sections) > 0:
			s := &sections[len(sections)-1]
			s.Pages = append(s.Pages, Page{Title: m[2], Path: m[3]})
		}
	}
	decisions := Section{Title: "Decisions"}
	files, err := fs.Glob(Files, "decisions/*.md")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, f := range files {
		title, _, _ := strings.Cut(Text(f), "\n")
		decisions.Pages = append(decisions.Pages, Page{Title: strings.TrimPrefix(title, "# "), Path: f})
	}
	return append(sections, decisions)
})

// Text returns a page's Markdown, "" if there is no such page.
func Text(page string) string {
	b, err := fs.ReadFile(Files, page)
	if err != nil {
		return ""
	}
	return string(b)
}

// Statement returns what the reference says of a statement, such as "create table", as plain text without
// its examples. A statement is a heading of a page of the reference, or several that commas separate.
func Statement(name string) (text string, ok bool) {
	text, ok = statements()[strings.ToLower(strings.Join(strings.Fields(name), " "))]
	return text, ok
}

// Statements returns the names that Statement knows, as they are written, in the order of the manual.
func Statements() []string {
	statements()
	return names
}

var (
	names      []string
	heading    = regexp.MustCompile(`^##? ([A-Z][A-Z ,]+)$`)
	also       = regexp.MustCompile(`^<!-- also: (.+) -->$`) // other names of the section's statements
	statements = sync.OnceValue(func() map[string]string {
		all := map[string]string{}
		for _, s := range Contents() {
			for _, p := range s.Pages {
				if path.Dir(p.Path) == "reference" {
					addStatements(all, Text(p.Path))
				}
			}
		}
		return all
	})
)

// addStatements adds the sections of a page whose headings are statements.
func addStatements(all map[string]string, page string) {
	var open []string // the names of the section that is read
	var body strings.Builder
	fence, skip := false, false
	end := func() {
		for _, n := range open {
			if key := strings.ToLower(n); all[key] == "" {
				names = append(names, n)
				all[key] = plain(body.String())
			}
		}
		open = nil
		body.Reset()
	}
	for line := range strings.Lines(page) {
		if m := also.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			open = append(open, strings.Split(m[1], ", ")...)
			continue
		}
		switch {
		case strings.HasPrefix(line, "<!-- run"):
			skip = true
		case skip && strings.HasPrefix(line, "-->"):
			skip = false
			continue
		case strings.HasPrefix(line, "```"):
			if fence = !fence; fence && strings.HasPrefix(line, "```console") {
				skip = true
			} else if !fence && skip {
				skip = false
				continue
			}
		case !fence && strings.HasPrefix(line, "#"):
			end()
			if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				open = strings.Split(m[1], ", ")
				continue
			}
		}
		if len(open) > 0 && !skip {
			body.WriteString(line)
		}
	}
	end()
}

// Anchor returns the anchor of a heading, as mkdocs makes it.
func Anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-':
			b.WriteRune(r)
		case r == ' ' && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return b.String()
}

var (
	textLink = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	mark     = regexp.MustCompile("(?m)^(```.*|\\|[-|]+|<!--.*-->)\n|`|\\*\\*")
	gap      = regexp.MustCompile(`\n{3,}`)
)

// plain takes the marks of Markdown off a text.
func plain(text string) string {
	text = textLink.ReplaceAllString(text, "$1")
	return strings.TrimSpace(gap.ReplaceAllString(mark.ReplaceAllString(text, ""), "\n\n"))
}
