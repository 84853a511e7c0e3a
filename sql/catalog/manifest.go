package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/tributarydb/tributary/sql/types"
)

// SegmentID names a segment file; it is random, so nodes make them without coordination.
type SegmentID [16]byte

// Segment is an immutable run of rows of one partition. Segments are shared
// between states; none is ever changed.
type Segment struct {
	ID    SegmentID
	Rows  int64
	Bytes int64 // on disk
	// Inline holds a small segment's rows (exec/store knows their form); nil for
	// a file.
	Inline []byte
	// SHA256 of the bytes of a model or a checkpoint, and of a segment's file from before
	// XXH128 was kept; zero for inline segments.
	SHA256 [32]byte
	Nodes  []uint64 // the nodes that hold the file
	Zones  []Zone   // per column, for the whole segment
	// Deleted are the rows that are deleted; in the encoding one bitmap.
	Deleted     RowSet
	DeletedRows int64
	// All rows belong to part Part of Of parts, by the hash of the table's distribution key (kernel.Dest). Of
	// is 0 if rows are not divided by a key.
	Part, Of int
	// XXH128 is the XXH3 hash of the file's bytes, of 128 bits; zero where SHA256 is kept.
	XXH128 [16]byte
	// Xmin is the xmin of the segment's rows: the version of the state that the writing statement read, plus
	// one. If a compaction merged rows of several statements, each row has its own xmin in a column, and this
	// is the greatest. 0: the segment was written before Xmin existed.
	Xmin uint32
	// First gives the segment's rows their numbers among all rows that the table ever had: the first row has
	// the number First-1. ctid shows these numbers (Manifest.Next). Applying a change sets First; 0: the
	// change was applied before First existed.
	First uint64
}

// FrozenXmin is the xmin of rows from before it was kept, as PostgreSQL's FrozenTransactionId.
const FrozenXmin = 2

// Xmin returns the xmin for rows written by a statement that reads s. A statement that replaces a row reads a
// state in which the row is committed, so a greater version than the row's writer read. So each version of a
// row has a greater xmin than the one before, on whatever nodes they were written.
func (s *State) Xmin() uint32 { return max(uint32(s.version+1), FrozenXmin+1) }

// ownRows numbers the rows that a transaction has written but not committed.
const ownRows = 1 << 46

// Move records where the live rows of a replaced segment went: they are Rows consecutive ones, from
// row From on, of the concatenated segments To.
type Move struct {
	Old     SegmentID
	Deleted []byte // the old segment's bitmap when it was replaced
	From    int64
	To      []MoveTo
}

// MoveTo is a segment that took in moved rows.
type MoveTo struct {
	ID   SegmentID
	Rows int64
}

// Zone bounds one column of a segment.
type Zone struct {
	Column   int16       // attnum
	Min, Max types.Datum // nil where not known or all NULL
	Nulls    int64
	Distinct int64 // estimate; 0 where not known
	// Unique: no value is NULL or occurs twice; false where not known.
	Unique bool
	// Scale is one more than the places after the point which all values of a numeric column of variable length
	// have, with a coefficient of 64 bits; 0 where they differ, or it is not known.
	Scale uint8 `codec:"hint"`
}

// Live returns the number of rows that are not deleted.
func (s *Segment) Live() int64 { return s.Rows - s.DeletedRows }

// Manifest lists a table's segments by partition.
type Manifest struct {
	Table      types.OID
	Version    uint64 // the state version of its last change
	Partitions [][]*Segment
	// Appended and Removed are the versions of the last change that added rows,
	// and that deleted some; what Guard looks at.
	Appended, Removed uint64
	// Moved records where compaction put the rows of recently replaced segments, oldest first.
	Moved []*Move
	// Next is how many row numbers were assigned (Segment.First). No number is used twice, so an old address
	// refers to its row or to none.
	Next uint64

	own   uint64  // as Next, of a transaction's uncommitted rows, from ownRows on
	tails []*tail // per partition: who may append in place
	live  []int64 // rows, per partition; nil where they are counted on demand
}

// LiveIn returns the number of live rows of a partition.
func (m *Manifest) LiveIn(p int) int64 {
	if m.live != nil {
		return m.live[p]
	}
	return liveRows(m.Partitions[p])
}

func liveRows(segs []*Segment) (n int64) {
	for _, s := range segs {
		n += s.Live()
	}
	return n
}

// count keeps the numbers of live rows from now on.
func (m *Manifest) count() {
	live := make([]int64, len(m.Partitions))
	for p := range live {
		live[p] = m.LiveIn(p)
	}
	m.live = live
}

// IsZero reports whether the id names nothing.
func (id SegmentID) IsZero() bool { return id == SegmentID{} }

// String returns the id in hexadecimal, the name of its file.
func (id SegmentID) String() string { return hex.EncodeToString(id[:]) }

// ParseSegmentID reads the result of String.
func ParseSegmentID(s string) (id SegmentID, ok bool) {
	n, err := hex.Decode(id[:], []byte(s[:min(len(s), 2*len(id))]))
	return id, err == nil && n == len(id) && len(s) == 2*len(id)
}

// Rows returns the number of live rows.
func (m *Manifest) Rows() int64 {
	var n int64
	for p := range m.Partitions {
		n += m.LiveIn(p)
	}
	return n
}

// Digest returns a hash that is the same for manifests that list the same segments with the same
// rows deleted, wherever their files are. A nil manifest has one too.
func (m *Manifest) Digest() (d [32]byte) {
	if m == nil {
		return digest()
	}
	return digest(m.Partitions...)
}

// DigestOf returns the digest of one partition.
func (m *Manifest) DigestOf(p int) [32]byte { return digest(m.Partitions[p]) }

func digest(parts ...[]*Segment) (d [32]byte) {
	h := sha256.New()
	for _, p := range parts {
		for _, s := range p {
			gone := s.Deleted.Portable()
			h.Write(binary.LittleEndian.AppendUint64(s.ID[:len(s.ID):len(s.ID)], uint64(len(gone))))
			h.Write(gone)
		}
	}
	h.Sum(d[:0])
	return d
}

// EncodedBytes is about how many bytes a state's encoding takes.
func EncodedBytes(s *State) (n int64) {
	const each = 512 // of a segment's, a relation's or a version's description
	manifest := func(m *Manifest) {
		for _, p := range m.Partitions {
			for _, g := range p {
				n += each + int64(len(g.Inline)) + g.DeletedRows/4
			}
		}
	}
	for _, m := range s.manifests {
		manifest(m)
	}
	for _, m := range s.models {
		for i := range m.Versions {
			n += each + int64(len(m.Versions[i].Bytes))
		}
	}
	for _, j := range s.jobs {
		n += int64(len(j.Checkpoint))
		for _, m := range j.Reads {
			manifest(m)
		}
	}
	return n + each*int64(len(s.relations)+len(s.roles)) + 128*int64(len(s.graves))
}

// Bytes returns the size of all segments.
func (m *Manifest) Bytes() int64 {
	var n int64
	for _, p := range m.Partitions {
		for _, s := range p {
			n += s.Bytes + int64(len(s.Inline))
		}
	}
	return n
}
