// Package search finds a short text in all strings of a column at once, as their bytes
// lie one after the other: two of its bytes, chosen to be rare, are looked for side by
// side in many places, and only where both are found is the text compared.
//
//	needle  requests        bytes  …the silent requests nag…
//	          ^ ^                               ^ ^
//	          q e           first = 'q', second = 'e', gap = 2
package search
