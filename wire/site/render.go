package site

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/tributarydb/tributary/docs"
)

// markdown is CommonMark with tables. Raw HTML is left out. Alignment is an attribute: the policy of the
// pages allows no styles in elements.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// wide matches what scrolls sideways, which who has no mouse must be able to reach.
var wide = regexp.MustCompile(`<pre|<table`)

// page is a page of the manual, rendered and in words.
type page struct {
	path, title, kind string
	html              []byte
	outline           []heading
	parts             []part
}

// heading is an entry of a page's outline.
type heading struct {
	ID, Title string
}

// part is what stands below one heading, for the search.
type part struct {
	heading
	text, code string
}

// render makes a page of its Markdown.
func render(name, title string) (*page, error) {
	src := []byte(docs.Text(name))
	if len(src) == 0 {
		return nil, fmt.Errorf("the manual has no page %s", name)
	}
	p := &page{path: strings.TrimSuffix(name, ".md"), title: title, kind: path.Dir(name)}
	root := markdown.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{}))))
	var body, code strings.Builder
	at := heading{Title: title}
	end := func() {
		p.parts = append(p.parts, part{at, body.String(), code.String()})
		body.Reset()
		code.Reset()
	}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				body.WriteByte('\n')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(pageLink(string(n.Destination)))
		case *ast.Heading:
			if n.Level > 1 {
				end()
				id, _ := n.AttributeString("id")
				b, _ := id.([]byte)
				at = heading{string(b), plain(n, src)}
				if n.Level == 2 {
					p.outline = append(p.outline, at)
				}
			}
			return ast.WalkContinue, nil
		case *ast.Text:
			if n.Parent().Kind() != ast.KindHeading {
				body.Write(n.Segment.Value(src))
				if n.SoftLineBreak() {
					body.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				l := n.Lines().At(i)
				code.Write(l.Value(src))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	end()
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, src, root); err != nil {
		return nil, err
	}
	p.html = wide.ReplaceAll(b.Bytes(), []byte(`$0 tabindex="0"`))
	p.html = bytes.ReplaceAll(p.html, []byte("<th></th>"), []byte("<td></td>")) // a heading says something
	return p, nil
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(src))
		} else {
			b.WriteString(plain(c, src))
		}
	}
	return b.String()
}

// pageLink returns the address of what a page links to: files are served without their ending.
func pageLink(to string) string {
	file, anchor, has := strings.Cut(to, "#")
	if strings.Contains(file, ":") || !strings.HasSuffix(file, ".md") {
		return to
	}
	file = strings.TrimSuffix(file, ".md")
	if path.Base(file) == "index" {
		file = strings.TrimSuffix(file, "index") + "."
	}
	if has {
		return file + "#" + anchor
	}
	return file
}

// ids names headings as GitHub and mkdocs do.
type ids struct{ used map[string]int }

func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := docs.Anchor(string(value))
	if s.used == nil {
		s.used = map[string]int{}
	}
	n := s.used[id]
	s.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s_%d", id, n)
	}
	return []byte(id)
}

func (s *ids) Put([]byte) {}
