package record

import (
	"cmp"

	"github.com/tributarydb/tributary/ml/block"
)

// compare orders keys by hash, and then as they came.
func (k key) compare(o key) int { return cmp.Or(cmp.Compare(k.hi, o.hi), cmp.Compare(k.at, o.at)) }

// orderBytes is the memory of a row whose place is looked for.
const orderBytes = 24 + 4

// key says where a record is, and sorts it: by the first word of the hash, then
// by all bytes.
type key struct {
	hi uint64
	at loc
}

func (k key) bucket() int { return int(k.hi >> (64 - block.BucketBits)) }

// loc is where a record starts: region number, and words of eight bytes in it.
type loc uint64

func (l loc) in(regions [][]byte) []byte { return regions[l>>32][int(uint32(l))*8:] }

// ranked is a key with the rank of its record's first order column.
type ranked struct {
	key
	rank uint64
}

// eachRun calls f with each run [from, to) of neighbours that are the same, of n.
func eachRun(n int, same func(i, j int) bool, f func(from, to int)) {
	for from := 0; from < n; {
		to := from + 1
		for to < n && same(from, to) {
			to++
		}
		f(from, to)
		from = to
	}
}
