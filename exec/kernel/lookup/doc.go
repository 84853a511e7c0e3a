// Package lookup finds keys in a table that has a place for each integer of a range, as a
// join builds it where its keys are few or dense.
//
//	table of 3 to 7   5 0 9 0 2             0: no such key
//	keys    4 7 3 9 5 …
//	rows      1 2   4 …                     ascending numbers of the keys that there are
//	heads     2 5   9 …                     and what the table has for each
//
// With AVX-512 there is no branch on whether a key is there, and the reads of 16 keys overlap. One
// by one, a branch on whether a key is beyond the table costs less than going without (a minimum
// and a borrow), even where it is mispredicted for one key in ten.
package lookup
