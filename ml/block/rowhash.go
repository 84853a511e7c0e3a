package block

import (
	"bytes"
	"encoding/binary"
)

// RowHash is the hash of a row's record: equal rows have equal ones.
type RowHash [HashBytes]byte

// Bucket is the bucket that the row is distributed to.
func (h *RowHash) Bucket() int { return int(binary.BigEndian.Uint64(h[:]) >> (64 - BucketBits)) }

// HashBytes is the size of a RowHash.
const HashBytes = 16

// CompareHashes orders hashes by their bytes.
func CompareHashes(a, b RowHash) int { return bytes.Compare(a[:], b[:]) }

// Buckets is the number of hash prefixes that rows are distributed to before their
// total is known. It bounds the number of leaves.
const (
	Buckets    = 4096
	BucketBits = 12 // the first ones of a hash
)
