package site

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/docs"
)

func get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
	r := w.Result()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

var (
	reference = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	anchor    = regexp.MustCompile(` id="([^"]+)"`)
	inline    = regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son[a-z]+=`)
)

// TestPages: every page of the manual is served with its text and under the policy that its form keeps
// to; what pages refer to is there, headings included.
func TestPages(t *testing.T) {
	type target struct{ path, anchor, from string }
	var targets []target
	anchors, status := map[string][]string{}, map[string]int{}
	visit := func(address string) {
		r, body := get(t, address)
		status[address] = r.StatusCode
		for _, m := range anchor.FindAllStringSubmatch(body, -1) {
			anchors[address] = append(anchors[address], m[1])
		}
		if inline.MatchString(body) {
			t.Errorf("%s has inline scripts or styles: %s", address, inline.FindString(body))
		}
		if r.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%s has the policy %q", address, r.Header.Get("Content-Security-Policy"))
		}
		base, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reference.FindAllStringSubmatch(body, -1) {
			to, err := base.Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if to.Host == "" {
				targets = append(targets, target{to.Path, to.Fragment, address})
			}
		}
	}
	visit("/docs/")
	for _, s := range docs.Contents() {
		for _, p := range s.Pages {
			visit("/docs/" + strings.TrimSuffix(p.Path, ".md"))
		}
	}
	for _, to := range targets {
		if _, ok := status[to.path]; !ok {
			r, _ := get(t, to.path)
			status[to.path] = r.StatusCode
		}
		if status[to.path] != http.StatusOK {
			t.Errorf("%s refers to %s, which answers %d", to.from, to.path, status[to.path])
		}
		if to.anchor != "" && !strings.Contains(" "+strings.Join(anchors[to.path], " ")+" ", " "+to.anchor+" ") {
			t.Errorf("%s refers to the heading %s of %s", to.from, to.anchor, to.path)
		}
	}
	if _, body := get(t, "/docs/reference/types"); !strings.Contains(body, "<td><code>smallint</code></td>") || !strings.Contains(body, `aria-current="page"`) {
		t.Errorf("a page is\n%s", body)
	}
}

// TestSearchPage: the query is shown as text, whatever it has; a page that is not there offers others.
func TestSearchPage(t *testing.T) {
	_, body := get(t, "/docs/search?q="+url.QueryEscape(`"><b>backups`))
	if !strings.Contains(body, `value="&#34;&gt;&lt;b&gt;backups"`) || !strings.Contains(body, `href="./operations/backup"`) {
		t.Errorf("the search says\n%s", body)
	}
	r, body := get(t, "/docs/operations/settings")
	if r.StatusCode != http.StatusNotFound || !strings.Contains(body, `href="../reference/settings"`) {
		t.Errorf("%d\n%s", r.StatusCode, body)
	}
	if hits, err := search("autoenc", 1); err != nil || len(hits) != 1 || hits[0].Path != "howto/anomalies" {
		t.Errorf("the beginning of a word finds %v, %v", hits, err)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/docs/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", w.Code)
	}
}

func TestStem(t *testing.T) {
	for _, same := range [][]string{{"query", "queries"}, {"load", "loads", "loading", "loaded", "loader"}, {"stop", "stopped", "stopping"}, {"class", "classes"},
		{"prediction", "predict", "predicted", "predictions"}, {"tune", "tuning", "tuned"}, {"train", "training", "trained"}, {"status"}, {"key", "keys"}} {
		for _, w := range same {
			if stem(w) != stem(same[0]) {
				t.Errorf("%s becomes %s, %s %s", same[0], stem(same[0]), w, stem(w))
			}
		}
	}
}

// search returns the pages that answer a query, at most so many, the best first.
func search(query string, most int) ([]Hit, error) {
	s, err := load()
	if err != nil {
		return nil, err
	}
	return s.index.search(query, most), nil
}
