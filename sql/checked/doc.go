// Package checked is arithmetic on int64 that reports an overflow.
package checked
