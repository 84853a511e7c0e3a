// Package archtest is the law of the house as tests: which folder may import
// which, how long a file may be, where goroutines and clocks may be used.
package archtest
