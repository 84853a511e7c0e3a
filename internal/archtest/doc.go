// Package archtest checks the architecture rules: which folder may import which, how
// long a file may be, where goroutines and clocks may be used.
package archtest
