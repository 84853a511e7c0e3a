// Package hashindex finds the rows of a segment by the hash of a key, in memory only.
//
// Rows lie in buckets by the hash's upper bits, eight or so in each, with the lower half
// of the hash beside:
//
//	starts │ 0 │ 3 │ 7 │ …            bucket b is tags[starts[b]:starts[b+1]]
//	tags   │ 9a… 31… 07… │ …          rows │ 12 90 4 │ …
//
// So a look-up reads two places of memory, and a row takes eight and a half bytes, or ten
// with its part of the filter. What all indexes take is limited by a Budget, which evicts
// those that nobody used.
package hashindex
