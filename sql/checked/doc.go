// Package checked is arithmetic on int64 that tells of an overflow.
package checked
