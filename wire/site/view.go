package site

import (
	"bytes"
	"html"
	"strings"

	"github.com/tributarydb/tributary/docs"
)

// view is what is shown at an address: a page, or else what a search found. It is written by hand: where
// templates are linked, the linker keeps every exported method of the program, 8 MB of them.
type view struct {
	path, up string // the address, and the way from it to the manual's root
	title    string
	page     *page
	query    string
	hits     []Hit
}

// html returns the whole document. All that is not of the manual itself is escaped.
func (v *view) html() []byte {
	var b bytes.Buffer
	put := func(parts ...string) { // markup and text in turn
		for i, p := range parts {
			if i%2 == 1 {
				p = html.EscapeString(p)
			}
			b.WriteString(p)
		}
	}
	put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>`, v.title, ` · Tributary</title>
<link rel="stylesheet" href="`, v.up, `style.css">
</head>
<body>
<a class="skip" href="#text">To the text</a>
<header>
<a class="home" href="`, v.up, `">Tributary manual</a>
<form action="`, v.up, `search" role="search">
<input type="search" name="q" value="`, v.query, `" aria-label="Search the manual" placeholder="Search: how do I …">
<button>Search</button>
</form>
</header>
<div class="columns">
<nav aria-label="Contents">
`)
	for _, s := range docs.Contents() {
		open := ""
		for _, p := range s.Pages {
			if v.page != nil && p.Path == v.page.path+".md" {
				open = " open"
			}
		}
		put("<details"+open+"><summary>", s.Title, "</summary>\n<ul>\n")
		for _, p := range s.Pages {
			address := strings.TrimSuffix(p.Path, ".md")
			here := ""
			if address == v.path {
				here = ` aria-current="page"`
			}
			put(`<li><a href="`, v.up+address, `"`+here+`>`, p.Title, "</a></li>\n")
		}
		put("</ul></details>\n")
	}
	put("</nav>\n<main id=\"text\">\n")
	switch {
	case v.page != nil:
		b.Write(v.page.html)
	case len(v.hits) == 0:
		put("<h1>", v.title, "</h1>\n<p>No page has these words. Try fewer of them, or look through the contents.</p>\n")
	default:
		put("<h1>", v.title, "</h1>\n<ol class=\"hits\">\n")
		for _, h := range v.hits {
			put(`<li><a href="`, v.up+h.Path, `">`, h.Title, "</a>")
			if h.Section != "" {
				put(` · <a href="`, v.up+h.Path+"#"+h.Anchor, `">`, h.Section, "</a>")
			}
			put("\n<p>", h.Excerpt, "</p></li>\n")
		}
		put("</ol>\n")
	}
	put("</main>\n")
	if v.page != nil && len(v.page.outline) > 0 {
		put("<aside aria-label=\"On this page\"><p>On this page</p><ul>\n")
		for _, h := range v.page.outline {
			put(`<li><a href="#`, h.ID, `">`, h.Title, "</a></li>\n")
		}
		put("</ul></aside>\n")
	}
	put("</div>\n</body>\n</html>\n")
	return b.Bytes()
}
