package words

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxGram = 5   // words of a term
	maxWord = 256 // bytes of a word: what is longer is data in letters, and none of another row's
)

// Grams is a range of words in a term.
type Grams struct{ Least, Most int }

// Valid reports whether the range is one that is allowed.
func (g Grams) Valid() bool { return g.Least >= 1 && g.Least <= g.Most && g.Most <= maxGram }

// wordBytes says which bytes of ASCII are of words.
var wordBytes = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
	}
	return is
}()

// Tokens finds the terms of texts.
type Tokens struct {
	Grams
	words []byte   // of the text, with a space after each
	at    [][2]int // where each lies
}

// split finds the words of a text.
func (t *Tokens) split(text []byte) {
	t.words, t.at = t.words[:0], t.at[:0]
	start, runes := 0, 0
	end := func() {
		if runes > 1 && len(t.words)-start <= maxWord {
			t.at = append(t.at, [2]int{start, len(t.words)})
			t.words = append(t.words, ' ')
		} else {
			t.words = t.words[:start]
		}
		start, runes = len(t.words), 0
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if i++; c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if wordBytes[c] {
				t.words = append(t.words, c)
				runes++
			} else if runes > 0 {
				end()
			}
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if i += size; unicode.IsLetter(r) || unicode.IsNumber(r) {
			t.words = utf8.AppendRune(t.words, unicode.ToLower(r))
			runes++
		} else if runes > 0 {
			end()
		}
	}
	end()
}

// Each calls f with the terms of a text.
func (t *Tokens) Each(text []byte, f func(term []byte)) {
	t.split(text)
	for n := t.Least; n <= t.Most; n++ {
		for i := 0; i+n <= len(t.at); i++ {
			f(t.words[t.at[i][0]:t.at[i+n-1][1]])
		}
	}
}
