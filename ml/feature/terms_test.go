package feature

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/words"
	"github.com/tributarydb/tributary/sql/types"
)

// TestTerms: numbers of texts are scikit-learn's, those of unknown terms and of NULL are none.
func TestTerms(t *testing.T) {
	train := column(types.Text, "red fish blue fish", "one fish", nil, "red red red")
	ask := column(types.Text, "blue fish fish", "unknown", nil, "red one")
	for _, c := range []struct {
		name     string
		settings []float64 // least, most, min_df, idf
		most     int
		terms    string
		want     []string
	}{
		{"tf-idf", []float64{1, 1, 1, 1}, 0, "blue|fish|one|red", []string{"0.5356 0.8445", "", "", "0.7853 0.6191"}},
		{"counts", []float64{1, 1, 1, 0}, 0, "blue|fish|one|red", []string{"0.25 0.5", "", "", "0.25 0.25"}},
		{"few", []float64{1, 1, 2, 0}, 0, "fish|red", []string{"0.5", "", "", "0.25"}},
		{"two", []float64{1, 1, 1, 0}, 2, "fish|red", []string{"0.5", "", "", "0.25"}},
		{"pairs", []float64{2, 2, 1, 1}, 0, "blue fish|fish blue|one fish|red fish|red red", []string{"1", "", "", ""}},
	} {
		f, err := fitOne(t, Col{Column: record.Column{Type: types.Text}, Encoder: Terms, Boundaries: c.settings, Buckets: c.most}, train)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if terms := strings.Join(f.Cols[0].Cats, "|"); terms != c.terms || f.OneHot != len(f.Cols[0].Cats) || len(f.Slots()) != f.Params() {
			t.Errorf("%s: terms %s, %d slots", c.name, terms, f.OneHot)
		}
		b, err := f.EncodeColumns([]arrow.Array{ask}, ask.Len())
		if err != nil {
			t.Fatal(c.name, err)
		}
		for i, want := range c.want {
			got := []string{}
			for _, v := range b.Sparse.Value[b.Sparse.Start[i]:b.Sparse.Start[i+1]] {
				got = append(got, fmt.Sprintf("%.4g", v))
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: row %d is %s, want %s", c.name, i, s, want)
			}
		}
		if n := len(b.Sparse.Start); n != b.Padded()+1 {
			t.Errorf("%s: %d rows", c.name, n)
		}
	}
	if _, err := fitOne(t, Col{Column: record.Column{Type: types.Text}, Encoder: Terms, Boundaries: []float64{1, 1, 9, 1}}, train); err == nil {
		t.Error("a vocabulary of no terms")
	}
}

// TestTermsOfData: words that nobody writes are none, and terms are charged by their bytes.
func TestTermsOfData(t *testing.T) {
	c := &Col{Boundaries: []float64{1, 2, 1, 0}}
	count := func(texts ...any) (terms int, charged int64) {
		s := &Spec{Cols: []Col{{Column: record.Column{Type: types.Text}, Encoder: Terms, Boundaries: c.Boundaries, Role: Feature}}}
		v, done := viewOf(t, s, []arrow.Array{column(types.Text, texts...)}, len(texts))
		defer done()
		k := termCounter{Tokens: words.Tokens{Grams: c.grams()}, charge: func(n int64) error { charged += n; return nil }}
		if _, err := k.add(c, v, 0, 0, len(texts), nil); err != nil {
			t.Fatal(err)
		}
		return len(k.counter.List), charged
	}
	long := strings.Repeat("x", 256)
	if n, _ := count("a "+long+"y bc", long); n != 2 {
		t.Errorf("%d terms, want a word of the most bytes and bc", n)
	}
	var many []any
	for i := range 10000 {
		many = append(many, fmt.Sprintf("%s%06d", long[6:], i))
	}
	if _, charged := count(many...); charged < int64(2*len(many)*256) {
		t.Errorf("%d bytes are charged", charged)
	}
}
