package site

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tributarydb/tributary/docs"
)

// Hit is a page that a search found.
type Hit struct {
	Title, Path string
	// Section is the heading below which the words stand, and Anchor its anchor; both may be "".
	Section, Anchor string
	Excerpt         string
}

// index is an inverted index over the pages: for each stem, how much of it each page has.
type index struct {
	pages  []*page
	stems  map[string]map[int]float64
	sorted []string // the stems
	titles [][]string
	length []float64 // of the pages' bodies, in words
	mean   float64
}

// What a word of a title counts, of the page's own list of words, of a heading, of the first paragraph,
// beside one of the text.
const (
	inTitle   = 10
	inWords   = 7
	inHeading = 3
)

// words is a page's list of other words for what it says, in a comment.
var words = regexp.MustCompile(`<!-- words: (.*?) -->`)

func newIndex(pages []*page) *index {
	x := &index{pages: pages, stems: map[string]map[int]float64{}}
	for i, p := range pages {
		n := 0
		add := func(text string, weight float64) {
			for _, s := range stems(text) {
				n++
				if x.stems[s] == nil {
					x.stems[s] = map[int]float64{}
				}
				x.stems[s][i] += weight
			}
		}
		for _, part := range p.parts {
			add(part.text+" "+part.code, 1)
		}
		x.length = append(x.length, float64(n))
		x.mean += float64(n) / float64(len(pages))
		add(p.title, inTitle)
		x.titles = append(x.titles, stems(p.title))
		for _, m := range words.FindAllStringSubmatch(docs.Text(p.path+".md"), -1) {
			add(m[1], inWords)
		}
		for _, part := range p.parts[1:] {
			add(part.Title, inHeading)
		}
	}
	x.sorted = slices.Sorted(maps.Keys(x.stems))
	return x
}

// search returns the pages that have words of the query, the best first: BM25, where a word of a title
// counts as several of the text.
func (x *index) search(query string, most int) []Hit {
	const k, b = 1.5, 0.6
	asked := stems(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	score := make([]float64, len(x.pages))
	for _, s := range asked {
		in := x.find(s)
		idf := math.Log(1 + (float64(len(x.pages))-float64(len(in))+0.5)/(float64(len(in))+0.5))
		for i, n := range in { // each page's sum gets one term: the order does not matter
			score[i] += idf * n * (k + 1) / (n + k*(1-b+b*x.length[i]/x.mean))
		}
	}
	var order []int
	for i := range score {
		score[i] *= kinds[x.pages[i].kind] * (1 + share(x.titles[i], asked)/2)
		if score[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case score[i] > score[j]:
			return -1
		case score[i] < score[j]:
			return 1
		}
		return 0
	})
	var hits []Hit
	for _, i := range order[:min(most, len(order))] {
		hits = append(hits, x.pages[i].hit(asked))
	}
	return hits
}

// find returns how much of a stem each page has; of one that no page has, of those that begin with it.
func (x *index) find(stem string) map[int]float64 {
	in := x.stems[stem]
	if in != nil || len(stem) < 3 {
		return in
	}
	in = map[int]float64{}
	first, _ := slices.BinarySearch(x.sorted, stem)
	for _, s := range x.sorted[first:] {
		if !strings.HasPrefix(s, stem) {
			break
		}
		for i, n := range x.stems[s] {
			in[i] = max(in[i], n)
		}
	}
	return in
}

// kinds weighs the kinds of pages: who searches has a question, and seldom one about how we decided.
var kinds = map[string]float64{"howto": 1.3, "tutorials": 1, "reference": 1, "operations": 1, "explanation": 0.8, ".": 0.5, "decisions": 0.4}

// share returns which part of the words is asked for: a title that says nothing else is the better one.
func share(words, asked []string) float64 {
	n := 0
	for _, w := range words {
		if slices.Contains(asked, w) {
			n++
		}
	}
	return float64(n) / float64(max(len(words), 1))
}

// hit returns what the list of results shows of a page: the part with most of the words.
func (p *page) hit(asked []string) Hit {
	best, most := 0, -1
	for i, part := range p.parts {
		have := stems(part.Title + " " + part.text + " " + part.code)
		n := 0
		for _, s := range asked {
			if slices.Contains(have, s) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	h := Hit{Title: p.title, Path: p.path}
	if best > 0 {
		h.Section, h.Anchor = p.parts[best].Title, p.parts[best].ID
	}
	text := strings.Join(strings.Fields(p.parts[best].text), " ")
	if len(text) > 200 {
		cut := strings.LastIndexByte(text[:200], ' ')
		text = text[:max(cut, 0)] + " …"
	}
	h.Excerpt = text
	return h
}

// stop are words that say nothing of what is looked for.
var stop = set("a an and are as at be been but by can could did do does for from get had has have how i if in into is it its me my not of on or our so that the their them then there these they this to us was we were what when where which who why will with would you your s t don im ive want need way best should without am any about tell")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// stems returns the stems of a text's words. A name with underscores counts as its parts.
func stems(text string) (out []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !stop[w] {
			out = append(out, stem(w))
		}
	}
	return out
}

// stem takes off what English adds to a word: -s, -es, -ies, -ed, -er, -ing, -ion and a doubled letter
// before. It need not be right, only the same for the forms of a word.
func stem(w string) string {
	if len(w) <= 3 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies"):
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"):
	case strings.HasSuffix(w, "s"):
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ing", "ied", "ed", "er", "ion", "e", "y"} {
		if r, ok := strings.CutSuffix(w, end); ok && len(r) >= 3 && strings.ContainsAny(r, "aeiouy") {
			w = r
			if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
				w = w[:n-1]
			}
			break
		}
	}
	return w
}
