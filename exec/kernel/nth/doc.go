// Package nth selects keys by their place in the order of all, without sorting them.
package nth
