package feature

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/words"
)

// Terms are the words of a text and runs of them: see package words.
//
//	text ─▶ terms ─▶ how many rows have each ─▶ the vocabulary, ascending by bytes
//	text ─▶ terms in the vocabulary, counted ─▶ numbers of a few slots: block.Sparse
//
// Counts are divided by a power of two, so that they are at most 1. TF-IDF multiplies a count by ln((1+n)/(1+m)) + 1, of n
// rows of which m have the term, and divides the numbers of a row by the root of the sum of their squares.
const (
	maxTerms  = 1 << 20 // of a vocabulary
	seenStep  = 3 << 20 // bytes of terms that are charged at once
	seenBytes = 160     // of each, in a counter and in the list made of it, beside its key in both
)

// What Col.Boundaries says of Terms, and in the same places FitCol.Bounds, followed by a factor for each term.
const (
	termsLeast = iota
	termsMost
	termsScale // FitCol: what counts are divided by; Col: how many rows a term needs
	termsIDF   // Col alone: 1 for TF-IDF
	termsHead  = termsIDF
)

func (c *Col) grams() words.Grams {
	return words.Grams{Least: int(c.Boundaries[termsLeast]), Most: int(c.Boundaries[termsMost])}
}

func (c *FitCol) grams() words.Grams {
	return words.Grams{Least: int(c.Bounds[termsLeast]), Most: int(c.Bounds[termsMost])}
}

// termCounter counts in how many rows terms are.
type termCounter struct {
	words.Tokens
	counter catCounter
	last    []int // by term the row that had it last, from 1
	times   []int // and how often
	most    int   // of all rows and terms
	charge  func(bytes int64) error
	size    int // bytes of the terms' keys
	charged int // bytes of all terms
}

// add adds rows [from, from+n) of weights w, nil for 1 each.
func (t *termCounter) add(c *Col, v *record.View, i, from, n int, w []float64) (nulls int64, err error) {
	for r := from; r < from+n; r++ {
		weight := 1.0
		if w != nil {
			weight = w[r-from]
		}
		text := v.Bytes(i, r)
		switch {
		case weight == 0:
			continue
		case text == nil:
			nulls++
			continue
		}
		t.Each(text, func(term []byte) {
			id := t.counter.slot(term)
			if int(id) == len(t.last) {
				t.last, t.times = append(t.last, 0), append(t.times, 0)
				t.size += 2 * len(term)
			}
			hits := &t.counter.hits[id]
			if t.last[id] != r+1 {
				t.last[id], t.times[id] = r+1, 0
				hits.n++
				hits.w.add(weight, w != nil)
			}
			t.times[id]++
			t.most = max(t.most, t.times[id])
		})
		if len(t.counter.List) > maxSeen {
			return nulls, errManyTerms(c.Name, maxSeen, "Take shorter n-grams, or fewer texts.")
		}
		for t.charge != nil && seenBytes*len(t.counter.List)+t.size > t.charged {
			if err := t.charge(seenStep); err != nil {
				return nulls, err
			}
			t.charged += seenStep
		}
	}
	return nulls, nil
}

// fitTerms chooses the vocabulary: the terms that most rows have, ties by their bytes.
func (f *FitCol) fitTerms(c *Col, st *ColStats, rows float64) error {
	cats := st.Cats
	if least := c.Boundaries[termsScale]; least > 1 {
		cats = slices.DeleteFunc(slices.Clone(cats), func(k CatCount) bool { return k.W.Value() < least })
	}
	switch {
	case len(cats) == 0:
		return errNoTerms(c.Name)
	case c.Buckets == 0 && len(cats) > maxTerms:
		return errManyTerms(c.Name, maxTerms, "Say max_features, or a greater min_df.")
	}
	f.Fill, f.Indicator = 0, false
	f.Cats = topCats(cats, cmp.Or(c.Buckets, maxTerms), true)
	scale := 1.0
	if c.Boundaries[termsIDF] == 0 {
		scale = exact.Power(exact.Exponent(max(st.Number.Max, 1)))
	}
	f.Bounds = []float64{c.Boundaries[termsLeast], c.Boundaries[termsMost], scale}
	if c.Boundaries[termsIDF] == 0 {
		return nil
	}
	at := 0
	for _, k := range cats { // both ascend
		if at < len(f.Cats) && f.Cats[at] == k.Key {
			f.Bounds = append(f.Bounds, f64.Log1((1+rows)/(1+k.W.Value()))+1)
			at++
		}
	}
	return nil
}

// Sparse reports whether blocks have sparse numbers.
func (f *Fitted) Sparse() bool {
	return slices.ContainsFunc(f.Cols, func(c FitCol) bool { return c.Encoder == Terms })
}

// TermScale returns how many times a term stands in a text for each 1 of its number: a power of two for counts, 1 for TF-IDF, and 0
// for a column of another encoder.
func (c *FitCol) TermScale() float64 {
	if c.Encoder != Terms {
		return 0
	}
	return c.Bounds[termsScale]
}

// Sparse reports whether the blocks of rows will have sparse numbers.
func Sparse(s *Spec) bool {
	return slices.ContainsFunc(s.Cols, func(c Col) bool { return c.Role == Feature && c.Encoder == Terms })
}

// SparseBytes is at most what the sparse numbers of rows take.
func SparseBytes(s *Spec, v *record.View) (n int64) {
	for i := range s.Cols {
		c := &s.Cols[i]
		if c.Role != Feature || c.Encoder != Terms {
			continue
		}
		sizes := int64(c.Boundaries[termsMost]-c.Boundaries[termsLeast]) + 1
		for r := range v.Rows {
			n += int64(len(v.Bytes(i, r))+1) / 3 * sizes * 8 // a word is two letters and what ends it
		}
	}
	if n > 0 {
		n += 8 * int64(v.Rows+f64.Lanes+1)
	}
	return n
}

// column is where a column of terms lies.
type termColumn struct {
	c      *FitCol
	col    int
	oneHot int32
	words.Tokens
	ids []int32
}

// sparse returns the function that writes the sparse numbers of rows [from, to), which must follow each other. bytes are
// the texts.
func sparse(b *block.Block, cols []termColumn, bytes func(col, i int) []byte) func(from, to int) {
	s := b.Sparse
	return func(from, to int) {
		for i := from; i < to; i++ {
			s.EndRows(i)
			for k := range cols {
				if text := bytes(cols[k].col, i); text != nil {
					cols[k].write(s, text)
				}
			}
		}
		if to == b.Rows {
			s.EndRows(b.Padded())
		}
	}
}

// write appends the numbers of a text.
func (t *termColumn) write(s *block.Sparse, text []byte) {
	known := t.c.known()
	t.ids = t.ids[:0]
	t.Each(text, func(term []byte) {
		if id := known.find(term); id >= 0 {
			t.ids = append(t.ids, id)
		}
	})
	slices.Sort(t.ids)
	from, squares, idf := len(s.Value), 0.0, t.c.Bounds[termsHead:]
	for k := 0; k < len(t.ids); {
		id, n := t.ids[k], 0
		for ; k < len(t.ids) && t.ids[k] == id; k++ {
			n++
		}
		v := float64(n) / t.c.Bounds[termsScale]
		if len(idf) > 0 {
			v = float64(float64(n) * idf[id])
			squares += float64(v * v)
		}
		s.Slot, s.Value = append(s.Slot, t.oneHot+id), append(s.Value, float32(v))
	}
	if len(idf) == 0 {
		return
	}
	norm := math.Sqrt(squares)
	for k := from; k < len(s.Value); k++ {
		s.Value[k] = float32(float64(s.Value[k]) / norm)
	}
}
