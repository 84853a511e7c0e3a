package site

import (
	_ "embed"
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

//go:embed style.css
var style []byte

// policy lets a page load its style and drawings, and nothing else from anywhere.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// mostHits are as many results as a search shows, longestQuery as many bytes of it as are looked at.
const mostHits, longestQuery = 20, 200

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
		v := &view{path: name, up: strings.Repeat("../", strings.Count(name, "/"))}
		if v.up == "" {
			v.up = "./"
		}
		status := http.StatusOK
		if name == "" {
			name = "index"
		}
		if p := s.pages[name]; p != nil {
			v.title, v.page = p.title, p
		} else if name == "search" {
			v.query = r.URL.Query().Get("q")
			v.query = strings.ToValidUTF8(v.query[:min(len(v.query), longestQuery)], "")
			v.title = "Search"
			v.hits = s.index.search(v.query, mostHits)
		} else {
			status = http.StatusNotFound
			v.title = "There is no such page"
			v.hits = s.index.search(path.Base(name), mostHits)
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(v.html())
	})
}
