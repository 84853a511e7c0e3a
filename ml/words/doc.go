// Package words finds the terms of texts: words and runs of them, n-grams. As in scikit-learn's CountVectorizer a word is two
// or more letters, digits or underscores, in lower case; the words of an n-gram have a space between them.
package words
