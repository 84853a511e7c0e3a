package site

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/docs"
)

// site is all pages and the index over them.
type site struct {
	pages map[string]*page
	index *index
}

// load renders all pages when the first one is asked for.
var load = sync.OnceValues(func() (*site, error) {
	s := &site{pages: map[string]*page{}}
	var all []*page
	add := func(name, title string) error {
		p, err := render(name, title)
		if err == nil {
			s.pages[p.path] = p
			all = append(all, p)
		}
		return err
	}
	for _, c := range docs.Contents() {
		for _, p := range c.Pages {
			if err := add(p.Path, p.Title); err != nil {
				return nil, err
			}
		}
	}
	s.index = newIndex(all)
	if err := add("index.md", "Manual"); err != nil {
		return nil, err
	}
	return s, nil
})

// Search returns the pages that answer a query, at most so many, the best first.
func Search(query string, most int) ([]Hit, error) {
	s, err := load()
	if err != nil {
		return nil, err
	}
	return s.index.search(query, most), nil
}

//go:embed page.html
var shape string

//go:embed style.css
var style []byte

var frame = template.Must(template.New("page").Parse(shape))

// policy lets a page load its style and drawings, and nothing else from anywhere.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// mostHits are as many results as a search shows, longestQuery as many bytes of it as are looked at.
const mostHits, longestQuery = 20, 200

// view is what a page of the site shows.
type view struct {
	Up       string // to the manual's root, relative to the page
	Path     string
	Title    string
	Kind     string
	Query    string
	Searched bool
	Hits     []Hit
	HTML     template.HTML
	Outline  []heading
	Contents []docs.Section
}

// Open reports whether the section has the page that is shown.
func (v *view) Open(s docs.Section) bool {
	for _, p := range s.Pages {
		if v.Address(p.Path) == v.Path {
			return true
		}
	}
	return false
}

// Address returns the address of a page by its file.
func (v *view) Address(file string) string { return strings.TrimSuffix(file, ".md") }

// Handler serves the manual below /docs/.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/docs")
		name = strings.TrimPrefix(name, "/")
		if name == "style.css" {
			h.Set("Content-Type", "text/css; charset=utf-8")
			h.Set("Cache-Control", "max-age=3600")
			_, _ = w.Write(style) // a client that has gone needs no answer
			return
		}
		if path.Ext(name) == ".svg" {
			http.ServeFileFS(w, r, docs.Files, name)
			return
		}
		s, err := load()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		v := &view{Path: name, Up: strings.Repeat("../", strings.Count(name, "/")), Contents: docs.Contents()}
		if v.Up == "" {
			v.Up = "./"
		}
		status := http.StatusOK
		if name == "" {
			name = "index"
		}
		if p := s.pages[name]; p != nil {
			v.Title, v.Kind, v.HTML, v.Outline = p.title, p.kind, template.HTML(p.html), p.outline
		} else if v.Searched = true; name == "search" {
			v.Query = r.URL.Query().Get("q")
			v.Query = v.Query[:min(len(v.Query), longestQuery)]
			v.Title = "Search"
			v.Hits = s.index.search(v.Query, mostHits)
		} else {
			status = http.StatusNotFound
			v.Title = "There is no such page"
			v.Hits = s.index.search(path.Base(name), mostHits)
		}
		var b bytes.Buffer
		if err := frame.Execute(&b, v); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes())
	})
}
