package words

import (
	"strings"
	"testing"
)

// TestTokens: the terms are those of scikit-learn's CountVectorizer.
func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"A good FILM, good_film!":  "good|film|good_film|good film|film good_film",
		"x y zz":                   "zz",
		"Straße 東京 naïve É1 don't": "straße|東京|naïve|é1|don|straße 東京|東京 naïve|naïve é1|é1 don",
		"a\xffbc":                  "bc",
	} {
		var got []string
		tok := Tokens{Grams: Grams{1, 2}}
		tok.Each([]byte(text), func(term []byte) { got = append(got, string(term)) })
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q has %q, want %q", text, s, want)
		}
	}
}
